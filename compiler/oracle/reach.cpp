// Bounds what combining comes to on the way, whichever way that is.
#include "compiler/oracle/reach.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "compiler/oracle/rounding.h"

namespace kaon::compiler {
namespace {

/// What combining may come to on the way, whatever is grouped with what: the region on absolute values, none of which
/// an op makes smaller, so that a row's bounds cover those of all its parts. Only for regions of sums, products and
/// choices.
class Reach {
 public:
  Reach(const Kernel& kernel, const Region& region) : region_(region) {
    for (const auto& op : region.ops) {
      const std::string fn = op->find_attr("fn") != nullptr ? op->str_attr("fn") : "";
      static const std::set<std::string> kKnown = {"add", "sub", "mul", "min", "max", "neg", "abs"};
      const bool is_float = !op->results.empty() && dtype_is_float(kernel.type(op->result()).dtype);
      if (is_float && op->kind != OpKind::kSelect && op->kind != OpKind::kConst && kKnown.count(fn) == 0)
        is_known_ = false;
      multiplies_ = multiplies_ || (is_float && fn == "mul");
    }
  }

  bool is_known() const { return is_known_; }
  bool multiplies() const { return multiplies_; }

  std::vector<double> combine(const std::vector<double>& left, const std::vector<double>& right) {
    for (size_t i = 0; i < left.size(); ++i) {
      values_[region_.args[i]] = left[i];
      values_[region_.args[left.size() + i]] = right[i];
    }
    std::vector<double> out;
    for (const auto& op : region_.ops) {
      if (op->kind == OpKind::kYield) {
        for (ValueId value : op->operands) out.push_back(values_[value]);
        break;
      }
      double& result = values_[op->result()];
      result = 0;
      if (op->kind == OpKind::kConst) {
        const Attr& attr = *op->find_attr("value");
        const int64_t* integer = std::get_if<int64_t>(&attr);
        result = std::fabs(integer ? static_cast<double>(*integer) : std::get<double>(attr));
        continue;
      }
      const std::string fn = op->find_attr("fn") != nullptr ? op->str_attr("fn") : "";
      if (fn == "mul") result = 1;
      for (ValueId operand : op->operands) {
        const double x = values_[operand];
        if (fn == "add" || fn == "sub")
          result += x;
        else if (fn == "mul")
          result *= std::max(x, 1.0);
        else
          result = std::max(result, x);
      }
    }
    return out;
  }

 private:
  const Region& region_;
  std::map<ValueId, double> values_;
  bool is_known_ = true, multiplies_ = false;
};

/// Element `at` of the results, made of so many combinings, with what the tuple may come to on the way.
void doubt_element(const Reach& reach, const std::vector<double>& total, bool is_open, double combinings, size_t at,
                   std::vector<Tile>* results) {
  const double most = *std::max_element(total.begin(), total.end());
  for (size_t member = 0; member < total.size(); ++member) {
    Tile& result = (*results)[member];
    if (!result.is_float()) continue;
    const Rounding rounding(result.dtype);
    const bool is_doubtful = is_open || most > rounding.max_finite();
    const double lost = reach.multiplies() ? combinings * rounding.half_subnormal() * std::max(most, 1.0) : 0;
    if (!is_doubtful && (lost == 0 || !std::isfinite(result.floats[at]))) continue;
    if (result.exact) {
      result.need_bounds();
      std::fill(result.bounds.begin(), result.bounds.end(), 0.0);
      result.exact = false;
    }
    result.bounds[at] = is_doubtful ? kUnknown : result.bounds[at] + lost;
  }
}

}  // namespace

void doubt_orders(const Kernel& kernel, const Region& region, const std::vector<Tile>& rows, bool is_fold,
                  std::vector<Tile>* results) {
  Reach reach(kernel, region);
  if (!reach.is_known()) return;
  const size_t size = region.args.size() / 2;
  const auto length = static_cast<size_t>(rows[0].sizes[1]);
  for (size_t row = 0; row < static_cast<size_t>(rows[0].sizes[0]); ++row) {
    std::vector<double> total;
    bool is_open = false;  // where an infinity or a NaN meets a zero product depends on the order
    for (size_t i = 0; i < length; ++i) {
      const size_t at = row * length + i;
      if (rows.size() > size && rows[size].ints[at] == 0) continue;
      std::vector<double> own(size, 0);
      for (size_t member = 0; member < size; ++member) {
        const Tile& tile = rows[member];
        if (!tile.is_float() || tile.bound(at) == kUnknown) continue;
        if (std::isfinite(tile.floats[at]))
          own[member] = std::fabs(tile.floats[at]) + tile.bound(at);
        else
          is_open = is_open || reach.multiplies();
      }
      total = total.empty() ? own : reach.combine(total, own);
      if (!is_fold) doubt_element(reach, total, is_open, static_cast<double>(i), at, results);
    }
    if (is_fold && !total.empty()) doubt_element(reach, total, is_open, static_cast<double>(length), row, results);
  }
}

}  // namespace kaon::compiler
