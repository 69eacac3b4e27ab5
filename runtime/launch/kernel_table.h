// What a generated .gen.cpp gives the runtime: one constant KernelTable per dtype binding, and their explicit list.
//
// A generated file looks like this (no self-registration: a static library would drop it):
//
//   extern "C" {
//   extern const unsigned char kaon_pack_softmax_sm90_begin[];  // made by add_kaon_pack(softmax_sm90 KPACK ...)
//   extern const unsigned char kaon_pack_softmax_sm90_end[];
//   }
//   namespace kaon::tables {
//   namespace {
//   using namespace kaon::slot_math;
//   int select_f16(const int64_t* s) {
//     const int64_t M = s[2], N = s[3];
//     if (N <= 4096) return M <= 16384 ? 0 : 2;
//     return 1;
//   }
//   }  // namespace
//   const KernelTable softmax_sm90[] = {
//       {kKernelTableAbi, "softmax", "f16", "sm90", select_f16, kaon_pack_softmax_sm90_begin,
//        kaon_pack_softmax_sm90_end, 0x1234...},
//   };
//   const KernelTableList softmax_sm90_list = {softmax_sm90, 1};
//   }
#pragma once

#include <cstddef>
#include <cstdint>

namespace kaon {

/// Raised when KernelTable or the meaning of its fields changes; a table of another version is refused.
constexpr uint32_t kKernelTableAbi = 1;

/// Leaf index for a call's slots (runtime/base/signature.h): an index into DecisionTree::leaves of the pack's table
/// with the same dtype key. Total: every row of slots has a leaf.
using SelectFn = int (*)(const int64_t* slots);

/// One kernel x dtype binding x hardware. Plain constant data; everything pointed to lives as long as the program.
struct KernelTable {
  uint32_t abi_version;             // kKernelTableAbi
  const char* kernel;               // "softmax"
  const char* dtype_key;            // Signature::dtype_key(): "f16", "f16,f32", "" without generics
  const char* hardware;             // "sm90" or "host": what it was tuned for
  SelectFn select;                  // twin of the pack's tree; null: the runtime walks the pack's tree
  const unsigned char* pack_begin;  // 64-byte aligned; the tables of one pack share it
  const unsigned char* pack_end;
  uint64_t pack_hash;               // pack_hash() of those bytes (runtime/launch/pack.h)
};

struct KernelTableList {
  const KernelTable* tables;
  size_t count;
};

/// The operations of ExprOp for generated code, with the same rounding and the same answer for a zero divisor.
namespace slot_math {
constexpr int64_t floor_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && ((a < 0) != (b < 0)) ? 1 : 0);
}
constexpr int64_t ceil_div(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b + (a % b != 0 && ((a < 0) == (b < 0)) ? 1 : 0);
}
constexpr int64_t mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floor_div(a, b) * b; }
constexpr int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
constexpr int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
}  // namespace slot_math

}  // namespace kaon
