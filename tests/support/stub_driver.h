/* How a test steers and reads the stub CUDA driver (stub_driver.cpp), a shared object that the runtime loads through
 * KAON_CUDA_DRIVER. All functions are found with dlsym on the same file. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct StubDevice {
  int sm;               /* 90 */
  int max_shared_bytes; /* opt-in, per block */
  int num_sms;
};

struct StubLaunch {
  uint64_t count;      /* launches so far */
  uint64_t zeros;      /* memsets so far */
  uint64_t zero_bytes; /* bytes that they covered */
  void* function;
  unsigned grid, threads, shared_bytes, cluster;
  void* stream;
  int num_slots;
  int64_t slots[128];
  char symbol[128]; /* of the last launched function */
};

/* Replaces the devices, at most 16; every test starts with one sm_90 with 232448 bytes. */
void stub_set_devices(const struct StubDevice* devices, int count);
/* What cuDriverGetVersion says: 13000 at the start. */
void stub_set_version(int version);
/* Forgets records, failures, captures and contexts made by hand; sets the calling thread's context to the primary one
 * of device 0. */
void stub_reset(void);

/* Contexts are named by numbers: that of a device is its primary context, -1 is none. */
void stub_set_context(int context);
/* Makes a context on `device`, at the lowest free address, and returns its number. */
int stub_make_context(int device);
/* Ends a context: its functions may no longer be launched, and its address may be given away again. */
void stub_destroy_context(int context);
/* The calling thread's. */
int stub_current_context(void);

/* Makes every later call of `symbol` return `result`; 0 ends it. */
void stub_fail(const char* symbol, int result);
/* Makes call number `nth` of `symbol` from now on, the next one being 1, return `result`, and no other. */
void stub_fail_at(const char* symbol, int nth, int result);
/* Makes every call of any function return `result`, as after a fault on the device; 0 ends it. */
void stub_fail_all(int result);

/* Whether every stream looks as if it were being captured. */
void stub_set_capturing(int is_capturing);
/* Off: nothing is counted or recorded and nothing fails, for timing. */
void stub_set_recording(int is_recording);
struct StubLaunch stub_last_launch(void);
/* Calls of `symbol` so far. */
uint64_t stub_calls(const char* symbol);
/* Objects that were made and not released: "library", "primary", "stream", "event", "memory", "graph", "graph_exec". */
int stub_live(const char* kind);

#ifdef __cplusplus
}
#endif
