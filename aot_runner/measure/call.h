// One shape of one kernel in a device's memory: tensors between red zones, and the slots that a launch is given.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aot_runner/measure/device.h"
#include "aot_runner/measure/protocol.h"
#include "runtime/base/signature.h"

namespace kaon::runner {

struct PlacedTensor {
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // contiguous, in elements
  Span data;                     // every element
  Span before, after;            // red zones, in bytes
  int alias = -1;                // in-place calls: the input whose memory this output is
  int64_t pristine = 0;          // in-place calls: address of an untouched copy of this input; else 0
  bool is_output = false;
};

/// Owns the memory; reused by remaking it for the next shape, so that a sweep allocates seldom.
class Call {
 public:
  explicit Call(Device& device) : device_(device) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  /// Lays out the tensors of `signature` for `shape`, patterns the red zones, and fills the inputs (outputs are left as
  /// they are). kInvalidArgument when a dim or scalar is missing, unknown or does not fit; kOutOfMemory.
  Status make(const Signature& signature, const ShapeSpec& shape, const MeasureOptions& options);

  const std::vector<PlacedTensor>& tensors() const { return tensors_; }
  const std::vector<int64_t>& slots() const { return slots_; }
  /// Bits of the scalar parameters, as in slots.
  std::vector<int64_t> scalars(const Signature& signature) const;
  /// Every input read once and every output written once.
  double traffic_bytes() const;
  /// Room for a copy of output `tensor` that a later variant is compared with.
  int64_t trusted(int tensor) const { return trusted_[static_cast<size_t>(tensor)]; }

  /// Red zones and inputs as make() left them, after a variant damaged them.
  Status refill(const Signature& signature, const MeasureOptions& options) { return fill(signature, options); }
  /// Puts back the inputs that an in-place run changed.
  Status restore_inputs();
  std::vector<Launch::Restore> restores() const;

  static constexpr uint8_t kZonePattern = 0xa5;
  static constexpr int64_t kZoneBytes = 4096;

 private:
  Status set_dims_and_scalars(const Signature& signature, const ShapeSpec& shape);
  Status place(const Signature& signature, const ShapeSpec& shape);
  Status address_slab(const Signature& signature, int64_t bytes);
  Status fill(const Signature& signature, const MeasureOptions& options);

  Device& device_;
  int64_t slab_ = 0;
  int64_t slab_bytes_ = 0;
  std::vector<PlacedTensor> tensors_;
  std::vector<int64_t> slots_;
  std::vector<int64_t> trusted_;
};

}  // namespace kaon::runner
