// The IR: one op set in three verified stages, from tiles without a layout to per-thread registers and barriers.
//
// MEANING. A kernel body runs once per program of its grid. A value is a tile: an element type and an ordered list of
// axes; a scalar is a tile without axes. Values are SSA: defined once, used only after and inside the region of the
// definition. Ops run in order; a pure op has no effect but its result.
//
// AXES AND MASKS. A lane of a tile exists iff its coordinate on every axis lies within that axis's logical range.
// Lanes that do not exist have no value: no op's result on existing lanes depends on them, reductions skip them, and
// stores do not write them. A store also skips lanes outside its destination's own extent. Nobody writes masks.
//
// ARITHMETIC. Every op computes at its result's element type: f16 and bf16 round after each op; integers wrap; float
// division, sqrt and casts are IEEE round-to-nearest-even (exp, log and friends: error stated in math.h of codegen);
// float to integer casts truncate toward zero and saturate, NaN gives 0. min/max/reduce min/max propagate NaN.
// Integer `floordiv` and `mod` floor, as Python's; division by zero gives 0.
//
// STAGES.
//   kLogical   what the program means; loops are `tile`; no layout. The interpreter runs this stage.
//              After map_grid, the outermost tiles are one `grid` and inner ones are `loop`.
//   kLaidOut   every tile value has a Layout; changes of layout are explicit `convert` ops.
//   kStaged    reductions and conversions are taken apart into thread, lane and shared-memory steps with barriers.
//
// OPS (attributes in braces; T = result's element type).
//   const {value}                          splat of a number; result type any
//   expr {expr}                            scalar i64: an integer expression over the call's slots
//   index {axis}                           i64[axis]: the coordinate of each lane
//   axis_info {axis, what}                 scalar i64; what = begin | end | id | block_size | count
//   unary {fn} a                           fn of functions.inc; same axes
//   binary {fn} a b                        fn of functions.inc; a, b, result: same axes and dtype
//   compare {fn} a b                       eq ne lt le gt ge; a, b same type; result bool
//   select c a b                           c bool, same axes everywhere
//   cast a                                 same axes, other dtype
//   expand_dims {dim} a                    a unit axis at position dim
//   squeeze {dim} a                        drops the unit axis at position dim
//   broadcast a                            unit axes become the result's axes; ranks are equal. A static axis of partial
//                                          results may become the axis it came from: each thread spreads its own
//   permute {perm} a                       result axis i is operand axis perm[i]
//   retile {dim} a                         the axis of dim becomes another of the same tile size, position by position
//                                          (a block axis and the tile axis that runs by it); lanes that the result's axis
//                                          lacks are left out, those that only it has are undefined
//   merge old new                          new where the lane exists in new, else old; result: old's type; their axes are
//                                          the same or, position by position, of one tile size
//   reshape a                              row-major regrouping of static axes; the other axes stay, in order, and the
//                                          product of static extents between them is the same on both sides
//   slice {dim, [begin]} a [begin]         lane p of the result's axis of dim is lane begin + p of a's; begin is the attribute
//                                          or the scalar i64 operand; the result's lanes must exist in a
//   concat {dim} a...                      the operands one after the other along dim; extents add up
//   pick {registers} a...                  result register i is register registers[2i+1] of operand registers[2i]: a view
//                                          whose lanes all stay in their thread
//   load {tensor, index, [vector, edge, evict, masked, other]} operands... [mask [other]]     see Indexer, AccessOperands
//   store {tensor, index, [vector, edge, evict, masked]} value operands... [mask]
//   atomic {tensor, index, fn, order, [masked]} value [expected] operands... [mask]   fn = add min max and or xor xchg cas;
//                                          order = relaxed acquire release acq_rel; gives the old values; lanes that do not
//                                          exist or are masked off do nothing and have no old value; replicas do it once
//   reduce {fn, dims, keepdim} a           fn = sum prod max min; dims are positions; keepdim leaves unit axes
//   fold {dims, keepdim, [flagged]} a... [flag] : combine   folds tuples by the region, whose arguments are the scalars
//                                          of a left and of a right tuple and which yields one; associative and
//                                          commutative. The bool tile flag says which lanes count. Of nothing: zeros
//   scan {dim, reverse, [totals]} a... : combine   inclusive prefixes of tuples along dim; associative, order is kept: the
//                                          left tuple is that of the earlier positions, of the later ones in reverse. With
//                                          totals, results go on with the tuple of all lanes, a unit axis at dim, and a
//                                          bool whether there was any
//   dot a b [acc]                          a [..., m, k], b [..., k, n], acc and result [..., m, n]; k is missing where it does
//                                          not exist in a; sums in f32 (f64 for f64, i32 for integers of 8 bits)
//   tile {axes} inits... : region(args...) loop nest over tile axes; yields become args and results
//   grid {axes} : region()                 one program per point of the axes' tiles, last axis fastest
//   loop {axis, [extra, reverse]} inits... : region(args...) device loop over one tile axis, by its block, while its begin
//                                          is below the axis's end + extra (0; a shifted window needs vector - 1 more); in
//                                          reverse the same tiles from the last
//   if c : then, else                      scalar bool c; yields give results
//   while inits... : test(args...), body(args...)   body while test yields true; body's yields become the next args
//   assert {message, [file, line]} c       a checked build stops, with place, if an existing lane of c is false
//   print {text} values...                 one line for each program, written by the owner of each lane
//   convert a                              same type, other layout
//   reuse {slot, round} a                  a itself, but nothing computed from it is taken to equal what was computed from
//                                          a: registers hold a, and what follows is computed anew. slot: an extent of at
//                                          most 31 bits by a guard, whose high half is the zero that hides a. Rounds of
//                                          one value differ
//   reduce_thread {fn, dims} a             folds the register digits of dims, missing lanes as fn's identity; a dim whose
//                                          lane or warp digits are left becomes a static axis of partial results, no
//                                          lane of which is missing, else a unit axis
//   reduce_lanes {fn, dims} a              folds the lane digits of dims by butterfly shuffles; result in every lane
//   fold_thread, fold_lanes {dims, [flagged]} a... [flag] : combine   fold over the register or lane digits of dims, which
//                                          stay as with reduce_thread; a flag is the last result
//   scan_thread, scan_lanes {dim, reverse, [digit, first]} p... pf t... tf : combine   digit by digit of p's dim, least
//                                          significant first: prefixes and their flag take in the totals of the digit's
//                                          smaller (reverse: larger) values; t, the totals of the digits below, are held
//                                          by digit and those above, the results' by those above. A register or warp digit
//                                          of p needs t's in registers, a lane digit in lanes. first: only p, of which t is
//                                          a copy, flags are the lanes that exist; no digit
//   dot_shared {a, b, ...} [acc]           dot of two tiles in shared buffers; its attributes: dot_rules.h
//   shared_store {buffer, [strides, offset, zero]} a   the owner of each element writes it: position p of each dim at element
//                                          offset + sum of p * strides, by default row-major by position. With strides, lanes
//                                          that do not exist are not written; with zero, those missing on these dims are 0
//   shared_load {buffer, [strides, offset]} [begin]   reads a tile of the result's type and layout, likewise; a scalar i64
//                                          operand adds to the offset. With strides, lanes that do not exist read nothing
//   barrier                                all threads of the block
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compiler/layout/layout.h"
#include "compiler/support/source.h"
#include "runtime/base/config.h"
#include "runtime/base/dtype.h"
#include "runtime/base/expr.h"
#include "runtime/base/signature.h"
#include "runtime/base/variant.h"

namespace kaon::compiler {

enum class Stage : uint8_t { kLogical, kLaidOut, kStaged };

using ValueId = int32_t;
using AxisId = int32_t;
constexpr ValueId kNoValue = -1;
constexpr AxisId kUnitAxis = -1;  // an axis of extent 1 that broadcasts

enum class OpKind : uint8_t {
#define KAON_OP(enumerator, text, operands, results, regions, first, last, pure) enumerator,
#include "compiler/ir/ops.inc"
#undef KAON_OP
};

enum class AxisKind : uint8_t {
  kTile,    // lanes of a tile loop: coordinate = the loop's current begin + position, exists while < end
  kFull,    // a whole dimension or slice, named by ':': coordinate = position, exists while < extent
  kStatic,  // a constant extent: arange, full, partial results of a reduction
};

/// An index space that lanes live in. Two axes of the same kernel are the same space iff they have the same id.
struct Axis {
  std::string name;                 // unique in the kernel; names its knobs: block.<name>, reduce.<name>
  AxisKind kind = AxisKind::kFull;
  Expr begin;                       // kTile: first coordinate
  Expr extent;                      // kTile: end of the range (exclusive); kFull, kStatic: number of coordinates
  ValueId begin_value = kNoValue;   // scalar i64 that overrides begin when the bound is data
  ValueId extent_value = kNoValue;  // scalar i64 that overrides extent when the bound is data
  int64_t fixed_block = 0;          // kTile: block size written in the source, or 0
  // kTile whose block is registered under a name of its own: the static axis of that tile size. kUnitAxis: none.
  AxisId block_axis = kUnitAxis;
  // Jagged kTile: lane k exists only where k < lengths, an i64 tile over other tile axes; in a value that lacks one of
  // those, where k < the loop's own end (extent_value), the greatest length. kNoValue: none.
  ValueId lengths = kNoValue;
  // Chosen by the config (0 until then):
  int64_t block = 0;                // kTile: tile size. kFull: capacity, at least the extent by a guard. kStatic: padded extent
  // Window shift (kFull, or a kTile that walks one): positions start `origin` before coordinate 0, so that vectors are
  // aligned although the row is not. Scalar or tile i64 value over other axes, 0 <= origin < vector. kNoValue: none.
  ValueId origin = kNoValue;
};

struct Type {
  DType dtype = DType::kF32;
  std::vector<AxisId> axes;
  bool is_scalar() const { return axes.empty(); }
  int rank() const { return static_cast<int>(axes.size()); }
  friend bool operator==(const Type& a, const Type& b) { return a.dtype == b.dtype && a.axes == b.axes; }
  friend bool operator!=(const Type& a, const Type& b) { return !(a == b); }
};

/// How one dimension of a tensor is addressed by a load or store.
struct Indexer {
  enum class Kind : uint8_t {
    kAxis,    // by the coordinate of `axis`, plus scalar operand `operand` if >= 0 (a slice's begin)
    kScalar,  // by scalar operand `operand`
    kTile,    // by index tile operand `operand` (gather, scatter); its axes join the result's
  };
  Kind kind = Kind::kAxis;
  AxisId axis = kUnitAxis;
  int operand = -1;  // position in Op::operands
  friend bool operator==(const Indexer& a, const Indexer& b) {
    return a.kind == b.kind && a.axis == b.axis && a.operand == b.operand;
  }
};

struct Op;

/// Which operands of a load, store or atomic are what. In order: value, expected, those that indexers read, mask, other.
struct AccessOperands {
  ValueId value = kNoValue;     // store, atomic
  ValueId expected = kNoValue;  // atomic with fn = cas
  ValueId mask = kNoValue;      // bool tile of the access's axes: lanes that exist but are left out
  ValueId other = kNoValue;     // load: what lanes that are masked off hold; without it 0
  int first_index = 0;          // positions in Op::operands of those that indexers read
  int num_index = 0;
};
AccessOperands access_operands(const Op& op);
/// load, store, atomic.
bool is_access(OpKind kind);
/// Pure ops of which each element of the result follows from one element of each operand: arithmetic, casts, and views that
/// move no data between axes.
bool is_elementwise(OpKind kind);

using Attr = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<Indexer>, Expr>;

struct Region {
  std::vector<ValueId> args;
  std::vector<std::unique_ptr<Op>> ops;
};

struct Op {
  OpKind kind = OpKind::kConst;
  std::vector<ValueId> operands;
  std::vector<ValueId> results;
  std::vector<std::pair<std::string, Attr>> attrs;  // in the order written; names are unique
  std::vector<Region> regions;
  SourceRange range;  // place in the .tile file, for diagnostics and --checked

  ValueId result() const { return results.empty() ? kNoValue : results[0]; }
  const Attr* find_attr(const std::string& name) const;
  void set_attr(const std::string& name, Attr value);
  int64_t int_attr(const std::string& name, int64_t fallback = 0) const;
  std::string str_attr(const std::string& name, const std::string& fallback = "") const;
  const std::vector<int64_t>& ints_attr(const std::string& name) const;      // must exist
  const std::vector<Indexer>& index_attr(const std::string& name) const;     // must exist
};

struct ValueInfo {
  Type type;
  Layout layout;      // stages kLaidOut and kStaged
  std::string name;   // source name for printing, may be empty
};

struct SharedBuffer {
  std::string name;
  uint32_t bytes = 0;
  uint32_t offset = 0;  // from the start of dynamic shared memory, 16-byte aligned
};

struct KernelChoices;

/// One kernel with its generics and constexpr parameters bound: what each stage of the compiler reads and writes.
struct Kernel {
  Stage stage = Stage::kLogical;
  Signature signature;
  std::vector<Axis> axes;
  std::vector<ValueInfo> values;
  Region body;                       // no args
  std::vector<ValueId> scalar_params;  // one value per signature.scalars

  // Filled by passes, carried to the variant:
  Config config;
  int num_warps = 0;  // of a program: of all blocks of its cluster
  std::vector<Guard> guards;
  std::vector<SharedBuffer> shared_buffers;
  LaunchPlan plan;
  std::shared_ptr<const KernelChoices> choices;  // other bodies that the config may choose (choices.h); null for none

  ValueId new_value(Type type, std::string name = {});
  AxisId new_axis(Axis axis);
  const Type& type(ValueId v) const { return values[static_cast<size_t>(v)].type; }
  Layout& layout(ValueId v) { return values[static_cast<size_t>(v)].layout; }
  const Layout& layout(ValueId v) const { return values[static_cast<size_t>(v)].layout; }
  Axis& axis(AxisId a) { return axes[static_cast<size_t>(a)]; }
  const Axis& axis(AxisId a) const { return axes[static_cast<size_t>(a)]; }
};

/// Deep copy; the one way to keep a kernel while passes change another.
Kernel clone(const Kernel& kernel);
std::unique_ptr<Op> clone_op(const Op& op);

struct OpInfo {
  const char* text;
  int operands, results, regions;
  Stage first, last;
  bool pure;
};
const OpInfo& op_info(OpKind kind);
bool parse_op_kind(const std::string& text, OpKind* out);

}  // namespace kaon::compiler
