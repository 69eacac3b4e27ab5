/* Passes DLPack tensors to a kernel; the struct is what any dlpack.h declares. */
#include <kaon/kaon.h>
#include <stdio.h>

#define DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type;
  int32_t device_id;
} DLDevice;
typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;
#include <kaon/dlpack.h>

int main(int argc, char** argv) {
  const kaon_kernel* kernel = NULL;
  kaon_call_info info;
  int64_t shape[2] = {64, 256};
  const DLDevice gpu = {2, 0};
  const DLDataType f16 = {2, 16, 1};
  DLTensor x = {(void*)(uintptr_t)0x100000000u, gpu, 2, f16, NULL, NULL, 0};
  DLTensor w = {(void*)(uintptr_t)0x200000000u, gpu, 1, f16, NULL, NULL, 0};
  const kaon_tensor* tensors[3];
  x.shape = shape;
  w.shape = shape + 1;
  tensors[0] = tensors[2] = kaon_from_dlpack(&x);
  tensors[1] = kaon_from_dlpack(&w);
  if (argc != 2 || kaon_load_pack(argv[1]) != KAON_OK || kaon_kernel_find("scale_rows", &kernel) != KAON_OK ||
      kaon_call(kernel, NULL, tensors, 3, NULL, 0, &info) != KAON_OK) {
    printf("%s\n", kaon_last_error());
    return 1;
  }
  printf("%s %s\n", kaon_match_name(info.match), info.config);
  return 0;
}
