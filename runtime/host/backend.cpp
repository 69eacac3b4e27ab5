// Images, functions and launches of the launch path, answered by the SIMT machine.
#include "runtime/host/backend.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/host/host.h"
#include "runtime/host/image.h"
#include "runtime/host/machine.h"
#include "runtime/launch/backend.h"

namespace kaon::host {

namespace {

constexpr uint64_t kTheContext = 1;

Status check_device(int device) {
  if (device == 0) return Status::ok();
  return Status(Code::kNoDevice, "device host:" + std::to_string(device) + " does not exist, expected host:0");
}

class HostBackend final : public Backend {
 public:
  void set_options(const InstallOptions& options) {
    checked_.store(options.checked, std::memory_order_relaxed);
    seed_.store(options.seed, std::memory_order_relaxed);
  }

  const char* name() const override { return "host"; }

  Result<DeviceFacts> device_facts(int device) override {
    KAON_RETURN_IF_ERROR(check_device(device));
    DeviceFacts facts;
    facts.hardware = "host";
    facts.name = "SIMT machine";
    facts.num_sms = static_cast<uint32_t>(shared_machine().os_threads());
    facts.max_shared_bytes = kMaxSharedBytes;
    facts.max_threads = kMaxThreads;
    return facts;
  }

  Status current_context(int device, uint64_t* context) override {
    *context = kTheContext;
    return check_device(device);
  }

  Result<void*> load_image(const ImageBytes& image, const std::string& what) override {
    if (image.kind != ImageKind::kHostElf) {
      return Status(Code::kUnsupported,
                    what + ": the host runs images of kind host_elf, got " + image_kind_name(image.kind));
    }
    auto loaded = Image::load({static_cast<const char*>(image.data), image.bytes});
    if (!loaded.is_ok()) return Status(loaded.status().code(), what + ": " + loaded.status().message());
    std::lock_guard<std::mutex> lock(mutex_);
    images_.push_back(std::move(loaded).value());
    return static_cast<void*>(images_.back().get());
  }

  Status unload_image(void* image) override {
    std::lock_guard<std::mutex> lock(mutex_);
    auto is_it = [&](const std::unique_ptr<Image>& held) { return held.get() == image; };
    images_.erase(std::remove_if(images_.begin(), images_.end(), is_it), images_.end());
    return Status::ok();
  }

  Result<void*> load_function(void* image, const char* symbol, int device, uint32_t shared_bytes) override {
    KAON_RETURN_IF_ERROR(check_device(device));
    if (shared_bytes > kMaxSharedBytes) {
      return Status(Code::kUnsupported, std::string(symbol) + ": needs " + std::to_string(shared_bytes) +
                                            " bytes of shared memory, the host has " + std::to_string(kMaxSharedBytes));
    }
    KAON_ASSIGN_OR_RETURN(const KernelFunction kernel, static_cast<Image*>(image)->find(symbol));
    return reinterpret_cast<void*>(kernel);
  }

  Status launch(void* function, const LaunchDims& dims, const int64_t* slots, int, void*) override {
    return shared_machine().run(reinterpret_cast<KernelFunction>(function),
                                {dims.programs, dims.threads, dims.shared_bytes}, slots,
                                {checked_.load(std::memory_order_relaxed), seed_.load(std::memory_order_relaxed)});
  }

  Status zero(void* pointer, size_t bytes, void*) override {
    std::memset(pointer, 0, bytes);
    return Status::ok();
  }

  Result<bool> is_capturing(void*) override { return false; }

 private:
  std::atomic<bool> checked_{false};
  std::atomic<uint64_t> seed_{1};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Image>> images_;
};

}  // namespace

void install(const InstallOptions& options) {
  // Never destroyed: calls may still run while static objects end.
  static HostBackend* const backend = new HostBackend;
  backend->set_options(options);
  install_host_backend(backend);
}

}  // namespace kaon::host

void kaon_host_install(void) { kaon::host::install(); }
