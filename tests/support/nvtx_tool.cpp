// A profiler that remembers what it was told, as a shared object that NVTX_INJECTION64_PATH can name.
#include "tests/support/nvtx_tool.h"

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

using AnyFunction = void (*)();

struct Attributes {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, reserved;
  int64_t payload;
  int32_t message_type;
  const void* message;
};

NvtxToolState state;
std::atomic<int> open_ranges{0}, pushes{0}, faults{0};  // threads push and pop at once
std::atomic<int64_t> last_payload{0};
char domain_name[64], range_name[64];
int domain_handle, string_handle;

void* create_domain(const char* name) {
  snprintf(domain_name, sizeof domain_name, "%s", name);
  return &domain_handle;
}
void* register_string(void* domain, const char* text) {
  if (domain != &domain_handle) ++faults;
  ++state.registered_strings;
  snprintf(range_name, sizeof range_name, "%s", text);
  return &string_handle;
}
int push(void* domain, const Attributes* a) {
  const bool is_right = domain == &domain_handle && a->version == 3 && a->size == sizeof(Attributes) &&
                        a->payload_type == 2 && a->message_type == 3 && a->message == &string_handle;
  if (!is_right) ++faults;
  last_payload = a->payload;
  ++pushes;
  return open_ranges++;
}
int pop(void* domain) {
  if (domain != &domain_handle) ++faults;
  return --open_ranges;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(const void* (*export_table)(uint32_t)) {
  struct Callbacks {
    size_t bytes;
    int (*module_functions)(uint32_t, AnyFunction***, unsigned*);
  };
  const auto* callbacks = static_cast<const Callbacks*>(export_table(1));
  AnyFunction** core = nullptr;
  AnyFunction** core2 = nullptr;
  unsigned core_count = 0, core2_count = 0;
  if (callbacks == nullptr || callbacks->module_functions(1, &core, &core_count) != 1 ||
      callbacks->module_functions(5, &core2, &core2_count) != 1 || core_count < 16 || core2_count < 16) {
    return 0;
  }
  // A profiler writes through the places that it was given, and may write to all of them.
  for (unsigned i = 1; i < core_count; ++i) *core[i] = reinterpret_cast<AnyFunction>(pop);
  *core2[12] = reinterpret_cast<AnyFunction>(create_domain);
  *core2[10] = reinterpret_cast<AnyFunction>(register_string);
  *core2[4] = reinterpret_cast<AnyFunction>(push);
  *core2[5] = reinterpret_cast<AnyFunction>(pop);
  ++state.starts;
  return 1;
}

extern "C" __attribute__((visibility("default"))) NvtxToolState nvtx_tool_state() {
  NvtxToolState now = state;
  now.pushes = pushes;
  now.open_ranges = open_ranges;
  now.faults = faults;
  now.last_payload = last_payload;
  now.domain = domain_name;
  now.range = range_name;
  return now;
}
