// How a profiler is found and told of ranges. NVTX has no library to link: a program gives the profiler, which lies in
// a shared object that the environment names, tables of places, and the profiler writes its functions there.
#include "runtime/launch/ranges.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>

#include "runtime/base/text.h"
#include "runtime/launch/control.h"
#include "runtime/launch/log.h"

namespace kaon {

namespace detail {
std::atomic<bool> is_ranging{false};
}  // namespace detail

namespace {

using AnyFunction = void (*)();

// The two tables that profilers fill: functions without a domain, and those with one. Only the latter are called.
constexpr uint32_t kModuleCore = 1, kModuleCore2 = 5;
constexpr unsigned kCoreFunctions = 16, kCore2Functions = 16;  // places in use are numbered from 1
constexpr int kRangePush = 4, kRangePop = 5, kRegisterString = 10, kCreateDomain = 12, kInitialize = 15;

struct Attributes {  // nvtxEventAttributes_v2
  uint16_t version = 3;
  uint16_t size = 48;
  uint32_t category = 0;
  int32_t color_type = 0;
  uint32_t color = 0;
  int32_t payload_type = 2;  // int64
  int32_t reserved = 0;
  int64_t payload = 0;
  int32_t message_type = 0;
  const void* message = nullptr;
};
static_assert(sizeof(Attributes) == 48, "as profilers read it");
constexpr int32_t kAscii = 1, kRegistered = 3;

struct Profiler {
  AnyFunction core[kCoreFunctions] = {};
  AnyFunction core2[kCore2Functions] = {};
  AnyFunction* core_places[kCoreFunctions + 1] = {};
  AnyFunction* core2_places[kCore2Functions + 1] = {};
  void* domain = nullptr;

  template <typename Function>
  Function* function(int place) const {
    return reinterpret_cast<Function*>(core2[place]);
  }
};

Profiler& profiler() {
  // Leaked on purpose: calls may come from threads that outlive static destruction.
  static Profiler* const instance = [] {
    auto* made = new Profiler;
    for (unsigned i = 0; i < kCoreFunctions; ++i) made->core_places[i] = &made->core[i];
    for (unsigned i = 0; i < kCore2Functions; ++i) made->core2_places[i] = &made->core2[i];
    return made;
  }();
  return *instance;
}

int module_functions(uint32_t module, AnyFunction*** places, unsigned* count) {
  if (module != kModuleCore && module != kModuleCore2) return 0;
  if (places != nullptr) *places = module == kModuleCore ? profiler().core_places : profiler().core2_places;
  if (count != nullptr) *count = module == kModuleCore ? kCoreFunctions : kCore2Functions;
  return 1;
}

const void* export_table(uint32_t id) {
  static const struct {
    size_t bytes;
    int (*module_functions)(uint32_t, AnyFunction***, unsigned*);
  } callbacks = {sizeof callbacks, module_functions};
  static const struct {
    size_t bytes;
    uint32_t version, reserved;
    void (*set_profiler_version)(uint32_t);
  } version = {sizeof version, 3, 0, [](uint32_t) {}};
  if (id == 1) return &callbacks;
  return id == 3 ? &version : nullptr;
}

// Loads the profiler and opens the domain; what it finds is kept for good.
Status find_profiler() {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') {
    return {Code::kNotFound, "ranges: no profiler, NVTX_INJECTION64_PATH is not set; start the program under one"};
  }
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return make_status(Code::kNotFound, "ranges: cannot load the profiler: ", dlerror());
  using Initialize = int(const void* (*)(uint32_t));
  auto* initialize = reinterpret_cast<Initialize*>(dlsym(library, "InitializeInjectionNvtx2"));
  if (initialize == nullptr) {
    return make_status(Code::kNotFound, "ranges: ", path, " is no profiler, it has no InitializeInjectionNvtx2");
  }
  Profiler& p = profiler();
  if (initialize(export_table) != 1) return make_status(Code::kUnsupported, "ranges: ", path, " refused to start");
  if (p.core2[kRangePush] == nullptr || p.core2[kRangePop] == nullptr || p.core2[kCreateDomain] == nullptr) {
    return make_status(Code::kUnsupported, "ranges: ", path, " has no ranges of domains");
  }
  if (p.core2[kInitialize] != nullptr) p.function<void(const void*)>(kInitialize)(nullptr);
  p.domain = p.function<void*(const char*)>(kCreateDomain)("kaon");
  return Status::ok();
}

}  // namespace

Status start_ranges() {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (profiler().domain == nullptr) KAON_RETURN_IF_ERROR(find_profiler());
  detail::is_ranging.store(true, std::memory_order_release);
  return Status::ok();
}

void stop_ranges() { detail::is_ranging.store(false, std::memory_order_release); }

void start_ranges_from_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* wanted = getenv("KAON_NVTX");
    if (wanted == nullptr || wanted[0] != '1' || wanted[1] != '\0') return;
    if (Status status = start_ranges(); !status.is_ok()) {
      log_line(LogLevel::kError, cat("KAON_NVTX: ", status.message()));
    }
  });
}

void detail::push_range(const char* name, int variant, std::atomic<void*>* registered) noexcept {
  const Profiler& p = profiler();
  Attributes range;
  range.payload = variant;
  range.message_type = kAscii;
  range.message = name;
  if (p.core2[kRegisterString] != nullptr) {
    void* known = registered->load(std::memory_order_acquire);
    if (known == nullptr) {
      // Two threads may both ask: profilers answer one string with one handle, or with two that mean the same.
      known = p.function<void*(void*, const char*)>(kRegisterString)(p.domain, name);
      registered->store(known, std::memory_order_release);
    }
    range.message_type = known != nullptr ? kRegistered : kAscii;
    range.message = known != nullptr ? known : name;
  }
  p.function<int(void*, const Attributes*)>(kRangePush)(p.domain, &range);
}

void detail::pop_range() noexcept { profiler().function<int(void*)>(kRangePop)(profiler().domain); }

}  // namespace kaon
