// The CPU as a device: images on the SIMT machine, checked runs on its checking form, times by the steady clock.
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "aot_runner/measure/device.h"
#include "aot_runner/measure/element.h"
#include "runtime/host/image.h"
#include "runtime/host/machine.h"

namespace kaon::runner {

namespace {

void* host_pointer(int64_t address) { return reinterpret_cast<void*>(address); }

struct HostKernel final : LoadedKernel {
  std::unique_ptr<host::Image> image;
  host::KernelFunction function = nullptr;
};

struct LaunchReplay final : Replay {
  explicit LaunchReplay(const Launch& l) : launch(l) {}
  const Launch& launch;
};

struct CopyReplay final : Replay {
  explicit CopyReplay(int64_t bytes) : from(static_cast<size_t>(bytes / 2), 'c'), to(from.size()) {}
  std::vector<char> from, to;
};

struct EmptyReplay final : Replay {};

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

template <typename T>
Found find_as(const void* data, int64_t count, uint64_t pattern, bool differing) {
  const T* values = static_cast<const T*>(data);
  Found found;
  for (int64_t i = 0; i < count; ++i) {
    if ((values[i] == static_cast<T>(pattern)) == differing) continue;
    if (found.count++ == 0) found.first = i;
  }
  return found;
}

bool close(double got, double want, double absolute, double relative) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return true;
  return std::isfinite(want) && std::fabs(got - want) <= absolute + relative * std::fabs(want);
}

class HostDevice final : public Device {
 public:
  HostDevice() {
    facts_.name = processor_name();
    facts_.hardware = "host";
    facts_.target = "host";
    utsname system = {};
    if (uname(&system) == 0) facts_.driver = system.release;
    facts_.sm_count = machine_.os_threads();
    facts_.memory_bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGESIZE);
    facts_.l2_bytes = std::max(0L, sysconf(_SC_LEVEL2_CACHE_SIZE));
    facts_.max_shared_bytes = host::kMaxSharedBytes;
  }

  const MachineFacts& facts() const override { return facts_; }
  bool is_lost() const override { return false; }

  Result<int64_t> allocate(int64_t bytes) override {
    void* memory = std::aligned_alloc(256, (static_cast<size_t>(bytes) + 255) / 256 * 256);
    if (memory == nullptr) return Status(Code::kOutOfMemory, "no host memory for " + std::to_string(bytes) + " bytes");
    return reinterpret_cast<int64_t>(memory);
  }
  void free(int64_t address) override { std::free(host_pointer(address)); }
  Status set_bytes(int64_t address, int64_t bytes, uint8_t value) override {
    std::memset(host_pointer(address), value, static_cast<size_t>(bytes));
    return Status::ok();
  }
  Status copy(int64_t destination, int64_t source, int64_t bytes) override {
    std::memcpy(host_pointer(destination), host_pointer(source), static_cast<size_t>(bytes));
    return Status::ok();
  }
  Status read(void* destination, int64_t source, int64_t bytes) override {
    std::memcpy(destination, host_pointer(source), static_cast<size_t>(bytes));
    return Status::ok();
  }
  Status write(int64_t destination, const void* source, int64_t bytes) override {
    std::memcpy(host_pointer(destination), source, static_cast<size_t>(bytes));
    return Status::ok();
  }

  Status fill_random(const Span& span, DType dtype, const FillPlan& plan, uint64_t seed) override {
    runner::fill_random(host_pointer(span.address), span.count, dtype, plan, seed);
    return Status::ok();
  }
  Result<uint64_t> hash(const Span& span) override {
    return hash_elements(host_pointer(span.address), span.count, span.element_bytes);
  }
  Result<Found> find(const Span& span, uint64_t pattern, bool differing) override {
    const void* data = host_pointer(span.address);
    switch (span.element_bytes) {
      case 1: return find_as<uint8_t>(data, span.count, pattern, differing);
      case 2: return find_as<uint16_t>(data, span.count, pattern, differing);
      case 4: return find_as<uint32_t>(data, span.count, pattern, differing);
      default: return find_as<uint64_t>(data, span.count, pattern, differing);
    }
  }
  Result<Found> compare(int64_t got, int64_t want, int64_t count, DType dtype, double absolute,
                        double relative) override {
    Found found;
    for (int64_t i = 0; i < count; ++i) {
      if (close(load_element(host_pointer(got), i, dtype), load_element(host_pointer(want), i, dtype), absolute,
                relative))
        continue;
      if (found.count++ == 0) found.first = i;
    }
    return found;
  }

  Result<std::unique_ptr<LoadedKernel>> load(std::string_view image, const std::string& symbol, uint32_t) override {
    auto kernel = std::make_unique<HostKernel>();
    KAON_ASSIGN_OR_RETURN(kernel->image, host::Image::load(image));
    KAON_ASSIGN_OR_RETURN(kernel->function, kernel->image->find(symbol));
    return std::unique_ptr<LoadedKernel>(std::move(kernel));
  }

  Status run_checked(const Launch& launch, uint64_t seed) override { return run(launch, /*checked=*/true, seed); }

  Result<std::unique_ptr<Replay>> make_replay(const Launch& launch) override {
    return std::unique_ptr<Replay>(std::make_unique<LaunchReplay>(launch));
  }
  Result<std::unique_ptr<Replay>> make_empty_replay() override {
    return std::unique_ptr<Replay>(std::make_unique<EmptyReplay>());
  }
  Result<std::unique_ptr<Replay>> make_copy_replay(int64_t bytes) override {
    return std::unique_ptr<Replay>(std::make_unique<CopyReplay>(bytes));
  }

  Status time(const std::vector<Replay*>& round, std::vector<double>* us) override {
    us->clear();
    for (Replay* replay : round) {
      auto* launch = dynamic_cast<LaunchReplay*>(replay);
      if (launch != nullptr) {
        for (const Launch::Restore& r : launch->launch.restores)
          KAON_RETURN_IF_ERROR(copy(r.destination, r.source, r.bytes));
      }
      const auto start = std::chrono::steady_clock::now();
      if (launch != nullptr) KAON_RETURN_IF_ERROR(run(launch->launch, /*checked=*/false, 0));
      if (auto* c = dynamic_cast<CopyReplay*>(replay)) std::memcpy(c->to.data(), c->from.data(), c->from.size());
      const std::chrono::duration<double, std::micro> taken = std::chrono::steady_clock::now() - start;
      us->push_back(taken.count());
    }
    return Status::ok();
  }

  Health health() override { return {}; }

 private:
  Status run(const Launch& launch, bool checked, uint64_t seed) {
    for (const Step& step : launch.steps) {
      if (step.kind == Step::Kind::kZero) {
        KAON_RETURN_IF_ERROR(set_bytes(step.zero.address, step.zero.bytes(), 0));
        continue;
      }
      const auto& kernel = static_cast<const HostKernel&>(*launch.kernel);
      KAON_RETURN_IF_ERROR(machine_.run(kernel.function, {launch.programs, launch.threads, launch.shared_bytes},
                                        launch.slots.data(), {checked, seed}));
    }
    return Status::ok();
  }

  host::Machine machine_;
  MachineFacts facts_;
};

}  // namespace

Result<std::unique_ptr<Device>> open_host_device() { return std::unique_ptr<Device>(std::make_unique<HostDevice>()); }

}  // namespace kaon::runner
