// Making ops: operands checked, result types from the typing rules, regions opened and closed.
#include "compiler/ir/builder.h"

#include <utility>

#include "compiler/ir/type_rules.h"

namespace kaon::compiler {

void Builder::fail(const Op& op, const std::string& message) {
  if (status_) status_ = Status(Code::kInternal, std::string("builder: ") + op_info(op.kind).text + ": " + message);
}

bool Builder::check_operands(const Op& op) {
  for (ValueId operand : op.operands) {
    if (operand < 0 || operand >= static_cast<ValueId>(kernel_.values.size())) {
      fail(op, "operand " + std::to_string(operand) + " is no value of the kernel");
      return false;
    }
  }
  return true;
}

Op& Builder::insert(OpKind kind, std::vector<ValueId> operands) {
  auto op = std::make_unique<Op>();
  op->kind = kind;
  op->operands = std::move(operands);
  op->range = range_;
  Op& inserted = *op;
  region_->ops.insert(region_->ops.begin() + static_cast<ptrdiff_t>(position_), std::move(op));
  ++position_;
  return inserted;
}

ValueId Builder::add_result(Op& op, const Type& declared) {
  Type type = declared;
  if (check_operands(op)) {
    Result<Type> computed = result_type(kernel_, op, declared);
    if (computed)
      type = std::move(computed).value();
    else
      fail(op, computed.status().message());
  }
  op.results.push_back(kernel_.new_value(std::move(type)));
  return op.results.back();
}

ValueId Builder::int_const(DType dtype, int64_t value, std::vector<AxisId> axes) {
  Op& op = insert(OpKind::kConst);
  op.set_attr("value", value);
  return add_result(op, Type{dtype, std::move(axes)});
}

ValueId Builder::float_const(DType dtype, double value, std::vector<AxisId> axes) {
  Op& op = insert(OpKind::kConst);
  op.set_attr("value", value);
  return add_result(op, Type{dtype, std::move(axes)});
}

ValueId Builder::expr(Expr expr) {
  Op& op = insert(OpKind::kExpr);
  op.set_attr("expr", std::move(expr));
  return add_result(op, Type{DType::kI64, {}});
}

ValueId Builder::index(AxisId axis) {
  Op& op = insert(OpKind::kIndex);
  op.set_attr("axis", static_cast<int64_t>(axis));
  return add_result(op, Type{DType::kI64, {axis}});
}

ValueId Builder::axis_info(AxisId axis, const std::string& what) {
  Op& op = insert(OpKind::kAxisInfo);
  op.set_attr("axis", static_cast<int64_t>(axis));
  op.set_attr("what", what);
  return add_result(op, Type{DType::kI64, {}});
}

ValueId Builder::unary(UnaryFn fn, ValueId a) {
  Op& op = insert(OpKind::kUnary, {a});
  op.set_attr("fn", std::string(fn_text(fn)));
  return add_result(op, Type{});
}

ValueId Builder::binary(BinaryFn fn, ValueId a, ValueId b) {
  Op& op = insert(OpKind::kBinary, {a, b});
  op.set_attr("fn", std::string(fn_text(fn)));
  return add_result(op, Type{});
}

ValueId Builder::compare(CompareFn fn, ValueId a, ValueId b) {
  Op& op = insert(OpKind::kCompare, {a, b});
  op.set_attr("fn", std::string(fn_text(fn)));
  return add_result(op, Type{DType::kBool, {}});
}

ValueId Builder::select(ValueId condition, ValueId a, ValueId b) {
  return add_result(insert(OpKind::kSelect, {condition, a, b}), Type{});
}

ValueId Builder::cast(ValueId a, DType dtype) {
  if (a >= 0 && a < static_cast<ValueId>(kernel_.values.size()) && kernel_.type(a).dtype == dtype) return a;
  return add_result(insert(OpKind::kCast, {a}), Type{dtype, {}});
}

ValueId Builder::expand_dims(ValueId a, int dim) {
  Op& op = insert(OpKind::kExpandDims, {a});
  op.set_attr("dim", static_cast<int64_t>(dim));
  return add_result(op, Type{});
}

ValueId Builder::squeeze(ValueId a, int dim) {
  Op& op = insert(OpKind::kSqueeze, {a});
  op.set_attr("dim", static_cast<int64_t>(dim));
  return add_result(op, Type{});
}

ValueId Builder::broadcast(ValueId a, std::vector<AxisId> axes) {
  if (a >= 0 && a < static_cast<ValueId>(kernel_.values.size()) && kernel_.type(a).axes == axes) return a;
  return add_result(insert(OpKind::kBroadcast, {a}), Type{DType::kF32, std::move(axes)});
}

ValueId Builder::broadcast_to(ValueId a, const std::vector<AxisId>& axes) {
  const bool known = a >= 0 && a < static_cast<ValueId>(kernel_.values.size());
  for (size_t rank = known ? kernel_.type(a).axes.size() : axes.size(); rank < axes.size(); ++rank)
    a = expand_dims(a, 0);
  return broadcast(a, axes);
}

ValueId Builder::permute(ValueId a, std::vector<int64_t> perm) {
  Op& op = insert(OpKind::kPermute, {a});
  op.set_attr("perm", std::move(perm));
  return add_result(op, Type{});
}

std::vector<Indexer> Builder::indexers(const std::vector<Subscript>& index, std::vector<ValueId>* operands) {
  std::vector<Indexer> result;
  for (const Subscript& subscript : index) {
    Indexer indexer{subscript.kind, subscript.axis, -1};
    if (subscript.value != kNoValue) {
      indexer.operand = static_cast<int>(operands->size());
      operands->push_back(subscript.value);
    }
    result.push_back(indexer);
  }
  return result;
}

ValueId Builder::load(int tensor, const std::vector<Subscript>& index, ValueId mask, ValueId other) {
  std::vector<ValueId> operands;
  std::vector<Indexer> list = indexers(index, &operands);
  if (mask != kNoValue) operands.push_back(mask);
  if (other != kNoValue) operands.push_back(other);
  Op& op = insert(OpKind::kLoad, std::move(operands));
  op.set_attr("tensor", static_cast<int64_t>(tensor));
  op.set_attr("index", std::move(list));
  if (mask != kNoValue) op.set_attr("masked", int64_t{1});
  if (other != kNoValue) op.set_attr("other", int64_t{1});
  return add_result(op, Type{});
}

Op& Builder::store(int tensor, const std::vector<Subscript>& index, ValueId value, ValueId mask) {
  std::vector<ValueId> operands{value};
  std::vector<Indexer> list = indexers(index, &operands);
  if (mask != kNoValue) operands.push_back(mask);
  Op& op = insert(OpKind::kStore, std::move(operands));
  op.set_attr("tensor", static_cast<int64_t>(tensor));
  op.set_attr("index", std::move(list));
  if (mask != kNoValue) op.set_attr("masked", int64_t{1});
  if (check_operands(op)) {
    Status legal = check_store(kernel_, op);
    if (!legal) fail(op, legal.message());
  }
  return op;
}

ValueId Builder::atomic(int tensor, const std::vector<Subscript>& index, const std::string& fn,
                        const std::string& order, ValueId value, ValueId expected, ValueId mask) {
  std::vector<ValueId> operands{value};
  if (expected != kNoValue) operands.push_back(expected);
  std::vector<Indexer> list = indexers(index, &operands);
  if (mask != kNoValue) operands.push_back(mask);
  Op& op = insert(OpKind::kAtomic, std::move(operands));
  op.set_attr("tensor", static_cast<int64_t>(tensor));
  op.set_attr("index", std::move(list));
  op.set_attr("fn", fn);
  op.set_attr("order", order);
  if (mask != kNoValue) op.set_attr("masked", int64_t{1});
  return add_result(op, Type{});
}

ValueId Builder::reduce(ReduceFn fn, ValueId a, std::vector<int64_t> dims, bool keepdim) {
  Op& op = insert(OpKind::kReduce, {a});
  op.set_attr("fn", std::string(fn_text(fn)));
  op.set_attr("dims", std::move(dims));
  op.set_attr("keepdim", static_cast<int64_t>(keepdim));
  return add_result(op, Type{});
}

ValueId Builder::reduce_thread(ReduceFn fn, ValueId a, std::vector<int64_t> dims, Type result, Layout layout) {
  Op& op = insert(OpKind::kReduceThread, {a});
  op.set_attr("fn", std::string(fn_text(fn)));
  op.set_attr("dims", std::move(dims));
  const ValueId value = add_result(op, result);
  kernel_.layout(value) = std::move(layout);
  return value;
}

ValueId Builder::reduce_lanes(ReduceFn fn, ValueId a, std::vector<int64_t> dims, Type result, Layout layout) {
  Op& op = insert(OpKind::kReduceLanes, {a});
  op.set_attr("fn", std::string(fn_text(fn)));
  op.set_attr("dims", std::move(dims));
  const ValueId value = add_result(op, result);
  kernel_.layout(value) = std::move(layout);
  return value;
}

ValueId Builder::convert(ValueId a, Layout layout) {
  const ValueId value = add_result(insert(OpKind::kConvert, {a}), Type{});
  kernel_.layout(value) = std::move(layout);
  return value;
}

Op& Builder::shared_store(int buffer, ValueId a) {
  Op& op = insert(OpKind::kSharedStore, {a});
  op.set_attr("buffer", static_cast<int64_t>(buffer));
  check_operands(op);
  return op;
}

ValueId Builder::shared_load(int buffer, Type type, Layout layout) {
  Op& op = insert(OpKind::kSharedLoad);
  op.set_attr("buffer", static_cast<int64_t>(buffer));
  const ValueId value = add_result(op, type);
  kernel_.layout(value) = std::move(layout);
  return value;
}

Op& Builder::barrier() { return insert(OpKind::kBarrier); }

Op& Builder::begin(OpKind kind, std::vector<ValueId> operands, int num_regions) {
  Op& op = insert(kind, std::move(operands));
  op.regions.resize(static_cast<size_t>(num_regions));
  frames_.push_back(Frame{&op, region_, position_});
  region_ = &op.regions[0];
  position_ = 0;
  if (check_operands(op) && kind != OpKind::kIf) {
    for (ValueId init : op.operands) {
      op.regions[0].args.push_back(kernel_.new_value(Type(kernel_.type(init))));
      op.results.push_back(kernel_.new_value(Type(kernel_.type(init))));
    }
  }
  return op;
}

Op& Builder::begin_tile(const std::vector<AxisId>& axes, const std::vector<ValueId>& inits) {
  Op& op = begin(OpKind::kTile, inits, 1);
  op.set_attr("axes", std::vector<int64_t>(axes.begin(), axes.end()));
  return op;
}

Op& Builder::begin_grid(const std::vector<AxisId>& axes) {
  Op& op = begin(OpKind::kGrid, {}, 1);
  op.set_attr("axes", std::vector<int64_t>(axes.begin(), axes.end()));
  return op;
}

Op& Builder::begin_loop(AxisId axis, const std::vector<ValueId>& inits) {
  Op& op = begin(OpKind::kLoop, inits, 1);
  op.set_attr("axis", static_cast<int64_t>(axis));
  return op;
}

Op& Builder::begin_if(ValueId condition, const std::vector<Type>& results) {
  Op& op = begin(OpKind::kIf, {condition}, 2);
  for (const Type& type : results) op.results.push_back(kernel_.new_value(type));
  return op;
}

void Builder::add_yield(const std::vector<ValueId>& yields) {
  if (!yields.empty()) check_operands(insert(OpKind::kYield, yields));
}

void Builder::begin_else(const std::vector<ValueId>& yields) {
  add_yield(yields);
  if (frames_.empty() || frames_.back().op->kind != OpKind::kIf) {
    if (status_) status_ = Status(Code::kInternal, "builder: begin_else outside an if");
    return;
  }
  set_insertion(frames_.back().op->regions[1], 0);
}

void Builder::end(const std::vector<ValueId>& yields) {
  add_yield(yields);
  if (frames_.empty()) {
    if (status_) status_ = Status(Code::kInternal, "builder: end without a begin");
    return;
  }
  set_insertion(*frames_.back().region, frames_.back().position);
  frames_.pop_back();
}

}  // namespace kaon::compiler
