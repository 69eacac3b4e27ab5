// Follows loaded integers to where they are used.
#include "tests/support/case_indices.h"

#include <set>

#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

/// Per value, the inputs that its elements may come from. A bool says nothing of a number, so comparisons end the way.
class Origins {
 public:
  explicit Origins(const Kernel& kernel) : kernel_(kernel), of_(kernel.values.size()) {
    // Values that loops carry are seen in the second round.
    for (int round = 0; round < 2; ++round)
      walk(kernel.body, [&](const Op& op, const ConstOpPlace& place) { follow(op, place); });
  }

  const std::set<int>& of(ValueId value) const { return of_[static_cast<size_t>(value)]; }

 private:
  void add(ValueId to, ValueId from) { add(to, of(from)); }
  void add(ValueId to, const std::set<int>& more) {
    if (kernel_.type(to).dtype == DType::kBool) return;
    std::set<int>& all = of_[static_cast<size_t>(to)];
    const std::set<int> copy = more;
    all.insert(copy.begin(), copy.end());
  }

  void follow(const Op& op, const ConstOpPlace& place) {
    if (op.kind == OpKind::kLoad) {
      const auto tensor = static_cast<int>(op.int_attr("tensor"));
      if (dtype_is_int(kernel_.signature.tensors[static_cast<size_t>(tensor)].dtype)) add(op.result(), {tensor});
      return;
    }
    for (const ValueId result : op.results) {
      for (const ValueId operand : op.operands) add(result, operand);
    }
    for (const Region& region : op.regions) {
      for (const ValueId argument : region.args) {
        for (const ValueId operand : op.operands) add(argument, operand);
      }
    }
    if (op.kind != OpKind::kYield || place.parent == nullptr) return;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (i < place.parent->results.size()) add(place.parent->results[i], op.operands[i]);
      for (const Region& region : place.parent->regions) {
        if (i < region.args.size()) add(region.args[i], op.operands[i]);
      }
    }
  }

  const Kernel& kernel_;
  std::vector<std::set<int>> of_;
};

}  // namespace

std::vector<std::string> inputs_that_index(const Kernel& kernel) {
  const Origins origins(kernel);
  std::set<int> found;
  const auto use = [&](ValueId value) {
    if (value != kNoValue) found.insert(origins.of(value).begin(), origins.of(value).end());
  };
  for (const Axis& axis : kernel.axes) use(axis.begin_value), use(axis.extent_value);
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.find_attr("index") == nullptr) return;
    for (const Indexer& indexer : op.index_attr("index")) {
      if (indexer.operand >= 0) use(op.operands[static_cast<size_t>(indexer.operand)]);
    }
  });
  std::vector<std::string> names;
  for (const int tensor : found) names.push_back(kernel.signature.tensors[static_cast<size_t>(tensor)].name);
  return names;
}

}  // namespace kaon::compiler
