// What a loop along a rolled axis computes anew for each chunk: copies of values along the axis, and the state of
// scans.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/passes/roll_loop.h"

namespace kaon::compiler {

/// Copies into the body of one loop over `axis`, which stands for the rolled axis itself or, in a loop that looks
/// ahead, for the part of it behind the current chunk.
///
/// A scan along the axis is a scan of the chunk combined with what the chunks before it came to: a tuple and a flag
/// that the loop carries. A loop whose scans all go in reverse walks its chunks from the end. Where both directions
/// meet, the loop walks forward, and a scan in reverse asks the chunks behind by a loop of its own.
class ChunkBody {
 public:
  ChunkBody(Kernel& kernel, RollContext& context, Builder& builder, AxisId axis)
      : kernel_(kernel), context_(context), builder_(builder), axis_(axis) {}

  /// Finds the scans along the axis that `values` need. Call before the loop begins, for all that will be copied.
  void plan(const std::vector<ValueId>& values);
  /// Whether the loop is to walk its chunks from the end.
  bool walks_back() const;
  /// What the loop carries for scans before its first chunk: made at the builder's place.
  std::vector<ValueId> inits();
  /// The loop's arguments that take them.
  void set_arguments(const std::vector<ValueId>& args);
  /// What it carries to the next chunk; all scans are copied by now, used or not.
  std::vector<ValueId> yields();

  /// kIllegalConfig when a scan cannot be done chunk by chunk.
  const Status& status() const { return status_; }

  /// The value that stands for `value` in the loop's body, made at the builder's place when it is not there yet.
  ValueId copy(ValueId value);

 private:
  struct Scan {
    const Op* op = nullptr;
    bool is_carried = true;       // else it looks ahead
    bool is_looking = false;      // in a loop that looks ahead: a chunk's total goes to the left of what is carried
    std::vector<ValueId> carry;   // tuple and flag before this chunk
    std::vector<ValueId> behind;  // and after it
  };

  bool scans_axis(const Op& op) const;
  void collect(ValueId value, std::vector<const Op*>* found, std::map<ValueId, bool>* seen) const;
  void copy_op(const Op& op);
  void copy_scan(Scan* scan);
  std::vector<ValueId> nothing_yet(const Op& op);
  std::vector<ValueId> look_ahead(const Scan& scan);
  std::vector<AxisId> here(std::vector<AxisId> axes) const;
  ValueId laid_out(ValueId value, const Layout& layout) {
    kernel_.layout(value) = layout;
    return value;
  }

  Kernel& kernel_;
  RollContext& context_;
  Builder& builder_;
  AxisId axis_;
  std::vector<Scan> scans_;  // in program order
  std::map<ValueId, ValueId> copies_;
  Status status_;
};

}  // namespace kaon::compiler
