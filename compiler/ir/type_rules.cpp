// The typing rule of each op.
#include "compiler/ir/type_rules.h"

#include <algorithm>
#include <cctype>

#include "compiler/ir/atomics.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/bug.h"
#include "compiler/ir/dot_rules.h"
#include "compiler/ir/functions.h"
#include "compiler/ir/updates.h"
#include "compiler/ir/view_rules.h"

namespace kaon::compiler {
namespace {

std::string article_count(size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

/// Operand types and texts of one op, so that the rules below read as rules.
class Rules {
 public:
  Rules(const Kernel& kernel, const Op& op, const Type& declared) : kernel_(kernel), op_(op), declared_(declared) {}

  Result<Type> result() const {
    const int expected = op_info(op_.kind).operands;
    if (expected >= 0 && static_cast<int>(op_.operands.size()) != expected) {
      return bug("expected " + article_count(static_cast<size_t>(expected), "operand") + ", got " +
                 std::to_string(op_.operands.size()));
    }
    switch (op_.kind) {
      case OpKind::kConst: return constant();
      case OpKind::kExpr: return expr();
      case OpKind::kIndex: return index();
      case OpKind::kAxisInfo: return axis_info();
      case OpKind::kUnary: return unary();
      case OpKind::kBinary: return binary();
      case OpKind::kCompare: return compare();
      case OpKind::kSelect: return select();
      case OpKind::kCast: return Type{declared_.dtype, type(0).axes};
      case OpKind::kExpandDims: return expand_dims();
      case OpKind::kSqueeze: return squeeze();
      case OpKind::kBroadcast: return broadcast();
      case OpKind::kPermute: return permute();
      case OpKind::kRetile: return retile();
      case OpKind::kMerge: return merge();
      case OpKind::kReshape: return reshape_type(kernel_, op_, declared_);
      case OpKind::kSlice: return slice_type(kernel_, op_, declared_);
      case OpKind::kConcat: return concat_type(kernel_, op_, declared_);
      case OpKind::kPick: return pick_type(kernel_, op_, declared_);
      case OpKind::kLoad: return load();
      case OpKind::kAtomic: return atomic_type(kernel_, op_);
      case OpKind::kReduce:
      case OpKind::kReduceThread:
      case OpKind::kReduceLanes: return reduce();
      case OpKind::kDot: return dot_type(kernel_, op_);
      case OpKind::kDotShared: return dot_shared();
      case OpKind::kConvert: return type(0);
      case OpKind::kReuse: return reuse();
      case OpKind::kSharedLoad: return buffer_op(declared_);
      default: return bug(std::string(op_info(op_.kind).text) + " has no single result");
    }
  }

 private:
  const Type& type(size_t operand) const { return kernel_.type(op_.operands[operand]); }
  std::string text(size_t operand) const { return type_text(kernel_, type(operand)); }
  static Type scalar_i64() { return Type{DType::kI64, {}}; }

  template <typename T>
  const T* attr(const char* name) const {
    const Attr* found = op_.find_attr(name);
    return found ? std::get_if<T>(found) : nullptr;
  }

  Result<Type> constant() const {
    if (attr<int64_t>("value") || (attr<double>("value") && dtype_is_float(declared_.dtype))) return declared_;
    return bug(std::string("attribute value: expected ") +
               (dtype_is_float(declared_.dtype) ? "a number" : "an integer"));
  }

  Result<Type> reuse() const {
    const int64_t* slot = attr<int64_t>("slot");
    const int64_t* round = attr<int64_t>("round");
    const int64_t first = kernel_.signature.dim_slot(0);
    const int64_t end = first + static_cast<int64_t>(kernel_.signature.dims.size());
    if (!slot || *slot < first || *slot >= end) return bug("attribute slot: expected the slot of an extent");
    if (!round || *round < 0) return bug("attribute round: expected a number from 0");
    return type(0);
  }

  Result<Type> dot_shared() const {
    KAON_RETURN_IF_ERROR(check_dot_shared(kernel_, op_, declared_));
    return declared_;
  }

  Result<Type> expr() const {
    const Expr* expr = attr<Expr>("expr");
    if (!expr) return bug("attribute expr: expected an expression");
    Status valid = validate(expr->view(), kernel_.signature.num_slots());
    if (!valid) return bug("attribute expr: " + valid.message());
    return scalar_i64();
  }

  Result<AxisId> axis_attr() const {
    const int64_t* axis = attr<int64_t>("axis");
    if (!axis || *axis < 0 || *axis >= static_cast<int64_t>(kernel_.axes.size())) {
      return bug("attribute axis: expected an axis of the kernel");
    }
    return static_cast<AxisId>(*axis);
  }

  Result<Type> index() const {
    KAON_ASSIGN_OR_RETURN(AxisId axis, axis_attr());
    return Type{DType::kI64, {axis}};
  }

  Result<Type> axis_info() const {
    KAON_ASSIGN_OR_RETURN(AxisId axis, axis_attr());
    static const char* const kKnown[] = {"begin", "end", "id", "block_size", "count"};
    const std::string what = op_.str_attr("what");
    if (std::find(std::begin(kKnown), std::end(kKnown), what) == std::end(kKnown)) {
      return bug("attribute what: expected begin, end, id, block_size or count, got \"" + what + "\"");
    }
    const bool is_position = what == "id" || what == "block_size" || what == "count";
    if (is_position && kernel_.axis(axis).kind != AxisKind::kTile) {
      return bug("axis " + kernel_.axis(axis).name + " is no tile axis and has no " + what);
    }
    return scalar_i64();
  }

  template <typename Fn>
  Status function_of(DType dtype, Fn* fn) const {
    const std::string name = op_.str_attr("fn");
    if (!parse_fn(name, fn)) return bug("attribute fn: \"" + name + "\" is no function of " + op_info(op_.kind).text);
    const std::string expected = why_illegal_operand(*fn, dtype);
    if (!expected.empty()) return bug(name + ": expected " + expected + ", got " + dtype_name(dtype));
    return Status::ok();
  }

  Result<Type> unary() const {
    UnaryFn fn;
    KAON_RETURN_IF_ERROR(function_of(type(0).dtype, &fn));
    return Type{unary_result_dtype(fn, type(0).dtype), type(0).axes};
  }

  Result<Type> binary() const {
    BinaryFn fn;
    KAON_RETURN_IF_ERROR(function_of(type(0).dtype, &fn));
    if (type(0) != type(1)) return bug(std::string(fn_text(fn)) + ": operands differ, " + text(0) + " and " + text(1));
    return type(0);
  }

  Result<Type> compare() const {
    CompareFn fn;
    KAON_RETURN_IF_ERROR(function_of(type(0).dtype, &fn));
    if (type(0) != type(1)) return bug(std::string(fn_text(fn)) + ": operands differ, " + text(0) + " and " + text(1));
    return Type{DType::kBool, type(0).axes};
  }

  Result<Type> select() const {
    const Type condition{DType::kBool, type(1).axes};
    if (type(0) != condition) {
      return bug("condition: expected " + type_text(kernel_, condition) + ", got " + text(0));
    }
    if (type(1) != type(2)) return bug("alternatives differ, " + text(1) + " and " + text(2));
    return type(1);
  }

  Result<size_t> dim_attr(size_t limit) const {
    const int64_t* dim = attr<int64_t>("dim");
    if (!dim || *dim < 0 || *dim >= static_cast<int64_t>(limit)) {
      return bug("attribute dim: expected 0 to " + std::to_string(static_cast<int64_t>(limit) - 1) + " for " + text(0) +
                 (dim ? ", got " + std::to_string(*dim) : ", got none"));
    }
    return static_cast<size_t>(*dim);
  }

  Result<Type> expand_dims() const {
    KAON_ASSIGN_OR_RETURN(size_t dim, dim_attr(type(0).axes.size() + 1));
    Type result = type(0);
    result.axes.insert(result.axes.begin() + static_cast<ptrdiff_t>(dim), kUnitAxis);
    return result;
  }

  Result<Type> squeeze() const {
    KAON_ASSIGN_OR_RETURN(size_t dim, dim_attr(type(0).axes.size()));
    Type result = type(0);
    if (result.axes[dim] != kUnitAxis) {
      return bug("dim " + std::to_string(dim) + " of " + text(0) + " is no unit axis");
    }
    result.axes.erase(result.axes.begin() + static_cast<ptrdiff_t>(dim));
    return result;
  }

  Result<Type> broadcast() const {
    const Type wanted{type(0).dtype, declared_.axes};
    const std::string to = type_text(kernel_, wanted);
    if (wanted.rank() != type(0).rank()) return bug("ranks differ, " + text(0) + " to " + to);
    for (size_t i = 0; i < wanted.axes.size(); ++i) {
      const bool spreads_partials = kernel_.stage != Stage::kLogical && is_static(type(0), i);
      if (type(0).axes[i] != kUnitAxis && type(0).axes[i] != wanted.axes[i] && !spreads_partials) {
        return bug("dim " + std::to_string(i) + " of " + text(0) + " is no unit axis and cannot become that of " + to);
      }
    }
    return wanted;
  }

  Result<Type> permute() const {
    const auto* perm = attr<std::vector<int64_t>>("perm");
    const size_t rank = type(0).axes.size();
    std::vector<int64_t> sorted = perm ? *perm : std::vector<int64_t>();
    std::sort(sorted.begin(), sorted.end());
    bool legal = perm && sorted.size() == rank;
    for (size_t i = 0; legal && i < rank; ++i) legal = sorted[i] == static_cast<int64_t>(i);
    if (!legal) return bug("attribute perm: expected each dim of " + text(0) + " once");
    Type result = type(0);
    for (size_t i = 0; i < rank; ++i) result.axes[i] = type(0).axes[static_cast<size_t>((*perm)[i])];
    return result;
  }

  Result<Type> retile() const {
    KAON_ASSIGN_OR_RETURN(size_t dim, dim_attr(type(0).axes.size()));
    Type result = type(0);
    const AxisId to = dim < declared_.axes.size() ? declared_.axes[dim] : kUnitAxis;
    if (to == kUnitAxis || !correspond(kernel_, result.axes[dim], to)) {
      return bug("dim " + std::to_string(dim) + " of " + text(0) + " has another tile size than that of " +
                 type_text(kernel_, declared_));
    }
    result.axes[dim] = to;
    return result;
  }

  Result<Type> merge() const {
    bool fits = type(0).dtype == type(1).dtype && type(0).rank() == type(1).rank();
    for (size_t i = 0; fits && i < type(0).axes.size(); ++i) {
      fits = correspond(kernel_, type(0).axes[i], type(1).axes[i]);
    }
    return fits ? Result<Type>(type(0)) : bug("old and new value do not correspond, " + text(0) + " and " + text(1));
  }

  Result<Type> load() const {
    KAON_ASSIGN_OR_RETURN(std::vector<AxisId> axes, indexed_axes(kernel_, op_));
    const auto tensor = static_cast<size_t>(op_.int_attr("tensor"));
    return Type{kernel_.signature.tensors[tensor].dtype, std::move(axes)};
  }

  Result<Type> reduce() const {
    ReduceFn fn;
    KAON_RETURN_IF_ERROR(function_of(type(0).dtype, &fn));
    const auto* dims = attr<std::vector<int64_t>>("dims");
    if (!dims || dims->empty()) return bug("attribute dims: expected at least one dim of " + text(0));
    std::vector<bool> folded(type(0).axes.size(), false);
    for (int64_t dim : *dims) {
      if (dim < 0 || dim >= type(0).rank() || folded[static_cast<size_t>(dim)]) {
        return bug("attribute dims: expected distinct dims of " + text(0) + ", got " + std::to_string(dim));
      }
      folded[static_cast<size_t>(dim)] = true;
    }
    // A step of a reduction folds a dim to a unit axis, or to the static axis of the partial results that are left.
    const bool is_step = op_.kind != OpKind::kReduce;
    const bool keep = is_step || op_.int_attr("keepdim") != 0;
    Type result{type(0).dtype, {}};
    for (size_t i = 0; i < folded.size(); ++i) {
      if (!folded[i]) result.axes.push_back(type(0).axes[i]);
      if (folded[i] && keep) result.axes.push_back(is_step && is_static(declared_, i) ? declared_.axes[i] : kUnitAxis);
    }
    return result;
  }

  bool is_static(const Type& type, size_t dim) const {
    return dim < type.axes.size() && type.axes[dim] >= 0 && kernel_.axis(type.axes[dim]).kind == AxisKind::kStatic;
  }

  Result<Type> buffer_op(const Type& result) const {
    const int64_t* buffer = attr<int64_t>("buffer");
    if (!buffer || *buffer < 0 || *buffer >= static_cast<int64_t>(kernel_.shared_buffers.size())) {
      return bug("attribute buffer: expected one of " + article_count(kernel_.shared_buffers.size(), "shared buffer"));
    }
    return result;
  }

  const Kernel& kernel_;
  const Op& op_;
  const Type& declared_;
};

/// Checks one indexer and appends the axes it contributes.
Status append_indexed(const Kernel& kernel, const Op& op, size_t dim, std::vector<AxisId>* axes) {
  const Indexer& indexer = op.index_attr("index")[dim];
  const std::string where = "index of dim " + std::to_string(dim) + ": ";
  const AccessOperands operands = access_operands(op);
  const bool needs_operand = indexer.kind != Indexer::Kind::kAxis;
  if (needs_operand || indexer.operand >= 0) {
    if (indexer.operand < operands.first_index || indexer.operand >= operands.first_index + operands.num_index) {
      return bug(where + "no operand " + std::to_string(indexer.operand));
    }
    const Type& type = kernel.type(op.operands[static_cast<size_t>(indexer.operand)]);
    const bool wants_tile = indexer.kind == Indexer::Kind::kTile;
    if (!dtype_is_int(type.dtype) || type.is_scalar() == wants_tile) {
      return bug(where + "expected " + (wants_tile ? "an integer tile" : "a scalar integer") + ", got " +
                 type_text(kernel, type));
    }
  }
  auto append = [&](AxisId axis) {
    if (std::find(axes->begin(), axes->end(), axis) == axes->end()) axes->push_back(axis);
  };
  if (indexer.kind == Indexer::Kind::kAxis) {
    if (indexer.axis < 0 || indexer.axis >= static_cast<AxisId>(kernel.axes.size())) {
      return bug(where + "expected an axis of the kernel");
    }
    append(indexer.axis);
  } else if (indexer.kind == Indexer::Kind::kTile) {
    for (AxisId axis : kernel.type(op.operands[static_cast<size_t>(indexer.operand)]).axes) {
      if (axis == kUnitAxis) return bug(where + "an index tile has no unit axes; squeeze or broadcast it");
      append(axis);
    }
  }
  return Status::ok();
}

}  // namespace

std::string axes_text(const Kernel& kernel, const std::vector<AxisId>& axes) {
  std::string text = "[";
  for (size_t i = 0; i < axes.size(); ++i) {
    if (i > 0) text += ", ";
    const bool known = axes[i] >= 0 && axes[i] < static_cast<AxisId>(kernel.axes.size());
    text += axes[i] == kUnitAxis ? "1" : known ? kernel.axis(axes[i]).name : "?" + std::to_string(axes[i]);
  }
  return text + "]";
}

std::string type_text(const Kernel& kernel, const Type& type) {
  return dtype_name(type.dtype) + (type.is_scalar() ? "" : axes_text(kernel, type.axes));
}

Result<Type> result_type(const Kernel& kernel, const Op& op, const Type& declared) {
  return Rules(kernel, op, declared).result();
}

Result<std::vector<AxisId>> indexed_axes(const Kernel& kernel, const Op& op) {
  const Attr* tensor = op.find_attr("tensor");
  const int64_t* position = tensor ? std::get_if<int64_t>(tensor) : nullptr;
  if (!position || *position < 0 || *position >= kernel.signature.num_tensors()) {
    return bug("attribute tensor: expected one of " + article_count(kernel.signature.tensors.size(), "tensor"));
  }
  const TensorParam& param = kernel.signature.tensors[static_cast<size_t>(*position)];
  const Attr* index = op.find_attr("index");
  if (!index || !std::get_if<std::vector<Indexer>>(index)) return bug("attribute index: expected a list of indexers");
  const size_t rank = op.index_attr("index").size();
  if (rank != param.extents.size()) {
    return bug("tensor " + param.name + " has rank " + std::to_string(param.extents.size()) + ", got " +
               article_count(rank, "indexer"));
  }
  std::vector<AxisId> axes;
  for (size_t dim = 0; dim < rank; ++dim) KAON_RETURN_IF_ERROR(append_indexed(kernel, op, dim, &axes));
  return axes;
}

Status check_store(const Kernel& kernel, const Op& op) {
  if (op.operands.empty()) return bug("expected a value to store, got no operand");
  KAON_ASSIGN_OR_RETURN(std::vector<AxisId> axes, indexed_axes(kernel, op));
  const TensorParam& param = kernel.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))];
  if (!param.is_output) return bug("tensor " + param.name + " is an input");
  if (is_update(op)) {
    BinaryFn fn;
    if (!parse_fn(op.str_attr("fn"), &fn)) return bug("no function " + op.str_attr("fn"));
    const std::string takes = why_illegal_operand(fn, param.dtype);
    if (!takes.empty()) return bug(op.str_attr("fn") + " takes " + takes + ", got " + dtype_name(param.dtype));
    for (const Indexer& indexer : op.index_attr("index")) {
      if (indexer.kind == Indexer::Kind::kTile)
        return bug("an update by an index tile, which may name an element twice");
    }
  }
  const Type expected{param.dtype, std::move(axes)};
  const Type& got = kernel.type(op.operands[0]);
  if (got != expected) {
    return bug("value: expected " + type_text(kernel, expected) + ", got " + type_text(kernel, got));
  }
  return Status::ok();
}

bool is_plain_name(const std::string& name) {
  if (name.empty() || (!std::isalpha(static_cast<unsigned char>(name[0])) && name[0] != '_')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  });
}

}  // namespace kaon::compiler
