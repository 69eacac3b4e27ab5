// The part of the CUDA driver's binary interface that Kaon uses, so that no toolkit is needed to build it.
//
// Values and layouts are those of every driver since CUDA 12; a test holds them against cuda.h where a toolkit exists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kaon::cuda {

using CuDevice = int;
using CuDevicePtr = unsigned long long;
using CuContext = struct CuContextTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;
using CuLibrary = struct CuLibraryTag*;
using CuKernel = struct CuKernelTag*;
using CuFunction = struct CuFunctionTag*;
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;

enum CuResult : int {
  kCudaSuccess = 0,
  kCudaErrorInvalidValue = 1,
  kCudaErrorOutOfMemory = 2,
  kCudaErrorNotInitialized = 3,
  kCudaErrorDeinitialized = 4,
  kCudaErrorStubLibrary = 34,
  kCudaErrorDeviceUnavailable = 46,
  kCudaErrorNoDevice = 100,
  kCudaErrorInvalidDevice = 101,
  kCudaErrorInvalidImage = 200,
  kCudaErrorInvalidContext = 201,
  kCudaErrorNoBinaryForGpu = 209,
  kCudaErrorInvalidPtx = 218,
  kCudaErrorUnsupportedPtxVersion = 222,
  kCudaErrorJitCompilationDisabled = 223,
  kCudaErrorFileNotFound = 301,
  kCudaErrorNotFound = 500,
  kCudaErrorNotReady = 600,
  kCudaErrorIllegalAddress = 700,
  kCudaErrorLaunchOutOfResources = 701,
  kCudaErrorLaunchTimeout = 702,
  kCudaErrorLaunchFailed = 719,
  kCudaErrorNotSupported = 801,
  kCudaErrorSystemNotReady = 802,
  kCudaErrorSystemDriverMismatch = 803,
  kCudaErrorCompatNotSupportedOnDevice = 804,
  kCudaErrorStreamCaptureInvalidated = 901,
  kCudaErrorStreamCaptureImplicit = 906,
};

enum CuDeviceAttribute : int {
  kDeviceMaxThreadsPerBlock = 1,
  kDeviceMaxRegistersPerBlock = 12,
  kDeviceClockRateKhz = 13,
  kDeviceMultiprocessorCount = 16,
  kDeviceMemoryClockRateKhz = 36,
  kDeviceMemoryBusWidthBits = 37,
  kDeviceL2CacheBytes = 38,
  kDeviceComputeCapabilityMajor = 75,
  kDeviceComputeCapabilityMinor = 76,
  kDeviceMaxSharedBytesPerBlockOptin = 97,
};

enum CuFunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionStaticSharedBytes = 1,
  kFunctionLocalBytes = 3,
  kFunctionRegisters = 4,
  kFunctionBinaryVersion = 6,
  kFunctionMaxDynamicSharedBytes = 8,
  kFunctionNonPortableClusterSizeAllowed = 14,
};

enum CuCaptureMode : int { kCaptureGlobal = 0, kCaptureThreadLocal = 1, kCaptureRelaxed = 2 };
enum CuCaptureStatus : int { kCaptureNone = 0, kCaptureActive = 1, kCaptureInvalidated = 2 };
enum CuStreamFlags : unsigned { kStreamDefault = 0, kStreamNonBlocking = 1 };
enum CuEventFlags : unsigned { kEventDefault = 0, kEventDisableTiming = 2 };

enum CuLaunchAttributeId : int { kLaunchClusterDimension = 4 };

union CuLaunchAttributeValue {
  char reserved[64];
  struct {
    unsigned x, y, z;
  } cluster;
};

struct CuLaunchAttribute {
  CuLaunchAttributeId id;
  char reserved[4];
  CuLaunchAttributeValue value;
};

struct CuLaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  CuStream stream;
  CuLaunchAttribute* attributes;
  unsigned num_attributes;
};

// Markers of the `extra` array by which all parameters are given as one buffer.
inline void* launch_param_end() { return nullptr; }
inline void* launch_param_buffer_pointer() { return reinterpret_cast<void*>(uintptr_t{1}); }
inline void* launch_param_buffer_size() { return reinterpret_cast<void*>(uintptr_t{2}); }

}  // namespace kaon::cuda
