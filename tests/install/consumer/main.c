/* Loads a pack by its path, calls its kernel through the C interface, and prints what served it. */
#include <inttypes.h>
#include <kaon/kaon.h>
#include <stdio.h>

static int failed(const char* what) {
  printf("%s: %s\n", what, kaon_last_error());
  return 1;
}

int main(int argc, char** argv) {
  const kaon_kernel* kernel = NULL;
  if (argc != 2) return 2;
  if (kaon_abi_version() != KAON_ABI_VERSION) return 3;
  if (kaon_kernel_find("scale_rows", &kernel) != KAON_NOT_FOUND) return 4;
  if (kaon_load_pack(argv[1]) != KAON_OK) return failed("kaon_load_pack");
  if (kaon_kernel_find("scale_rows", &kernel) != KAON_OK) return failed("kaon_kernel_find");
  if (kaon_preload(kernel, (kaon_device){KAON_CUDA, 0}) != KAON_OK) return failed("kaon_preload");

  int64_t shape[2] = {64, 256};
  kaon_dtype f16 = {KAON_FLOAT, 16, 1};
  kaon_device gpu = {KAON_CUDA, 0};
  kaon_tensor x = {(void*)(uintptr_t)0x100000000u, gpu, 2, f16, shape, NULL, 0};
  kaon_tensor w = {(void*)(uintptr_t)0x200000000u, gpu, 1, f16, shape + 1, NULL, 0};
  const kaon_tensor* tensors[3] = {&x, &w, &x};
  kaon_call_info info;
  if (kaon_call(kernel, NULL, tensors, 3, NULL, 0, &info) != KAON_OK) return failed("kaon_call");
  printf("%s table %s, %s, %" PRId64 " blocks\n", kaon_match_name(info.match), info.hardware, info.config, info.programs);

  w.dtype.bits = 32;
  if (kaon_call(kernel, NULL, tensors, 3, NULL, 0, NULL) != KAON_INVALID_ARGUMENT) return 5;
  printf("%s\n", kaon_last_error());
  return 0;
}
