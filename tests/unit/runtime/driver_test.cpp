// The driver layer: that its own types are CUDA's, and what it says when the driver is missing, old or refuses.
#include "runtime/driver/driver.h"

#include <gtest/gtest.h>

#include "runtime/driver/device.h"
#include "runtime/driver/handles.h"
#include "tests/unit/runtime/stub.h"

#if __has_include(<cuda.h>)
#include <cuda.h>
#define KAON_HAS_CUDA_H 1
#endif

namespace kaon::cuda {
namespace {

using testing::stub;

#ifdef KAON_HAS_CUDA_H
TEST(CudaTypes, ValuesAndLayoutsAreThoseOfCudaH) {
  EXPECT_EQ(int{kCudaErrorInvalidValue}, int{CUDA_ERROR_INVALID_VALUE});
  EXPECT_EQ(int{kCudaErrorOutOfMemory}, int{CUDA_ERROR_OUT_OF_MEMORY});
  EXPECT_EQ(int{kCudaErrorNotInitialized}, int{CUDA_ERROR_NOT_INITIALIZED});
  EXPECT_EQ(int{kCudaErrorDeinitialized}, int{CUDA_ERROR_DEINITIALIZED});
  EXPECT_EQ(int{kCudaErrorNoDevice}, int{CUDA_ERROR_NO_DEVICE});
  EXPECT_EQ(int{kCudaErrorInvalidDevice}, int{CUDA_ERROR_INVALID_DEVICE});
  EXPECT_EQ(int{kCudaErrorInvalidImage}, int{CUDA_ERROR_INVALID_IMAGE});
  EXPECT_EQ(int{kCudaErrorInvalidContext}, int{CUDA_ERROR_INVALID_CONTEXT});
  EXPECT_EQ(int{kCudaErrorNoBinaryForGpu}, int{CUDA_ERROR_NO_BINARY_FOR_GPU});
  EXPECT_EQ(int{kCudaErrorInvalidPtx}, int{CUDA_ERROR_INVALID_PTX});
  EXPECT_EQ(int{kCudaErrorUnsupportedPtxVersion}, int{CUDA_ERROR_UNSUPPORTED_PTX_VERSION});
  EXPECT_EQ(int{kCudaErrorNotFound}, int{CUDA_ERROR_NOT_FOUND});
  EXPECT_EQ(int{kCudaErrorNotReady}, int{CUDA_ERROR_NOT_READY});
  EXPECT_EQ(int{kCudaErrorIllegalAddress}, int{CUDA_ERROR_ILLEGAL_ADDRESS});
  EXPECT_EQ(int{kCudaErrorLaunchOutOfResources}, int{CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES});
  EXPECT_EQ(int{kCudaErrorLaunchTimeout}, int{CUDA_ERROR_LAUNCH_TIMEOUT});
  EXPECT_EQ(int{kCudaErrorLaunchFailed}, int{CUDA_ERROR_LAUNCH_FAILED});
  EXPECT_EQ(int{kCudaErrorSystemDriverMismatch}, int{CUDA_ERROR_SYSTEM_DRIVER_MISMATCH});
  EXPECT_EQ(int{kCudaErrorStreamCaptureInvalidated}, int{CUDA_ERROR_STREAM_CAPTURE_INVALIDATED});
  EXPECT_EQ(int{kCudaErrorStreamCaptureImplicit}, int{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT});
  EXPECT_EQ(int{kCudaErrorStubLibrary}, int{CUDA_ERROR_STUB_LIBRARY});
  EXPECT_EQ(int{kCudaErrorDeviceUnavailable}, int{CUDA_ERROR_DEVICE_UNAVAILABLE});
  EXPECT_EQ(int{kCudaErrorJitCompilationDisabled}, int{CUDA_ERROR_JIT_COMPILATION_DISABLED});
  EXPECT_EQ(int{kCudaErrorFileNotFound}, int{CUDA_ERROR_FILE_NOT_FOUND});
  EXPECT_EQ(int{kCudaErrorNotSupported}, int{CUDA_ERROR_NOT_SUPPORTED});
  EXPECT_EQ(int{kCudaErrorSystemNotReady}, int{CUDA_ERROR_SYSTEM_NOT_READY});
  EXPECT_EQ(int{kCudaErrorCompatNotSupportedOnDevice}, int{CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE});

  EXPECT_EQ(int{kDeviceMaxThreadsPerBlock}, int{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
  EXPECT_EQ(int{kDeviceMaxRegistersPerBlock}, int{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK});
  EXPECT_EQ(int{kDeviceClockRateKhz}, int{CU_DEVICE_ATTRIBUTE_CLOCK_RATE});
  EXPECT_EQ(int{kDeviceMultiprocessorCount}, int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
  EXPECT_EQ(int{kDeviceMemoryClockRateKhz}, int{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE});
  EXPECT_EQ(int{kDeviceMemoryBusWidthBits}, int{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH});
  EXPECT_EQ(int{kDeviceL2CacheBytes}, int{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE});
  EXPECT_EQ(int{kDeviceComputeCapabilityMajor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
  EXPECT_EQ(int{kDeviceComputeCapabilityMinor}, int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
  EXPECT_EQ(int{kDeviceMaxSharedBytesPerBlockOptin}, int{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN});

  EXPECT_EQ(int{kFunctionMaxThreadsPerBlock}, int{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
  EXPECT_EQ(int{kFunctionStaticSharedBytes}, int{CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{kFunctionLocalBytes}, int{CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES});
  EXPECT_EQ(int{kFunctionRegisters}, int{CU_FUNC_ATTRIBUTE_NUM_REGS});
  EXPECT_EQ(int{kFunctionBinaryVersion}, int{CU_FUNC_ATTRIBUTE_BINARY_VERSION});
  EXPECT_EQ(int{kFunctionMaxDynamicSharedBytes}, int{CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES});
  EXPECT_EQ(int{kFunctionNonPortableClusterSizeAllowed}, int{CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED});

  EXPECT_EQ(int{kCaptureRelaxed}, int{CU_STREAM_CAPTURE_MODE_RELAXED});
  EXPECT_EQ(int{kCaptureThreadLocal}, int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
  EXPECT_EQ(int{kCaptureActive}, int{CU_STREAM_CAPTURE_STATUS_ACTIVE});
  EXPECT_EQ(int{kCaptureInvalidated}, int{CU_STREAM_CAPTURE_STATUS_INVALIDATED});
  EXPECT_EQ(unsigned{kStreamNonBlocking}, unsigned{CU_STREAM_NON_BLOCKING});
  EXPECT_EQ(unsigned{kEventDisableTiming}, unsigned{CU_EVENT_DISABLE_TIMING});
  EXPECT_EQ(int{kLaunchClusterDimension}, int{CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION});

  EXPECT_EQ(sizeof(CuDevice), sizeof(CUdevice));
  EXPECT_EQ(sizeof(CuDevicePtr), sizeof(CUdeviceptr));
  EXPECT_EQ(sizeof(CuLaunchAttribute), sizeof(CUlaunchAttribute));
  EXPECT_EQ(offsetof(CuLaunchAttribute, value), offsetof(CUlaunchAttribute, value));
  EXPECT_EQ(sizeof(CuLaunchConfig), sizeof(CUlaunchConfig));
  EXPECT_EQ(offsetof(CuLaunchConfig, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
  EXPECT_EQ(offsetof(CuLaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
  EXPECT_EQ(offsetof(CuLaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
  EXPECT_EQ(offsetof(CuLaunchConfig, num_attributes), offsetof(CUlaunchConfig, numAttrs));
  EXPECT_EQ(launch_param_end(), CU_LAUNCH_PARAM_END);
  EXPECT_EQ(launch_param_buffer_pointer(), CU_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(launch_param_buffer_size(), CU_LAUNCH_PARAM_BUFFER_SIZE);
}
#endif

TEST(Driver, AMissingLibrarySaysWhatToInstall) {
  Status status = load_driver("/nonexistent/libcuda.so.1").status();
  EXPECT_EQ(status.to_string(),
            "no_device: cannot load the CUDA driver: /nonexistent/libcuda.so.1: cannot open shared object file: No such "
            "file or directory; install the NVIDIA driver, or use CPU tensors with the host backend");
}

TEST(Driver, ALibraryWithoutTheFunctionsIsTooOld) {
  Status status = load_driver("libm.so.6").status();
  EXPECT_EQ(status.to_string(), "no_device: libm.so.6 has no function cuInit; update to CUDA 12.0 or newer");
}

TEST(Driver, EveryFunctionOfTheTableIsBound) {
  stub().reset();
  Result<const Driver*> table = driver();
  ASSERT_TRUE(table.is_ok()) << table.status().to_string();
  int bound = 0;
#define KAON_CUDA_FUNCTION(name, symbol, required, parameters) bound += (*table)->name != nullptr;
#include "runtime/driver/cuda_functions.inc"
#undef KAON_CUDA_FUNCTION
  EXPECT_GE(bound, 50);
}

TEST(Driver, ErrorsMapToCodesWithTheDriversName) {
  const Driver& table = **driver();
  EXPECT_TRUE(to_status(table, kCudaSuccess, "x").is_ok());
  EXPECT_EQ(to_status(table, kCudaErrorInvalidValue, "cuX").to_string(), "driver: cuX: CUDA_ERROR_INVALID_VALUE (1)");
  EXPECT_EQ(to_status(table, kCudaErrorOutOfMemory, "cuX").code(), Code::kOutOfMemory);
  EXPECT_EQ(to_status(table, kCudaErrorNoDevice, "cuX").code(), Code::kNoDevice);
  EXPECT_EQ(to_status(table, kCudaErrorNoBinaryForGpu, "cuX").code(), Code::kUnsupported);
  EXPECT_EQ(to_status(table, kCudaErrorNotFound, "cuX").code(), Code::kNotFound);
  EXPECT_EQ(to_status(table, static_cast<CuResult>(12345), "cuX").message(), "cuX: unknown error (12345)");
}

TEST(Driver, EveryErrorOfTheDriverIsAStatusWithItsName) {
  const Driver& table = **driver();
#define KAON_CUDA_ERROR(value, name)                                                  \
  {                                                                                   \
    const Status status = to_status(table, static_cast<CuResult>(value), "cuX");      \
    EXPECT_FALSE(status.is_ok());                                                     \
    EXPECT_EQ(status.message(), std::string("cuX: " #name " (") + #value + ")");      \
  }
#include "tests/support/cuda_errors.inc"
#undef KAON_CUDA_ERROR
}

TEST(Driver, OwnersReleaseWhatTheyMade) {
  stub().reset();
  const Driver& table = **driver();
  {
    Result<Stream> stream = create_stream(table);
    Result<Event> event = create_event(table);
    Result<DeviceMemory> memory = allocate_device(table, 100);
    ASSERT_TRUE(stream.is_ok() && event.is_ok() && memory.is_ok());
    DeviceMemory moved = std::move(*memory);
    EXPECT_TRUE(static_cast<bool>(moved));
    ASSERT_EQ(table.stream_begin_capture(stream->get(), kCaptureThreadLocal), kCudaSuccess);
    Result<GraphExec> graph = end_capture(table, stream->get());
    ASSERT_TRUE(graph.is_ok());
    EXPECT_EQ(stub().calls("cuGraphDestroy"), 1u);
  }
  for (const char* symbol : {"cuStreamDestroy_v2", "cuEventDestroy_v2", "cuMemFree_v2", "cuGraphExecDestroy"}) {
    EXPECT_EQ(stub().calls(symbol), 1u) << symbol;
  }
  stub().fail("cuMemAlloc_v2", 2);
  EXPECT_EQ(allocate_device(table, 100).status().to_string(),
            "out_of_memory: cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (2)");
}

TEST(Driver, ContextGuardsRestoreTheCallersContext) {
  stub().reset();
  const StubDevice devices[] = {{90, 232448, 132}, {120, 101376, 170}};
  stub().set_devices(devices, 2);
  const Driver& table = **driver();
  CuContext before = nullptr, inside = nullptr, after = nullptr;
  ASSERT_EQ(table.ctx_get_current(&before), kCudaSuccess);
  {
    Result<PrimaryContext> other = PrimaryContext::retain(table, 1);
    ASSERT_TRUE(other.is_ok());
    Result<ContextGuard> guard = ContextGuard::enter(table, other->get());
    ASSERT_TRUE(guard.is_ok());
    ASSERT_EQ(table.ctx_get_current(&inside), kCudaSuccess);
    EXPECT_EQ(inside, other->get());
  }
  ASSERT_EQ(table.ctx_get_current(&after), kCudaSuccess);
  EXPECT_EQ(after, before);
  EXPECT_NE(inside, before);
  EXPECT_EQ(stub().calls("cuDevicePrimaryCtxRelease_v2"), 1u);
}

TEST(Device, FactsAreTheDrivers) {
  stub().reset();
  Result<DeviceInfo> info = device_info(**driver(), 1);
  ASSERT_TRUE(info.is_ok()) << info.status().to_string();
  EXPECT_EQ(info->sm, 120);
  EXPECT_EQ(info->max_shared_bytes, 101376);
  EXPECT_EQ(info->name, "Stub 120");
  EXPECT_EQ(device_info(**driver(), 2).status().to_string(),
            "no_device: device cuda:2 does not exist, the driver shows 2");
}

}  // namespace
}  // namespace kaon::cuda
