// What measuring needs of a device: memory, a few bulk operations on it, runs and timed replays.
//
// Addresses are plain integers of the device's memory. Every call is synchronous unless it says otherwise. A failed
// call may leave a GPU unusable: is_lost() then says that this process can do no more with it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "aot_runner/measure/protocol.h"
#include "aot_runner/measure/random_data.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/base/variant.h"

namespace kaon::runner {

/// `count` elements of 1, 2, 4 or 8 bytes at a naturally aligned address.
struct Span {
  int64_t address = 0;
  int64_t count = 0;
  int element_bytes = 1;
  int64_t bytes() const { return count * element_bytes; }
};

/// How many elements satisfied a search, and the first of them (-1 for none).
struct Found {
  int64_t count = 0;
  int64_t first = -1;
};

/// An image's entry, ready to run.
class LoadedKernel {
 public:
  virtual ~LoadedKernel() = default;
};

/// One step of a call, in order.
struct Step {
  enum class Kind : uint8_t { kZero, kKernel };
  Kind kind = Kind::kKernel;
  Span zero;
};

/// Everything that one run of a variant does. What it points to must outlive a Replay made of it.
struct Launch {
  const LoadedKernel* kernel = nullptr;
  std::vector<Step> steps;
  uint64_t programs = 0;  // 0: the kernel is not launched
  uint32_t threads = 0;
  uint32_t shared_bytes = 0;
  uint32_t cluster = 1;
  std::vector<int64_t> slots;
  struct Restore {  // before each timed run, outside the timed part
    int64_t destination = 0, source = 0, bytes = 0;
  };
  std::vector<Restore> restores;
};

/// Something that can be timed again and again.
class Replay {
 public:
  virtual ~Replay() = default;
};

struct Health {
  bool throttled = false;
  int clock_mhz = 0;  // 0: unknown
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const MachineFacts& facts() const = 0;
  virtual bool is_lost() const = 0;

  /// 256-byte aligned. kOutOfMemory.
  virtual Result<int64_t> allocate(int64_t bytes) = 0;
  virtual void free(int64_t address) = 0;
  virtual Status set_bytes(int64_t address, int64_t bytes, uint8_t value) = 0;
  virtual Status copy(int64_t destination, int64_t source, int64_t bytes) = 0;
  virtual Status read(void* destination, int64_t source, int64_t bytes) = 0;
  virtual Status write(int64_t destination, const void* source, int64_t bytes) = 0;

  virtual Status fill_random(const Span& span, DType dtype, const FillPlan& plan, uint64_t seed) = 0;
  /// As hash_elements() of random_data.h.
  virtual Result<uint64_t> hash(const Span& span) = 0;
  /// Elements whose bits are (or, with `differing`, are not) `pattern`.
  virtual Result<Found> find(const Span& span, uint64_t pattern, bool differing) = 0;
  /// Elements of two tensors that are not within absolute + relative * |want| of each other; equal values, two NaNs
  /// and equal infinities are.
  virtual Result<Found> compare(int64_t got, int64_t want, int64_t count, DType dtype, double absolute,
                                double relative) = 0;

  /// The entry `symbol` of an image, allowed `shared_bytes` of dynamic shared memory.
  virtual Result<std::unique_ptr<LoadedKernel>> load(std::string_view image, const std::string& symbol,
                                                     uint32_t shared_bytes) = 0;
  /// One run with every check that the device has.
  virtual Status run_checked(const Launch& launch, uint64_t seed) = 0;

  virtual Result<std::unique_ptr<Replay>> make_replay(const Launch& launch) = 0;
  virtual Result<std::unique_ptr<Replay>> make_empty_replay() = 0;
  /// A kernel that reads bytes / 2 and writes as many, 16 at a time, between buffers of its own.
  virtual Result<std::unique_ptr<Replay>> make_copy_replay(int64_t bytes) = 0;
  /// Times each once, in order, each after what it restores and with cold caches; microseconds in the same order.
  virtual Status time(const std::vector<Replay*>& round, std::vector<double>* us) = 0;
  virtual Health health() = 0;
};

/// "host", "cuda:0". kInvalidArgument for other names; kNoDevice when it does not exist, with the mend.
Result<std::unique_ptr<Device>> open_device(const std::string& name);

Result<std::unique_ptr<Device>> open_host_device();
Result<std::unique_ptr<Device>> open_cuda_device(int ordinal);

}  // namespace kaon::runner
