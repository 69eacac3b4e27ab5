// How ops are made: one typed function per op, which checks its operands and computes the type of its result.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/functions.h"
#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// One dimension's address for Builder::load and store, which number the operands themselves.
struct Subscript {
  Indexer::Kind kind = Indexer::Kind::kAxis;
  AxisId axis = kUnitAxis;
  ValueId value = kNoValue;

  /// The coordinates of `axis`, moved by scalar `begin` if there is one.
  static Subscript along(AxisId axis, ValueId begin = kNoValue) { return {Indexer::Kind::kAxis, axis, begin}; }
  /// One coordinate, a scalar integer.
  static Subscript at(ValueId scalar) { return {Indexer::Kind::kScalar, kUnitAxis, scalar}; }
  /// Coordinates read from an integer tile: a gather or scatter.
  static Subscript gather(ValueId tile) { return {Indexer::Kind::kTile, kUnitAxis, tile}; }
};

/// Makes ops at an insertion point. A misuse is a bug of the caller: status() keeps the first as kInternal, the result
/// is still some value, so that callers check once at their end (and the verifier does again).
/// Must not outlive the kernel; regions that it inserts into must not move.
class Builder {
 public:
  /// Inserts at the end of the kernel's body.
  explicit Builder(Kernel& kernel) : kernel_(kernel), region_(&kernel.body), position_(kernel.body.ops.size()) {}
  Builder(Kernel& kernel, Region& region) : kernel_(kernel), region_(&region), position_(region.ops.size()) {}
  Builder(Kernel& kernel, Region& region, size_t position) : kernel_(kernel), region_(&region), position_(position) {}

  Kernel& kernel() { return kernel_; }
  const Status& status() const { return status_; }
  /// The next op is inserted before `region.ops[position]`; ops after it follow in order.
  void set_insertion(Region& region, size_t position) { region_ = &region, position_ = position; }
  Region& region() { return *region_; }
  size_t position() const { return position_; }
  /// Place in the source of the ops that follow.
  void set_range(SourceRange range) { range_ = range; }
  SourceRange range() const { return range_; }

  /// Splats: of an integer (any dtype) or of a float (float dtypes).
  ValueId int_const(DType dtype, int64_t value, std::vector<AxisId> axes = {});
  ValueId float_const(DType dtype, double value, std::vector<AxisId> axes = {});
  ValueId expr(Expr expr);
  ValueId index(AxisId axis);
  ValueId axis_info(AxisId axis, const std::string& what);

  ValueId unary(UnaryFn fn, ValueId a);
  ValueId binary(BinaryFn fn, ValueId a, ValueId b);
  ValueId compare(CompareFn fn, ValueId a, ValueId b);
  ValueId select(ValueId condition, ValueId a, ValueId b);
  /// `a` itself when it has that dtype.
  ValueId cast(ValueId a, DType dtype);

  ValueId expand_dims(ValueId a, int dim);
  ValueId squeeze(ValueId a, int dim);
  /// Unit axes of `a` become those of `axes`; `a` itself when there is nothing to do.
  ValueId broadcast(ValueId a, std::vector<AxisId> axes);
  /// `a` of any lower rank, aligned at the last axes as in NumPy: unit axes are put in front, then broadcast.
  ValueId broadcast_to(ValueId a, const std::vector<AxisId>& axes);
  ValueId permute(ValueId a, std::vector<int64_t> perm);

  /// Lanes where `mask` is false hold `other`, by default 0. Both have the axes of the access.
  ValueId load(int tensor, const std::vector<Subscript>& index, ValueId mask = kNoValue, ValueId other = kNoValue);
  Op& store(int tensor, const std::vector<Subscript>& index, ValueId value, ValueId mask = kNoValue);
  /// The old values. `expected` for fn = cas alone.
  ValueId atomic(int tensor, const std::vector<Subscript>& index, const std::string& fn, const std::string& order,
                 ValueId value, ValueId expected = kNoValue, ValueId mask = kNoValue);

  ValueId reduce(ReduceFn fn, ValueId a, std::vector<int64_t> dims, bool keepdim);
  ValueId reduce_thread(ReduceFn fn, ValueId a, std::vector<int64_t> dims, Type result, Layout layout);
  ValueId reduce_lanes(ReduceFn fn, ValueId a, std::vector<int64_t> dims, Type result, Layout layout);
  ValueId convert(ValueId a, Layout layout);
  Op& shared_store(int buffer, ValueId a);
  ValueId shared_load(int buffer, Type type, Layout layout);
  Op& barrier();

  /// Ops with regions: begin_* makes the op and moves the insertion point into its (first) region, whose arguments have
  /// the types of `inits`; end() writes the yield and moves back behind the op. They nest.
  Op& begin_tile(const std::vector<AxisId>& axes, const std::vector<ValueId>& inits = {});
  Op& begin_grid(const std::vector<AxisId>& axes);
  Op& begin_loop(AxisId axis, const std::vector<ValueId>& inits = {});
  Op& begin_if(ValueId condition, const std::vector<Type>& results = {});
  /// Ends the first branch of the innermost `if` with `yields` and begins the second.
  void begin_else(const std::vector<ValueId>& yields = {});
  void end(const std::vector<ValueId>& yields = {});

  /// A bare op at the insertion point, with no check; the functions above are made of it.
  Op& insert(OpKind kind, std::vector<ValueId> operands = {});
  /// Adds a result to `op`, of the type its typing rule gives; `declared` answers what the rule leaves open.
  ValueId add_result(Op& op, const Type& declared);

 private:
  struct Frame {
    Op* op;
    Region* region;     // that holds op
    size_t position;    // behind op
  };
  bool check_operands(const Op& op);
  void fail(const Op& op, const std::string& message);
  Op& begin(OpKind kind, std::vector<ValueId> operands, int num_regions);
  void add_yield(const std::vector<ValueId>& yields);
  std::vector<Indexer> indexers(const std::vector<Subscript>& index, std::vector<ValueId>* operands);

  Kernel& kernel_;
  Region* region_;
  size_t position_;
  SourceRange range_;
  Status status_;
  std::vector<Frame> frames_;
};

}  // namespace kaon::compiler
