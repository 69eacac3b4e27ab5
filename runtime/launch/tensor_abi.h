/* The binary layout of a tensor argument: that of DLPack's DLTensor, so that a pointer to one can be passed as it is.
 * C11. The layout is frozen by static assertions. */
#ifndef KAON_TENSOR_ABI_H_
#define KAON_TENSOR_ABI_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Kinds of device, numbered as DLPack numbers them. Pinned host memory counts as CPU, managed memory as CUDA. */
enum kaon_device_type {
  KAON_CPU = 1,
  KAON_CUDA = 2,
  KAON_CUDA_HOST = 3,
  KAON_CUDA_MANAGED = 13
};

typedef struct kaon_device {
  int32_t type; /* enum kaon_device_type */
  int32_t id;   /* ordinal; 0 for CPU */
} kaon_device;

/* Element type codes as DLPack numbers them; `lanes` is always 1. */
enum kaon_dtype_code {
  KAON_INT = 0,
  KAON_UINT = 1,
  KAON_FLOAT = 2,
  KAON_BFLOAT = 4,
  KAON_BOOL = 6,
  KAON_FLOAT8_E4M3 = 10,
  KAON_FLOAT8_E5M2 = 12
};

typedef struct kaon_dtype {
  uint8_t code; /* enum kaon_dtype_code */
  uint8_t bits;
  uint16_t lanes;
} kaon_dtype;

/* A view of memory that somebody else owns. */
typedef struct kaon_tensor {
  void* data;
  kaon_device device;
  int32_t ndim;
  kaon_dtype dtype;
  const int64_t* shape;   /* `ndim` extents */
  const int64_t* strides; /* `ndim` strides in elements; null for a row-major tensor without gaps */
  uint64_t byte_offset;   /* from data to the first element */
} kaon_tensor;

#ifdef __cplusplus
}
static_assert(sizeof(kaon_tensor) == 48, "kaon_tensor has the layout of DLTensor");
static_assert(offsetof(kaon_tensor, device) == 8, "kaon_tensor has the layout of DLTensor");
static_assert(offsetof(kaon_tensor, ndim) == 16, "kaon_tensor has the layout of DLTensor");
static_assert(offsetof(kaon_tensor, dtype) == 20, "kaon_tensor has the layout of DLTensor");
static_assert(offsetof(kaon_tensor, shape) == 24, "kaon_tensor has the layout of DLTensor");
static_assert(offsetof(kaon_tensor, strides) == 32, "kaon_tensor has the layout of DLTensor");
static_assert(offsetof(kaon_tensor, byte_offset) == 40, "kaon_tensor has the layout of DLTensor");
#else
_Static_assert(sizeof(kaon_tensor) == 48, "kaon_tensor has the layout of DLTensor");
_Static_assert(offsetof(kaon_tensor, strides) == 32, "kaon_tensor has the layout of DLTensor");
_Static_assert(offsetof(kaon_tensor, byte_offset) == 40, "kaon_tensor has the layout of DLTensor");
#endif

#endif /* KAON_TENSOR_ABI_H_ */
