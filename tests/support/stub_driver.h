/* How a test steers and reads the stub CUDA driver (stub_driver.cpp), a shared object that the runtime loads through
 * KAON_CUDA_DRIVER. All functions are found with dlsym on the same file. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct StubDevice {
  int sm;                /* 90 */
  int max_shared_bytes;  /* opt-in, per block */
  int num_sms;
};

struct StubLaunch {
  uint64_t count;        /* launches so far */
  uint64_t zeros;        /* memsets so far */
  uint64_t zero_bytes;   /* bytes that they covered */
  void* function;
  unsigned grid, threads, shared_bytes, cluster;
  void* stream;
  int num_slots;
  int64_t slots[128];
  char symbol[128];      /* of the last launched function */
};

/* Replaces the devices; every test starts with one sm_90 with 232448 bytes. */
void stub_set_devices(const struct StubDevice* devices, int count);
/* Forgets records, loaded libraries and contexts; sets the calling thread's context to that of device 0. */
void stub_reset(void);
/* Makes the calling thread's context that of `device`, or none for -1. */
void stub_set_context(int device);
/* Makes every later call of `symbol` return `result`; 0 ends it. */
void stub_fail(const char* symbol, int result);
/* Whether streams look as if they were being captured. */
void stub_set_capturing(int is_capturing);
/* Off: nothing is counted or recorded and nothing fails, for timing. */
void stub_set_recording(int is_recording);
struct StubLaunch stub_last_launch(void);
/* Calls of `symbol` so far. */
uint64_t stub_calls(const char* symbol);

#ifdef __cplusplus
}
#endif
