// What a kernel is called with, and the flat row of 64-bit slots that a call becomes.
//
// Everything downstream of argument checking (guards, select(), grid expressions, the kernel itself) sees a call only
// as its slots:
//   [pointer of each tensor] [value of each symbolic dim] [strides of each tensor, in elements] [scalar parameters]
// in declaration order. Integers are sign-extended; floating scalars carry the bit pattern of their declared type in
// the low bytes. The kernel takes the same row as its parameters, 8 bytes each, so that every variant of a kernel
// is launched the same way.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/expr.h"

namespace kaon {

constexpr int kMaxRank = 6;
constexpr int kMaxTensors = 16;
constexpr int kMaxSlots = 128;

struct TensorParam {
  std::string name;
  DType dtype = DType::kF32;      // after generics were bound
  std::string dtype_var;          // the generic's name, "T", or empty for a concrete type
  bool is_output = false;
  bool is_zeroed = false;         // declared `= 0`: the launch plan clears it first
  std::string aliases;            // name of the input that this output may be (exactly), or empty
  std::vector<Expr> extents;      // one per axis, over slots; a bare dim is Expr::slot(slot of the dim)
};

struct ScalarParam {
  std::string name;
  DType dtype = DType::kI32;
};

struct Require {
  Expr condition;        // must be non-zero
  std::string text;      // as written: "N % 2 == 0"
};

/// The signature of one kernel with its generics and constexpr parameters bound.
struct Signature {
  std::string kernel;                 // "softmax"
  std::vector<TensorParam> tensors;   // inputs, then outputs
  std::vector<std::string> dims;      // "M", "N": every symbolic dim, in order of first appearance
  std::vector<ScalarParam> scalars;
  std::vector<Require> requires_;

  int num_tensors() const { return static_cast<int>(tensors.size()); }
  int pointer_slot(int tensor) const { return tensor; }
  int dim_slot(int dim) const { return num_tensors() + dim; }
  int stride_slot(int tensor, int axis) const;
  int scalar_slot(int scalar) const { return stride_slot(num_tensors(), 0) + scalar; }
  int num_slots() const { return scalar_slot(static_cast<int>(scalars.size())); }
  /// Name of each slot for messages and generated code: "x", "M", "x_stride0", "eps".
  std::vector<std::string> slot_names() const;
  /// -1 when there is none of that name.
  int find_tensor(const std::string& name) const;
  int find_dim(const std::string& name) const;
  int find_scalar(const std::string& name) const;
  /// The binding of the generics that this signature was made with, "f16" or "f16,f32"; empty for none.
  std::string dtype_key() const;
};

}  // namespace kaon
