// Attributes, values, copies and the table of ops: the plain mechanics of the IR.
#include "compiler/ir/ir.h"

#include <iterator>
#include <utility>

namespace kaon::compiler {
namespace {

constexpr Stage kLogical = Stage::kLogical;
constexpr Stage kLaidOut = Stage::kLaidOut;
constexpr Stage kStaged = Stage::kStaged;

constexpr OpInfo kOpInfos[] = {
#define KAON_OP(enumerator, text, operands, results, regions, first, last, pure) \
  {text, operands, results, regions, first, last, pure != 0},
#include "compiler/ir/ops.inc"
#undef KAON_OP
};

Region clone_region(const Region& region) {
  Region copy;
  copy.args = region.args;
  copy.ops.reserve(region.ops.size());
  for (const auto& op : region.ops) copy.ops.push_back(clone_op(*op));
  return copy;
}

}  // namespace

const Attr* Op::find_attr(const std::string& name) const {
  for (const auto& [key, value] : attrs) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Op::set_attr(const std::string& name, Attr value) {
  for (auto& [key, old] : attrs) {
    if (key == name) {
      old = std::move(value);
      return;
    }
  }
  attrs.emplace_back(name, std::move(value));
}

int64_t Op::int_attr(const std::string& name, int64_t fallback) const {
  const Attr* attr = find_attr(name);
  const int64_t* value = attr ? std::get_if<int64_t>(attr) : nullptr;
  return value ? *value : fallback;
}

std::string Op::str_attr(const std::string& name, const std::string& fallback) const {
  const Attr* attr = find_attr(name);
  const std::string* value = attr ? std::get_if<std::string>(attr) : nullptr;
  return value ? *value : fallback;
}

const std::vector<int64_t>& Op::ints_attr(const std::string& name) const {
  static const std::vector<int64_t> none;
  const Attr* attr = find_attr(name);
  const auto* value = attr ? std::get_if<std::vector<int64_t>>(attr) : nullptr;
  return value ? *value : none;
}

const std::vector<Indexer>& Op::index_attr(const std::string& name) const {
  static const std::vector<Indexer> none;
  const Attr* attr = find_attr(name);
  const auto* value = attr ? std::get_if<std::vector<Indexer>>(attr) : nullptr;
  return value ? *value : none;
}

ValueId Kernel::new_value(Type type, std::string name) {
  values.push_back(ValueInfo{std::move(type), Layout(), std::move(name)});
  return static_cast<ValueId>(values.size()) - 1;
}

AxisId Kernel::new_axis(Axis axis) {
  axes.push_back(std::move(axis));
  return static_cast<AxisId>(axes.size()) - 1;
}

std::unique_ptr<Op> clone_op(const Op& op) {
  auto copy = std::make_unique<Op>();
  copy->kind = op.kind;
  copy->operands = op.operands;
  copy->results = op.results;
  copy->attrs = op.attrs;
  copy->range = op.range;
  copy->regions.reserve(op.regions.size());
  for (const Region& region : op.regions) copy->regions.push_back(clone_region(region));
  return copy;
}

Kernel clone(const Kernel& kernel) {
  Kernel copy;
  copy.stage = kernel.stage;
  copy.signature = kernel.signature;
  copy.axes = kernel.axes;
  copy.values = kernel.values;
  copy.body = clone_region(kernel.body);
  copy.scalar_params = kernel.scalar_params;
  copy.config = kernel.config;
  copy.num_warps = kernel.num_warps;
  copy.guards = kernel.guards;
  copy.shared_buffers = kernel.shared_buffers;
  copy.plan = kernel.plan;
  copy.choices = kernel.choices;
  return copy;
}

bool is_access(OpKind kind) { return kind == OpKind::kLoad || kind == OpKind::kStore || kind == OpKind::kAtomic; }

bool is_elementwise(OpKind kind) {
  switch (kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kCast:
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kBroadcast:
    case OpKind::kPermute: return true;
    default: return false;
  }
}

AccessOperands access_operands(const Op& op) {
  AccessOperands out;
  const int count = static_cast<int>(op.operands.size());
  int first = 0;
  int last = count;
  auto at = [&](int position) {
    return position >= 0 && position < count ? op.operands[static_cast<size_t>(position)] : kNoValue;
  };
  if (op.kind != OpKind::kLoad) out.value = at(first++);
  if (op.kind == OpKind::kAtomic && op.str_attr("fn") == "cas") out.expected = at(first++);
  if (op.int_attr("other") != 0) out.other = at(--last);
  if (op.int_attr("masked") != 0) out.mask = at(--last);
  out.first_index = first;
  out.num_index = last - first;
  return out;
}

const OpInfo& op_info(OpKind kind) { return kOpInfos[static_cast<size_t>(kind)]; }

bool parse_op_kind(const std::string& text, OpKind* out) {
  for (size_t i = 0; i < std::size(kOpInfos); ++i) {
    if (text == kOpInfos[i].text) {
      *out = static_cast<OpKind>(i);
      return true;
    }
  }
  return false;
}

}  // namespace kaon::compiler
