// From the arguments of a call to its row of slots: every rule of the signature checked, without allocating.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/signature.h"
#include "runtime/base/status.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// Dtypes of a kernel's tensors in one word, four bits each in order: the key under which its tables are found.
inline uint64_t dtype_bits(DType dtype, int tensor) { return static_cast<uint64_t>(dtype) << (4 * tensor); }
static_assert(kNumDTypes <= 16 && kMaxTensors * 4 <= 64, "dtype_bits packs four bits per tensor");

/// A signature made ready for checking calls: flat, so that a call walks it once.
class ArgumentChecker {
 public:
  /// `signature` must outlive the checker.
  explicit ArgumentChecker(const Signature& signature);
  ArgumentChecker(const ArgumentChecker&) = delete;
  ArgumentChecker& operator=(const ArgumentChecker&) = delete;

  int num_slots() const { return num_slots_; }
  int num_tensors() const { return static_cast<int>(tensors_.size()); }
  const Signature& signature() const { return signature_; }

  /// Fills slots[0, num_slots()). The counts and dtypes must have been compared with the signature's already.
  /// kInvalidArgument with the names and both numbers: rank, device, null or misaligned pointer, extents that disagree,
  /// `require` clauses, an output that overlaps another argument without being declared its alias. A stride along an
  /// axis of extent 0 or 1 means nothing; the row holds 1 for the last axis and 0 for others, whatever the view says.
  /// False with the reason in `*error`, which is untouched otherwise: success costs no Status.
  bool fill(const TensorView* const* tensors, const ScalarValue* scalars, int64_t* slots, Status* error) const;

  /// Checks counts and dtypes, in words, for a call whose dtypes match no table.
  static Status check_types(const Signature& signature, const TensorView* const* tensors, int num_tensors,
                            int num_scalars);

  /// The extents of `tensor` over filled slots.
  void extents(int tensor, const int64_t* slots, int64_t* out) const;
  int rank(int tensor) const { return tensors_[tensor].rank; }
  int first_stride_slot(int tensor) const { return tensors_[tensor].first_stride; }

 private:
  enum class AxisRule : uint16_t { kBind, kSame, kExpr };
  struct Axis {
    AxisRule rule;
    uint16_t place;  // slot of the dim for kBind and kSame, index into exprs_ for kExpr
  };
  struct Tensor {
    uint8_t rank;
    bool is_output;
    int8_t alias;  // index of the input that it may be, or -1
    uint8_t element_bytes;
    uint16_t first_axis;
    uint16_t first_stride;
  };
  struct Span {
    uintptr_t begin, end;  // bytes that a view can touch; equal when it has no elements
  };
  struct Pair {
    uint8_t output, other;
  };

  enum class Fault : uint8_t { kRank, kDevice, kNegative, kExtent, kOutputStride, kTooLarge, kNull, kMisaligned };

  bool fill_tensor(int index, const TensorView& view, const TensorView& first, int64_t* slots, Span* span,
                   Status* error) const;
  // Says what is wrong, out of the hot function's way; false.
  bool tensor_fault(Fault fault, int index, int axis, const TensorView& view, const TensorView& first,
                    const int64_t* slots, Status* error) const;
  bool check_extents(const TensorView* const* tensors, const int64_t* slots, Status* error) const;
  bool check_requires(const int64_t* slots, Status* error) const;
  bool check_pair(const TensorView* const* tensors, Pair pair, Status* error) const;

  const Signature& signature_;
  int num_slots_ = 0;
  std::vector<Tensor> tensors_;
  std::vector<Axis> axes_;
  std::vector<ExprView> exprs_;
  std::vector<Pair> pairs_;  // that may not overlap: each output with every input and every earlier output
};

/// Whether two views share a byte, exactly for views that are slices of rows of one pitch or that take elements in
/// turns, else by their spans.
bool views_overlap(const TensorView& a, const TensorView& b);

}  // namespace kaon
