/* A DLPack tensor as an argument of Kaon. Include a dlpack.h of your own before this file: Kaon brings none, and there is
 * nothing here without it. C11, C++17. */
#if defined(DLPACK_DLPACK_H_) && !defined(KAON_DLPACK_H_)
#define KAON_DLPACK_H_

#include "runtime/launch/tensor_abi.h"

#ifdef __cplusplus
#define KAON_DLPACK_ASSERT static_assert
#else
#define KAON_DLPACK_ASSERT _Static_assert
#endif

KAON_DLPACK_ASSERT(sizeof(DLTensor) == sizeof(kaon_tensor), "DLTensor and kaon_tensor have one layout");
KAON_DLPACK_ASSERT(offsetof(DLTensor, device) == offsetof(kaon_tensor, device), "DLTensor and kaon_tensor differ");
KAON_DLPACK_ASSERT(offsetof(DLTensor, ndim) == offsetof(kaon_tensor, ndim), "DLTensor and kaon_tensor differ");
KAON_DLPACK_ASSERT(offsetof(DLTensor, dtype) == offsetof(kaon_tensor, dtype), "DLTensor and kaon_tensor differ");
KAON_DLPACK_ASSERT(offsetof(DLTensor, shape) == offsetof(kaon_tensor, shape), "DLTensor and kaon_tensor differ");
KAON_DLPACK_ASSERT(offsetof(DLTensor, strides) == offsetof(kaon_tensor, strides), "DLTensor and kaon_tensor differ");
KAON_DLPACK_ASSERT(offsetof(DLTensor, byte_offset) == offsetof(kaon_tensor, byte_offset),
                   "DLTensor and kaon_tensor differ");
#undef KAON_DLPACK_ASSERT

/* The same tensor as kaon_call() takes it; nothing is copied, so it is valid as long as `tensor` and its shape. A DLTensor
 * says nothing of a stream: work on it must be ordered with the stream that the call names. */
static inline const kaon_tensor* kaon_from_dlpack(const DLTensor* tensor) { return (const kaon_tensor*)tensor; }

#endif /* DLPACK_DLPACK_H_ and not KAON_DLPACK_H_ */
