// Finding links in the views of a kernel.
#include "compiler/config/axis_links.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "compiler/config/axis_sets.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/view_rules.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

/// More parts than this in the registers of one thread are not worth it.
constexpr int64_t kMaxPartsInRegisters = 16;

/// The parts that slices and concats make of one axis of constant extent.
struct Parts {
  int64_t granule = 0;                           // divides every begin and length
  std::vector<std::pair<AxisId, int64_t>> axes;  // with their extents
};

class LinkFinder {
 public:
  explicit LinkFinder(const Kernel& kernel) : kernel_(kernel) {
    out_.links.resize(kernel.axes.size());
    out_.needs.resize(kernel.axes.size());
    for (size_t i = 0; i < out_.links.size(); ++i) out_.links[i].root = block_of(kernel, static_cast<AxisId>(i));
  }

  AxisLinks run() {
    bool has_views = false;
    walk(kernel_.body, [&](const Op& op, const ConstOpPlace&) {
      has_views |= op.kind == OpKind::kReshape || op.kind == OpKind::kSlice || op.kind == OpKind::kConcat;
      for (const ValueId result : op.results) types_.push_back(&kernel_.type(result));
      for (const Region& region : op.regions) {
        for (const ValueId arg : region.args) types_.push_back(&kernel_.type(arg));
      }
    });
    if (!has_views) return std::move(out_);
    walk(kernel_.body, [&](const Op& op, const ConstOpPlace&) {
      if (op.kind == OpKind::kReshape) link_reshape(op);
    });
    link_parts();
    walk(kernel_.body, [&](const Op& op, const ConstOpPlace&) {
      if (op.kind == OpKind::kSlice) link_prefix(op);
    });
    return std::move(out_);
  }

 private:
  const AxisLink& link(AxisId axis) const { return out_.link(axis); }

  /// Axes of one value must lie on digits of their own.
  bool values_stay_apart(AxisId changed) const {
    for (const Type* type : types_) {
      if (std::find(type->axes.begin(), type->axes.end(), changed) == type->axes.end()) continue;
      const AxisLink& own = link(changed);
      for (const AxisId other : type->axes) {
        if (other == changed || other == kUnitAxis || link(other).root != own.root) continue;
        const AxisLink& its = link(other);
        const bool below = own.high != 0 && own.high <= its.low;
        const bool above = its.high != 0 && its.high <= own.low;
        if (!below && !above) return false;
      }
    }
    return true;
  }

  /// Puts a root that nothing lies on onto `base`.
  bool try_link(AxisId axis, AxisId base, int64_t low, int64_t high) {
    const AxisLink& under = link(base);
    if (out_.is_linked(axis) || out_.has_parts(axis) || under.root == axis) return false;
    AxisLink made{under.root, under.low * low, high == 0 ? under.high : under.low * high};
    // Digits at the top are all that is there: they hold what the root is padded by.
    if (made.high == static_extent(kernel_.axis(under.root))) made.high = 0;
    std::swap(out_.links[static_cast<size_t>(axis)], made);
    if (!values_stay_apart(axis)) {
      out_.links[static_cast<size_t>(axis)] = made;
      return false;
    }
    made = link(axis);
    RootNeeds& needs = out_.needs[static_cast<size_t>(made.root)];
    for (const int64_t cut : {made.low, made.high}) {
      if (cut > 1) needs.cuts.push_back(cut);
    }
    return true;
  }

  /// From weight `low` of the axis on, its digits stay in registers.
  void need_registers(AxisId axis, int64_t low) {
    const AxisLink& own = link(axis);
    out_.needs[static_cast<size_t>(own.root)].in_registers.push_back({own.low * low, own.high});
  }

  void link_reshape(const Op& op) {
    const std::vector<AxisId>& from = kernel_.type(op.operands[0]).axes;
    const std::vector<AxisId>& to = kernel_.type(op.result()).axes;
    for (const RegroupedDims& group : regrouped_dims(kernel_, from, to)) {
      link_group(from, to, group, true);
      link_group(to, from, group, false);
    }
  }

  /// Where one side of a group is a single axis, those of the other are its digits.
  void link_group(const std::vector<AxisId>& outer, const std::vector<AxisId>& inner, const RegroupedDims& group,
                  bool outer_is_operand) {
    const auto real = [&](const std::vector<AxisId>& axes, int begin, int end) {
      std::vector<AxisId> out;
      for (int i = begin; i < end; ++i) {
        if (axes[static_cast<size_t>(i)] != kUnitAxis) out.push_back(axes[static_cast<size_t>(i)]);
      }
      return out;
    };
    const std::vector<AxisId> whole =
        outer_is_operand ? real(outer, group.from_begin, group.from_end) : real(outer, group.to_begin, group.to_end);
    const std::vector<AxisId> digits =
        outer_is_operand ? real(inner, group.to_begin, group.to_end) : real(inner, group.from_begin, group.from_end);
    if (whole.size() != 1 || static_extent(kernel_.axis(whole[0])) == 0) return;
    if (digits.size() == 1 && digits[0] == whole[0]) return;
    if (digits.size() == 1 && !outer_is_operand) return;
    int64_t low = 1;
    for (size_t i = digits.size(); i-- > 0;) {
      const int64_t high = low * constant_extent(kernel_, digits[i]);
      try_link(digits[i], whole[0], low, high);
      low = high;
    }
  }

  /// Equal parts share the low digits of the whole, whose high ones tell the parts apart: in registers, so that every
  /// thread has its share of each.
  void link_parts() {
    std::map<AxisId, Parts> wholes;
    const auto note = [&](AxisId whole, AxisId part, int64_t begin) {
      if (whole == kUnitAxis || static_extent(kernel_.axis(whole)) == 0) return;
      const int64_t length = constant_extent(kernel_, part);
      Parts& parts = wholes[whole];
      if (parts.granule == 0) parts.granule = static_extent(kernel_.axis(whole));
      parts.granule = std::gcd(std::gcd(parts.granule, begin), length);
      parts.axes.push_back({part, length});
    };
    walk(kernel_.body, [&](const Op& op, const ConstOpPlace&) {
      const auto dim = static_cast<size_t>(op.int_attr("dim"));
      if (op.kind == OpKind::kSlice) {
        const AxisId whole = kernel_.type(op.operands[0]).axes[dim];
        const AxisId part = kernel_.type(op.result()).axes[dim];
        if (op.operands.size() == 1 && constant_extent(kernel_, part) > 0) note(whole, part, op.int_attr("begin"));
      } else if (op.kind == OpKind::kConcat) {
        const AxisId whole = kernel_.type(op.result()).axes[dim];
        int64_t begin = 0;
        for (const ValueId operand : op.operands) {
          const AxisId part = kernel_.type(operand).axes[dim];
          note(whole, part, begin);
          begin += constant_extent(kernel_, part);
        }
      }
    });
    for (const auto& [whole, parts] : wholes) {
      const int64_t extent = static_extent(kernel_.axis(whole));
      if (parts.granule == extent || extent / parts.granule > kMaxPartsInRegisters) continue;
      for (const auto& [part, length] : parts.axes) {
        if (part != kUnitAxis && length == parts.granule) try_link(part, whole, 1, length);
      }
      need_registers(whole, parts.granule);
    }
  }

  /// The start of an axis, as long as data says, lies where the axis does; any other part by bounds of the device has
  /// at least its tile size.
  void link_prefix(const Op& op) {
    const auto dim = static_cast<size_t>(op.int_attr("dim"));
    const AxisId whole = kernel_.type(op.operands[0]).axes[dim];
    const AxisId part = kernel_.type(op.result()).axes[dim];
    if (whole == kUnitAxis || part == kUnitAxis || kernel_.axis(part).extent_value == kNoValue) return;
    try_link(part, whole, 1, 0);
  }

  const Kernel& kernel_;
  AxisLinks out_;
  std::vector<const Type*> types_;
};

}  // namespace

bool AxisLinks::has_parts(AxisId root) const {
  for (size_t i = 0; i < links.size(); ++i) {
    if (links[i].root == root && static_cast<AxisId>(i) != root) return true;
  }
  const RootNeeds& own = needs[static_cast<size_t>(root)];
  return !own.cuts.empty() || !own.in_registers.empty();
}

AxisLinks find_axis_links(const Kernel& kernel) { return LinkFinder(kernel).run(); }

std::vector<Digit> cut_digits(const std::vector<Digit>& digits, int64_t low, int64_t high, bool* ok) {
  std::vector<Digit> out;
  int64_t weight = 1;
  for (const Digit& digit : digits) {
    const int64_t end = weight * digit.radix;
    const int64_t first = std::max(weight, low);
    const int64_t last = high == 0 ? end : std::min(end, high);
    if (first < last) {
      if (first % weight != 0 || last % first != 0 || end % last != 0) *ok = false;
      out.push_back(
          {static_cast<uint32_t>(last / first), digit.where, digit.unit * static_cast<uint32_t>(first / weight)});
    }
    weight = end;
  }
  return out;
}

bool satisfies(const std::vector<Digit>& digits, const RootNeeds& needs) {
  bool ok = true;
  for (const int64_t cut : needs.cuts) cut_digits(digits, cut, 0, &ok);
  for (const auto& [low, high] : needs.in_registers) {
    for (const Digit& digit : cut_digits(digits, low, high, &ok))
      ok = ok && (digit.where == Where::kRegister || digit.radix == 1);
  }
  return ok;
}

}  // namespace kaon::compiler
