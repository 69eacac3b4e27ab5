// The body of a loop along a rolled axis: copies of what its roots need, partial results carried from tile to tile.
#include "compiler/passes/roll_loop.h"

#include <algorithm>
#include <limits>

#include "compiler/ir/builder.h"
#include "compiler/ir/combine.h"
#include "compiler/passes/chunk_body.h"

namespace kaon::compiler {

namespace {

/// Builder whose results have layouts: those of an operand or of a given tile.
class LaidOutBuilder {
 public:
  LaidOutBuilder(Kernel& kernel, Builder& builder) : kernel_(kernel), b_(builder) {}

  ValueId unary(UnaryFn fn, ValueId a) { return like(b_.unary(fn, a), a); }
  ValueId binary(BinaryFn fn, ValueId a, ValueId b) { return like(b_.binary(fn, a, b), a); }
  ValueId compare(CompareFn fn, ValueId a, ValueId b) { return like(b_.compare(fn, a, b), a); }
  ValueId select(ValueId c, ValueId a, ValueId b) { return like(b_.select(c, a, b), a); }
  ValueId float_splat(double value, ValueId shape) {
    const Type type = kernel_.type(shape);
    return like(b_.float_const(type.dtype, value, type.axes), shape);
  }
  /// `a` spread to the axes of `shape`.
  ValueId broadcast(ValueId a, ValueId shape) {
    const std::vector<AxisId> axes = kernel_.type(shape).axes;
    if (kernel_.type(a).axes == axes) return a;
    return like(b_.broadcast(a, axes), shape);
  }
  ValueId expand_dims(ValueId a, int dim) {
    const Layout layout = kernel_.layout(a).expand_dims(dim);
    return laid_out(b_.expand_dims(a, dim), layout);
  }
  ValueId laid_out(ValueId value, const Layout& layout) {
    kernel_.layout(value) = layout;
    return value;
  }
  ValueId like(ValueId value, ValueId shape) { return laid_out(value, Layout(kernel_.layout(shape))); }

 private:
  Kernel& kernel_;
  Builder& b_;
};

/// One carried reduction, or the pair of a maximum and the sum of exponentials below it.
struct Carried {
  const Op* root = nullptr;
  const Op* sum = nullptr;  // set for the pair
  ReduceFn fn = ReduceFn::kSum;
  PartialTile tile;
  std::vector<ValueId> inits, args, yields, results;
};

class LoopEmitter {
 public:
  LoopEmitter(Kernel& kernel, RollContext& context, Region& region, const std::vector<const Op*>& roots)
      : kernel_(kernel),
        context_(context),
        roots_(roots),
        builder_(kernel, region),
        laid_(kernel, builder_),
        body_(kernel, context, builder_, context.axis()) {}

  Status run() {
    builder_.set_range(roots_[0]->range);
    std::vector<ValueId> inits, needed;
    for (const Op* root : roots_) {
      plan_root(root);
      needed.insert(needed.end(), root->operands.begin(), root->operands.end());
    }
    body_.plan(needed);
    for (const Carried& carried : carried_) inits.insert(inits.end(), carried.inits.begin(), carried.inits.end());
    const std::vector<ValueId> scans = body_.inits();
    inits.insert(inits.end(), scans.begin(), scans.end());
    Op& loop = builder_.begin_loop(context_.axis(), inits);
    if (body_.walks_back()) loop.set_attr("reverse", int64_t{1});
    distribute(loop);
    for (Carried& carried : carried_) emit(&carried);
    emit_stores();
    std::vector<ValueId> yields;
    for (const Carried& carried : carried_) yields.insert(yields.end(), carried.yields.begin(), carried.yields.end());
    for (const ValueId value : body_.yields()) yields.push_back(value);
    builder_.end(yields);
    for (Carried& carried : carried_) finish(carried);
    if (!body_.status()) return body_.status();
    return builder_.status();
  }

 private:
  void plan_root(const Op* root) {
    if (is_effect(*root)) return;
    const Op* maximum = context_.online_partner(*root);
    for (Carried& carried : carried_) {
      if (carried.root == maximum && maximum != nullptr && carried.sum == nullptr) {
        carried.sum = root;
        carried.inits.push_back(identity_const(builder_, ReduceFn::kSum, carried.tile));
        return;
      }
    }
    Carried carried;
    carried.root = root;
    parse_fn(root->str_attr("fn"), &carried.fn);
    if (root->kind == OpKind::kDot) {
      carried.tile = {kernel_.type(root->result()), kernel_.layout(root->result())};
      carried.inits.push_back(root->operands.size() > 2 ? root->operands[2]
                                                        : identity_const(builder_, ReduceFn::kSum, carried.tile));
      carried_.push_back(std::move(carried));
      return;
    }
    if (root->kind == OpKind::kReduceThread || root->kind == OpKind::kFoldThread) {
      carried.tile = {kernel_.type(root->result()), kernel_.layout(root->result())};
    } else {
      carried.tile = context_.partials().fold(root->operands[0], root->ints_attr("dims"), Where::kRegister);
    }
    if (is_folding(root->kind)) {
      carried.inits = nothing_yet(carried);
    } else {
      carried.inits.push_back(identity_const(builder_, carried.fn, carried.tile));
    }
    carried_.push_back(std::move(carried));
  }

  /// Gives the loop's arguments and results to the reductions that carry them.
  void distribute(Op& loop) {
    size_t next = 0;
    for (Carried& carried : carried_) {
      for (size_t i = 0; i < carried.inits.size(); ++i, ++next) {
        carried.args.push_back(loop.regions[0].args[next]);
        // A result that needs no finishing is the root's own.
        if (needs_no_finish(carried)) loop.results[next] = carried.root->results[i];
        carried.results.push_back(loop.results[next]);
        kernel_.layout(carried.args.back()) = carried.tile.layout;
        kernel_.layout(carried.results.back()) = carried.tile.layout;
      }
    }
    std::vector<ValueId> scans;
    for (; next < loop.results.size(); ++next) {
      scans.push_back(loop.regions[0].args[next]);
      kernel_.layout(scans.back()) = kernel_.layout(loop.operands[next]);
      kernel_.layout(loop.results[next]) = kernel_.layout(loop.operands[next]);
    }
    body_.set_arguments(scans);
  }

  bool needs_no_finish(const Carried& carried) const {
    if (is_folding(carried.root->kind)) return carried.root->kind == OpKind::kFoldThread;
    return carried.sum == nullptr && carried.tile.type == kernel_.type(carried.root->result());
  }

  /// The value that stands for `value` in the loop's body: values along the axis are computed anew there.
  ValueId copy(ValueId value) { return body_.copy(value); }

  /// All that is stored is computed before the first store: an output may be the very tensor that a value is read from.
  void emit_stores() {
    for (const Op* root : roots_) {
      for (const ValueId operand : root->operands) {
        if (is_effect(*root)) copy(operand);
      }
    }
    for (const Op* root : roots_) {
      if (!is_effect(*root)) continue;
      std::vector<ValueId> operands;
      for (const ValueId operand : root->operands) operands.push_back(copy(operand));
      Op& op = builder_.insert(root->kind, std::move(operands));
      op.attrs = root->attrs;
      op.range = root->range;
      for (const ValueId old : root->results) {
        const ValueInfo info = kernel_.values[static_cast<size_t>(old)];
        op.results.push_back(kernel_.new_value(info.type, info.name));
        kernel_.layout(op.results.back()) = info.layout;
      }
    }
  }

  ValueId fold(ReduceFn fn, ValueId value, const Carried& carried) {
    return builder_.reduce_thread(fn, value, carried.root->ints_attr("dims"), carried.tile.type, carried.tile.layout);
  }

  void emit(Carried* carried) {
    if (is_folding(carried->root->kind)) return emit_fold(carried);
    carried->sum == nullptr ? emit_plain(carried) : emit_online(carried);
  }

  void finish(const Carried& carried) {
    if (is_folding(carried.root->kind)) return finish_fold(carried);
    carried.sum == nullptr ? finish_plain(carried) : finish_online(carried);
  }

  DType member_dtype(const Op& fold, size_t i) const {
    return i < tuple_size(fold) ? kernel_.type(fold.operands[i]).dtype : DType::kBool;
  }

  /// Zeros that a flag says not to count.
  std::vector<ValueId> nothing_yet(const Carried& carried) {
    std::vector<ValueId> out;
    for (size_t i = 0; i <= tuple_size(*carried.root); ++i) {
      const ValueId zero = builder_.int_const(member_dtype(*carried.root, i), 0, carried.tile.type.axes);
      out.push_back(laid_.laid_out(zero, carried.tile.layout));
    }
    return out;
  }

  /// A chunk's tuples fold in each thread, with a flag whether there were any, and are combined with those before.
  void emit_fold(Carried* carried) {
    const Op& root = *carried->root;
    const size_t size = tuple_size(root);
    std::vector<ValueId> operands, part;
    for (const ValueId operand : root.operands) operands.push_back(copy(operand));
    Op& op = builder_.insert(OpKind::kFoldThread, std::move(operands));
    op.range = root.range;
    op.set_attr("dims", root.ints_attr("dims"));
    if (root.int_attr("flagged") != 0) op.set_attr("flagged", int64_t{1});
    op.regions.push_back(copy_combine(kernel_, root.regions[0]));
    for (size_t i = 0; i <= size; ++i) {
      part.push_back(kernel_.new_value(Type{member_dtype(root, i), carried->tile.type.axes}));
      kernel_.layout(part.back()) = carried->tile.layout;
    }
    op.results = part;
    std::vector<ValueId> before = carried->args;
    const ValueId before_flag = before.back(), part_flag = part.back();
    before.pop_back();
    part.pop_back();
    carried->yields = combine_valid_tiles(builder_, root.regions[0], before, before_flag, part, part_flag);
  }

  void finish_fold(const Carried& carried) {
    if (needs_no_finish(carried)) return;
    const Op& root = *carried.root;
    Op& op = builder_.insert(OpKind::kFold, carried.results);
    op.range = root.range;
    op.set_attr("dims", root.ints_attr("dims"));
    op.set_attr("keepdim", root.int_attr("keepdim"));
    op.set_attr("flagged", int64_t{1});
    op.regions.push_back(copy_combine(kernel_, root.regions[0]));
    op.results = root.results;
  }

  void emit_plain(Carried* carried) {
    if (carried->root->kind == OpKind::kDot) {
      const std::vector<ValueId> operands = {copy(carried->root->operands[0]), copy(carried->root->operands[1]),
                                             carried->args[0]};
      Op& op = builder_.insert(OpKind::kDot, operands);
      op.range = carried->root->range;
      carried->yields.push_back(laid_.laid_out(builder_.add_result(op, carried->tile.type), carried->tile.layout));
      return;
    }
    const ValueId part = fold(carried->fn, copy(carried->root->operands[0]), *carried);
    carried->yields.push_back(laid_.binary(combining_fn(carried->fn), carried->args[0], part));
  }

  /// Per thread: the running maximum m, and the sum of exp(x - m) rescaled whenever m grows. While every x was -inf, m
  /// is -inf and x - m is no number; 0 in its place makes those exponentials 0.
  void emit_online(Carried* carried) {
    const UnaryFn exp = exponential_of(*carried->sum);
    const ValueId x = copy(carried->root->operands[0]);
    const ValueId old_max = carried->args[0];
    const ValueId new_max = laid_.binary(BinaryFn::kMax, old_max, fold(ReduceFn::kMax, x, *carried));
    const ValueId lowest = laid_.float_splat(-std::numeric_limits<double>::infinity(), new_max);
    const ValueId none_yet = laid_.compare(CompareFn::kEq, new_max, lowest);
    const ValueId finite = laid_.select(none_yet, laid_.float_splat(0, new_max), new_max);
    const ValueId terms = laid_.unary(exp, laid_.binary(BinaryFn::kSub, x, laid_.broadcast(finite, x)));
    const ValueId part = fold(ReduceFn::kSum, terms, *carried);
    const ValueId same = laid_.compare(CompareFn::kEq, old_max, new_max);
    const ValueId factor = laid_.unary(exp, laid_.binary(BinaryFn::kSub, old_max, new_max));
    const ValueId scale = laid_.select(same, laid_.float_splat(1, new_max), factor);
    const ValueId sum = laid_.binary(BinaryFn::kAdd, laid_.binary(BinaryFn::kMul, carried->args[1], scale), part);
    carried->yields = {new_max, sum};
  }

  UnaryFn exponential_of(const Op& sum) const {
    UnaryFn fn = UnaryFn::kExp;
    parse_fn(context_.definition(sum.operands[0])->str_attr("fn"), &fn);
    return fn;
  }

  /// Folds carried partial results across threads into the value that `root` defined.
  void finish_as(const Op& root, ReduceFn fn, ValueId partial) {
    Op& op = builder_.insert(OpKind::kReduce, {partial});
    op.set_attr("fn", std::string(fn_text(fn)));
    op.set_attr("dims", root.ints_attr("dims"));
    op.set_attr("keepdim", root.int_attr("keepdim"));
    op.results = {root.result()};
  }

  void finish_plain(const Carried& carried) {
    if (!needs_no_finish(carried)) finish_as(*carried.root, carried.fn, carried.results[0]);
  }

  /// Threads rescale their sums from their own maximum to the row's. A thread that saw nothing has maximum -inf and sum
  /// 0: exp(-inf - finite) * 0 is 0. A row of -inf alone gives NaN, as exp(-inf - -inf) does; an empty row has sum 0.
  void finish_online(const Carried& carried) {
    const Op& maximum = *carried.root;
    finish_as(maximum, ReduceFn::kMax, carried.results[0]);
    ValueId row_max = maximum.result();
    if (maximum.int_attr("keepdim") == 0) {
      row_max = laid_.expand_dims(row_max, static_cast<int>(maximum.ints_attr("dims")[0]));
    }
    const ValueId own = carried.results[0];
    const ValueId distance = laid_.binary(BinaryFn::kSub, own, laid_.broadcast(row_max, own));
    const ValueId scale = laid_.unary(exponential_of(*carried.sum), distance);
    const ValueId scaled = laid_.binary(BinaryFn::kMul, carried.results[1], scale);
    finish_as(*carried.sum, ReduceFn::kSum, zero_if_empty(scaled));
  }

  ValueId zero_if_empty(ValueId value) {
    const Axis axis = kernel_.axis(context_.axis());
    int64_t extent = 0;
    if (axis.extent_value == kNoValue && axis.extent.is_constant(&extent) && extent > 0) return value;
    const Layout scalar({}, static_cast<uint32_t>(kernel_.num_warps));
    auto scalar_value = [&](ValueId v) { return laid_.laid_out(v, scalar); };
    const ValueId count = axis.extent_value != kNoValue ? axis.extent_value : scalar_value(builder_.expr(axis.extent));
    const ValueId zero = scalar_value(builder_.int_const(DType::kI64, 0));
    ValueId empty = scalar_value(builder_.compare(CompareFn::kLe, count, zero));
    for (int i = 0; i < kernel_.type(value).rank(); ++i) empty = laid_.expand_dims(empty, 0);
    return laid_.select(laid_.broadcast(empty, value), laid_.float_splat(0, value), value);
  }

  Kernel& kernel_;
  RollContext& context_;
  const std::vector<const Op*>& roots_;
  Builder builder_;
  LaidOutBuilder laid_;
  ChunkBody body_;
  std::vector<Carried> carried_;
};

}  // namespace

Status emit_rolled_loop(Kernel& kernel, RollContext& context, Region& region, const std::vector<const Op*>& roots) {
  return LoopEmitter(kernel, context, region, roots).run();
}

}  // namespace kaon::compiler
