// A scan of tuples as one step for each digit of its dim.
#include <utility>
#include <vector>

#include "compiler/ir/combine.h"
#include "compiler/passes/stage_tuples.h"
#include "compiler/passes/through_shared.h"

namespace kaon::compiler {

namespace {

class ScanStager {
 public:
  ScanStager(Kernel& kernel, PartialAxes& axes, Region& region, const Op& scan)
      : kernel_(kernel),
        axes_(axes),
        scan_(scan),
        size_(tuple_size(scan)),
        dim_(static_cast<int>(scan.int_attr("dim"))),
        builder_(kernel, region) {
    builder_.set_range(scan.range);
  }

  void run() {
    const ValueId whole = scan_.operands[0];
    const std::vector<Digit> digits = kernel_.layout(whole).digits(dim_);
    begin(digits);
    for (size_t i = 0; i < digits.size(); ++i) {
      if (digits[i].where == Where::kWarp) gather(digits[i]);
      step(i, std::vector<Digit>(digits.begin() + static_cast<ptrdiff_t>(i) + 1, digits.end()),
           digits[i].where == Where::kLane ? OpKind::kScanLanes : OpKind::kScanThread);
    }
    Op& last = *builder_.region().ops.back();
    for (size_t i = 0; i < size_; ++i) last.results[i] = scan_.results[i];
    if (scan_.int_attr("totals") == 0) return;
    for (size_t i = 0; i <= size_; ++i) last.results[size_ + 1 + i] = scan_.results[size_ + i];
  }

 private:
  /// The scanned tile with only `digits` left of its dim.
  PartialTile total_tile(const std::vector<Digit>& digits) {
    const ValueId whole = scan_.operands[0];
    PartialTile out{kernel_.type(whole), Layout()};
    const Layout layout = kernel_.layout(whole);
    std::vector<std::vector<Digit>> all;
    for (int dim = 0; dim < layout.rank(); ++dim) all.push_back(dim == dim_ ? digits : layout.digits(dim));
    AxisId& axis = out.type.axes[static_cast<size_t>(dim_)];
    axis = digits.empty() || axis == kUnitAxis ? kUnitAxis : axes_.axis(axis, digits);
    // Removing register digits leaves gaps in the numbering; drop() of nothing closes them.
    out.layout = Layout(std::move(all), layout.num_warps(), layout.num_blocks()).drop({});
    return out;
  }

  Op& insert(OpKind kind, std::vector<ValueId> operands, const std::vector<Digit>& left) {
    Op& op = builder_.insert(kind, std::move(operands));
    op.set_attr("dim", static_cast<int64_t>(dim_));
    op.set_attr("reverse", scan_.int_attr("reverse"));
    op.regions.push_back(copy_combine(kernel_, scan_.regions[0]));
    const Type whole = kernel_.type(scan_.operands[0]);
    const Layout layout = kernel_.layout(scan_.operands[0]);
    const PartialTile total = total_tile(left);
    prefixes_ = new_tuple(whole.axes, layout);
    totals_ = new_tuple(total.type.axes, total.layout);
    op.results = prefixes_;
    op.results.insert(op.results.end(), totals_.begin(), totals_.end());
    return op;
  }

  std::vector<ValueId> new_tuple(const std::vector<AxisId>& axes, const Layout& layout) {
    std::vector<ValueId> out;
    for (size_t i = 0; i <= size_; ++i) {
      const DType dtype = i < size_ ? kernel_.type(scan_.operands[i]).dtype : DType::kBool;
      out.push_back(kernel_.new_value(Type{dtype, axes}));
      kernel_.layout(out.back()) = layout;
    }
    return out;
  }

  void begin(const std::vector<Digit>& digits) {
    insert(OpKind::kScanThread, scan_.operands, digits).set_attr("first", int64_t{1});
  }

  void step(size_t digit, const std::vector<Digit>& left, OpKind kind) {
    std::vector<ValueId> operands = prefixes_;
    operands.insert(operands.end(), totals_.begin(), totals_.end());
    insert(kind, std::move(operands), left).set_attr("digit", static_cast<int64_t>(digit));
  }

  /// Totals with the warp digit, the lowest that is left, in registers of every thread.
  void gather(const Digit& digit) {
    const Layout layout = kernel_.layout(totals_[0]);
    std::vector<std::vector<Digit>> digits;
    for (int dim = 0; dim < layout.rank(); ++dim) digits.push_back(layout.digits(dim));
    auto& own = digits[static_cast<size_t>(dim_)];
    // Warp digits that continue each other are one by now.
    own[0] = {digit.radix, Where::kRegister, layout.num_registers()};
    const Layout to(std::move(digits), layout.num_warps(), layout.num_blocks());
    for (ValueId& value : totals_) value = through_shared(builder_, value, {kernel_.type(value), to}, "totals");
  }

  Kernel& kernel_;
  PartialAxes& axes_;
  const Op& scan_;
  size_t size_;
  int dim_;
  Builder builder_;
  std::vector<ValueId> prefixes_, totals_;  // members, then the flag
};

}  // namespace

void stage_scan(Kernel& kernel, PartialAxes& axes, Region& region, const Op& scan) {
  ScanStager(kernel, axes, region, scan).run();
}

}  // namespace kaon::compiler
