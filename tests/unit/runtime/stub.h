// The stub driver as tests see it: the runtime of this process loads it instead of libcuda.
#pragma once

#include <dlfcn.h>
#include <cstdlib>

#include "tests/support/stub_driver.h"

namespace kaon::testing {

struct Stub {
  decltype(&stub_set_devices) set_devices;
  decltype(&stub_set_version) set_version;
  decltype(&stub_reset) reset;
  decltype(&stub_set_context) set_context;
  decltype(&stub_make_context) make_context;
  decltype(&stub_destroy_context) destroy_context;
  decltype(&stub_current_context) current_context;
  decltype(&stub_fail) fail;
  decltype(&stub_fail_at) fail_at;
  decltype(&stub_fail_all) fail_all;
  decltype(&stub_set_capturing) set_capturing;
  decltype(&stub_set_recording) set_recording;
  decltype(&stub_last_launch) last_launch;
  decltype(&stub_calls) calls;
  decltype(&stub_live) live;
};

/// Points KAON_CUDA_DRIVER at the stub, on first use; call it before anything of the runtime.
inline const Stub& stub() {
  static const Stub instance = [] {
    setenv("KAON_CUDA_DRIVER", KAON_STUB_DRIVER, 1);
    void* library = dlopen(KAON_STUB_DRIVER, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) __builtin_trap();
    Stub made;
#define KAON_BIND(name) made.name = reinterpret_cast<decltype(made.name)>(dlsym(library, "stub_" #name))
    KAON_BIND(set_devices);
    KAON_BIND(set_version);
    KAON_BIND(reset);
    KAON_BIND(set_context);
    KAON_BIND(make_context);
    KAON_BIND(destroy_context);
    KAON_BIND(current_context);
    KAON_BIND(fail);
    KAON_BIND(fail_at);
    KAON_BIND(fail_all);
    KAON_BIND(set_capturing);
    KAON_BIND(set_recording);
    KAON_BIND(last_launch);
    KAON_BIND(calls);
    KAON_BIND(live);
#undef KAON_BIND
    return made;
  }();
  return instance;
}

}  // namespace kaon::testing
