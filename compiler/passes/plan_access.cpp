// Choosing vectors and writing down what they take for granted.
#include "compiler/passes/plan_access.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "compiler/config/knob_list.h"
#include "compiler/ir/index_walk.h"
#include "compiler/ir/jagged.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/access_facts.h"
#include "compiler/passes/guards.h"
#include "compiler/passes/shift_window.h"

namespace kaon::compiler {

namespace {

constexpr int64_t kMaxAccessBytes = 16;
constexpr int64_t kMaxNarrowSpan = INT32_MAX;
// Coordinates beyond an extent are computed before they are masked: half the range is left for them.
constexpr int64_t kMaxNarrowExtent = int64_t{1} << 30;

class AccessPlanner {
 public:
  explicit AccessPlanner(Kernel& kernel)
      : kernel_(kernel), definitions_(defining_ops(std::as_const(kernel))), window_(kernel) {}

  Status run() {
    guard_divisors();
    std::vector<Op*> accesses;
    walk(kernel_.body, [&](Op& op, const OpPlace&) {
      if (is_access(op.kind)) accesses.push_back(&op);
    });
    // Loads choose the phase of a shifted window before stores do.
    for (const OpKind kind : {OpKind::kLoad, OpKind::kStore, OpKind::kAtomic}) {
      for (Op* op : accesses) {
        if (op->kind == kind) plan(op);
      }
    }
    if (kernel_.config.get_int("index", 64) == 32) guard_narrow_index(accesses);
    return window_.finish();
  }

 private:
  const Signature& signature() const { return kernel_.signature; }

  /// Knob div.<dim>: every call that comes here has an extent of that dim that the number divides. A shifted row needs
  /// none.
  void guard_divisors() {
    for (size_t dim = 0; dim < signature().dims.size(); ++dim) {
      const int64_t divisor = kernel_.config.get_int("div." + signature().dims[dim], 1);
      const auto slot = static_cast<uint16_t>(signature().dim_slot(static_cast<int>(dim)));
      if (divisor > 1) add_guard(kernel_, {GuardKind::kDivisible, slot, 0, divisor});
    }
  }

  void plan(Op* op) {
    const AccessFacts facts = access_facts(kernel_, definitions_, *op);
    const auto& tensor = signature().tensors[static_cast<size_t>(facts.tensor)];
    const std::string evict = kernel_.config.get("evict." + tensor.name, "default");
    if (evict != "default") op->set_attr("evict", evict);
    const int64_t vector = vector_of(*op, facts);
    op->set_attr("vector", vector);
    op->set_attr("edge", edge_of(facts, vector));
  }

  int64_t vector_of(const Op& op, const AccessFacts& facts) {
    if (facts.axis == kUnitAxis || facts.contiguous == 1 || op.kind == OpKind::kAtomic) return 1;
    const ValueId mask = access_operands(op).mask;
    if (mask != kNoValue && !is_uniform_along(kernel_, definitions_, mask, facts.axis)) return 1;
    // Neighbours on an axis that lengths run over lie in rows that end at different places.
    for (AxisId axis : kernel_.type(facts.tile).axes) {
      const std::vector<AxisId>& parents = parents_of(kernel_, axis);
      if (std::find(parents.begin(), parents.end(), facts.axis) != parents.end()) return 1;
    }
    const auto& tensor = signature().tensors[static_cast<size_t>(facts.tensor)];
    const int64_t bytes = dtype_bytes(tensor.dtype);
    // Views may leave a thread more neighbours than the knob asks for, which a call need not have aligned.
    int64_t vector = std::gcd(facts.contiguous, kernel_.config.get_int("vec", kMaxAccessBytes));
    vector = std::gcd(vector, kMaxAccessBytes / bytes);
    vector = std::gcd(vector, facts.start_divisor);  // gcd(v, 0) is v
    // Where the tensor ends elsewhere than the axis, no vector may reach across its end.
    if (facts.extent_differs) vector = std::gcd(vector, known_divisor(kernel_, tensor.extents.back()));
    if (vector <= 1) return 1;
    // A window's vectors lie across the rows' ends as they come, and what is cut there is known of the axis alone.
    if (window_.is_shifted(facts.axis)) return !facts.extent_differs && window_.admit(op, facts) ? vector : 1;
    guard_alignment(facts, vector);
    return vector;
  }

  void guard_alignment(const AccessFacts& facts, int64_t vector) {
    const auto& tensor = signature().tensors[static_cast<size_t>(facts.tensor)];
    const int last = static_cast<int>(tensor.extents.size()) - 1;
    auto stride = [&](int dim) { return static_cast<uint16_t>(signature().stride_slot(facts.tensor, dim)); };
    add_guard(kernel_, {GuardKind::kEqual, stride(last), 0, 1});
    const auto pointer = static_cast<uint16_t>(signature().pointer_slot(facts.tensor));
    add_guard(kernel_, {GuardKind::kDivisible, pointer, 0, vector * dtype_bytes(tensor.dtype)});
    for (int dim = 0; dim < last; ++dim) add_guard(kernel_, {GuardKind::kDivisible, stride(dim), 0, vector});
  }

  std::string edge_of(const AccessFacts& facts, int64_t vector) const {
    if (facts.axis == kUnitAxis) return "whole";
    const Axis& axis = kernel_.axis(facts.axis);
    if (window_.is_shifted(facts.axis)) return vector == 1 ? "whole" : "split";
    if (axis.extent_value != kNoValue || axis.begin_value != kNoValue) return vector == 1 ? "whole" : "split";
    const int64_t divisor = known_divisor(kernel_, axis.extent);
    int64_t extent = 0;
    const bool always_full = axis.kind != AxisKind::kTile && axis.extent.is_constant(&extent) && extent == axis.block;
    const bool tiles_fit = axis.kind == AxisKind::kTile && divisor % axis.block == 0 &&
                           known_divisor(kernel_, axis.begin) % axis.block == 0;
    if ((always_full || tiles_fit) && !facts.extent_differs) return "none";
    return divisor % vector == 0 ? "whole" : "split";
  }

  void guard_narrow_index(const std::vector<Op*>& accesses) {
    for (const Op* op : accesses) {
      const auto tensor = static_cast<uint16_t>(op->int_attr("tensor"));
      add_guard(kernel_, {GuardKind::kSpanAtMost, tensor, 0, kMaxNarrowSpan});
    }
    for (size_t dim = 0; dim < signature().dims.size(); ++dim) {
      const auto slot = static_cast<uint16_t>(signature().dim_slot(static_cast<int>(dim)));
      add_guard(kernel_, {GuardKind::kAtMost, slot, 0, kMaxNarrowExtent});
    }
  }

  Kernel& kernel_;
  std::vector<const Op*> definitions_;
  ShiftWindow window_;
};

}  // namespace

Status plan_access(Kernel& kernel, const Target&) { return AccessPlanner(kernel).run(); }

}  // namespace kaon::compiler
