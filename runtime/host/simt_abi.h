// The contract between a `host` image and the SIMT machine that runs it.
//
// A host kernel has the C signature  void symbol(KaonSimtThread* self, const int64_t* slots)  and is run once per
// thread of the grid. It has no undefined symbols: whatever C cannot say goes through the table that `self` points to.
// Shared memory is reached only through read_shared and write_shared, so that a checking machine sees every access.
// The layout of these structs is part of the image format: the code generator writes loads at these offsets.
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KAON_SIMT_ABI_VERSION 2
/* A uint64_t that an image may export: the version that it was made for. Without it: version 1. Versions only add to the
   end of the table, so a machine runs images of its own and of earlier ones. */
#define KAON_SIMT_ABI_SYMBOL "kaon_simt_abi_version"

struct KaonSimtThread;

/* `site` numbers the place in the kernel (a running number given by the code generator), for messages. */
struct KaonSimtTable {
  uint64_t abi_version;
  /* All threads of the block. Reaching it divergently, or with threads that have returned, is an error when checked. */
  void (*barrier)(struct KaonSimtThread* self, uint32_t site);
  /* Butterfly: the value of lane (own lane ^ lane_xor). All 32 lanes of the warp must reach the same site. */
  uint32_t (*shuffle_xor)(struct KaonSimtThread* self, uint32_t value, uint32_t lane_xor, uint32_t site);
  /* Value of lane `source_lane`. */
  uint32_t (*shuffle_idx)(struct KaonSimtThread* self, uint32_t value, uint32_t source_lane, uint32_t site);
  /* Dynamic shared memory of the block; `offset + bytes` must lie inside it; bytes is 1, 2, 4, 8 or 16. */
  void (*read_shared)(struct KaonSimtThread* self, uint32_t offset, void* destination, uint32_t bytes, uint32_t site);
  void (*write_shared)(struct KaonSimtThread* self, uint32_t offset, const void* source, uint32_t bytes, uint32_t site);
  /* Conversions that libgcc of g++ 12 lacks; bit patterns, round to nearest even, NaN stays NaN. */
  uint16_t (*f32_to_f16)(float value);
  float (*f16_to_f32)(uint16_t bits);
  uint16_t (*f32_to_bf16)(float value);
  /* Correctly rounded to within 1 ulp, as glibc gives them. */
  float (*exp2f)(float), (*log2f)(float), (*sinf)(float), (*cosf)(float), (*tanhf)(float), (*erff)(float);
  float (*powf)(float, float);
  double (*exp)(double), (*exp2)(double), (*log)(double), (*log2)(double), (*sin)(double), (*cos)(double);
  double (*tanh)(double), (*erf)(double), (*pow)(double, double);
  /* A failed check of the kernel itself; does not return. */
  void (*trap)(struct KaonSimtThread* self, uint32_t site);
  /* Since version 2. A check of the author's, or of --checked, failed: `message` says where. Does not return. */
  void (*fail)(struct KaonSimtThread* self, const char* message);
  /* Since version 2. One line: `format` has a "%lld" or "%g" for each of the 64-bit values. */
  void (*print)(struct KaonSimtThread* self, const char* format, const int64_t* values);
};

struct KaonSimtThread {
  const struct KaonSimtTable* table;  /* offset 0 */
  uint32_t thread;                    /* offset 8: index in the block */
  uint32_t num_threads;               /* offset 12 */
  uint64_t block;                     /* offset 16: index in the grid */
  uint64_t num_blocks;                /* offset 24 */
  /* What follows belongs to the machine. */
};

#ifdef __cplusplus
}  /* extern "C" */
#endif
