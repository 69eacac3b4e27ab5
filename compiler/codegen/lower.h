// The walk from a staged kernel to one LLVM function that every thread of the grid runs.
//
// A tile value is, in a thread, one LLVM scalar per register of its layout. bool is i1; f16, bf16 and the 8-bit floats
// are their bit patterns (i16, i8), because only the device functions may convert them; other types are LLVM's own.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "compiler/codegen/device_functions.h"
#include "compiler/ir/atomics.h"
#include "compiler/ir/functions.h"
#include "compiler/ir/ir.h"
#include "compiler/target/target.h"
#include "runtime/base/status.h"

namespace kaon::compiler::codegen {

using Registers = std::vector<llvm::Value*>;

/// Where a tile axis stands in its loop, or how far a full one reaches.
struct AxisState {
  llvm::Value* begin = nullptr;           // i64: coordinate of position 0, before the window shift is taken off
  llvm::Value* limit = nullptr;           // i32: a lane exists iff (position - origin - lowest), unsigned, is below it
  llvm::Value* lowest = nullptr;          // i32, or null for 0: used by shifted windows only
  llvm::Value* id = nullptr;              // i64: number of the tile (tile axes)
  std::vector<llvm::Value*> lane_limits;  // i32 per register of the lengths of a jagged axis: its limit for those lanes
};

/// 32-bit words, or one value of fewer bits.
using Words = llvm::SmallVector<llvm::Value*, 4>;

/// What the loads of one tile give, by vector.
using LoadedWords = std::vector<Words>;

struct Access;      // access.h
struct DotOperand;  // lower_dot.cpp

/// What guards one vector: whether some and whether all of its lanes exist (null: always). A vector that cannot be cut
/// has one value for both.
struct VectorGuard {
  llvm::Value* some = nullptr;
  llvm::Value* full = nullptr;
  bool can_be_cut() const { return some != full; }
};

/// What the lanes of a value that do not exist hold.
struct Missing {
  double value = 0;
  /// Not empty: they may hold NaN instead where a fold over exactly these dims is NaN whatever they hold, or folds
  /// nothing.
  std::vector<int64_t> unless_nan_over;
};

/// Vectors (by number) of which at most one is cut.
struct CutSet {
  std::vector<size_t> groups;
};

/// Where a device loop stands before a turn: the tile's first coordinate and number, i64, and what is carried.
struct LoopState {
  llvm::Value* position = nullptr;
  llvm::Value* number = nullptr;
  std::vector<Registers> carried;
};

/// Coordinates [begin, end) that a device loop walks by tiles; `step` and `direction` are negative from the end.
struct LoopRange {
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
  int64_t step = 0;
  int64_t direction = 1;
};

/// Phis of a loop's header, which take their second value at its end.
struct LoopHeader {
  llvm::BasicBlock* block = nullptr;
  LoopState state;
};

/// The branch that only threads with a cut vector take.
struct CutBlock {
  llvm::BasicBlock* before = nullptr;
  llvm::BasicBlock* done = nullptr;
};

class Lowering {
 public:
  Lowering(const Kernel& kernel, const Target& target, llvm::Module& module);
  /// Makes the kernel's function. kInternal, naming the op, for what no lowering exists.
  Status run(const std::string& symbol);

 private:
  // -- lower.cpp: the function, its parameters, constants, and the dispatch over ops
  void make_function(const std::string& symbol);
  void lower_region(const Region& region);
  void await_cluster();
  void lower_op(const Op& op);
  void lower_const(const Op& op);
  void fail(const Op& op, const std::string& message);
  void define(ValueId value, Registers registers) { values_[static_cast<size_t>(value)] = std::move(registers); }
  const Registers& registers(ValueId value) const { return values_[static_cast<size_t>(value)]; }
  llvm::Value* scalar(ValueId value) const { return registers(value).front(); }
  llvm::Type* element_type(DType dtype);
  llvm::Constant* int_constant(DType dtype, int64_t value);
  llvm::Constant* float_constant(DType dtype, double value);
  llvm::CallInst* call(DeviceFunction function, llvm::ArrayRef<llvm::Value*> operands, llvm::StringRef modifiers = "");
  llvm::Value* site() { return b_.getInt32(++num_sites_); }

  // -- lower_views.cpp: views that stay in their thread, and those between axes of one tile size
  void lower_pick(const Op& op);
  void lower_retile(const Op& op);
  void lower_merge(const Op& op);

  // -- lower_atomic.cpp
  struct AtomicKind {
    AtomicFn fn = AtomicFn::kAdd;
    MemoryOrder order = MemoryOrder::kRelaxed;
    DType dtype = DType::kF32;
    bool is_used = false;  // the old values
  };
  void lower_atomic(const Op& op);
  bool has_atomic(AtomicFn fn, DType dtype) const;
  /// The function for elements of 2, 4 or 8 bytes.
  llvm::Value* call_sized(const DeviceFunction (&functions)[3], DType dtype, llvm::ArrayRef<llvm::Value*> operands,
                          llvm::StringRef modifiers);
  llvm::Value* emit_atomic(const AtomicKind& kind, llvm::Value* address, llvm::Value* value, llvm::Value* expected);
  llvm::Function* atomic_loop(const AtomicKind& kind);
  llvm::Value* combine_atomic(const AtomicKind& kind, llvm::Value* old, llvm::Value* value);

  // -- lower_fold.cpp, lower_scan.cpp: tuples combined by a function of the author's
  /// One register of each member, and whether there is such a tuple: null for always. No members: none, ever.
  struct Tuple {
    Registers members;
    llvm::Value* valid = nullptr;
    bool is_none() const { return members.empty(); }
  };
  using Tuples = std::vector<Tuple>;  // by register
  /// Totals and prefixes of a scan step, by position on the other dims and on what is above the digit.
  struct ScanStep;
  Tuple combine_tuples(const Op& op, const Tuple& left, const Tuple& right);
  Tuple shuffle_tuple(const Op& op, const Tuple& tuple, uint32_t stride);
  Tuple select_tuple(llvm::Value* condition, const Tuple& a, const Tuple& b);
  llvm::Value* both(llvm::Value* a, llvm::Value* b) { return a && b ? b_.CreateAnd(a, b) : a ? a : b; }
  Tuples read_tuples(const Op& op, size_t first_operand, llvm::ArrayRef<llvm::Value*> valid);
  Registers read_flags(ValueId flag) const;
  Registers lanes_along(ValueId value, const std::vector<int64_t>& dims);
  void define_tuples(const Op& op, size_t first_result, const Tuples& tuples);
  ScanStep begin_scan_step(const Op& op);
  void finish_scan_step(const Op& op, const ScanStep& step);
  void lower_fold_thread(const Op& op);
  void lower_fold_lanes(const Op& op);
  void lower_scan_thread(const Op& op);
  void lower_scan_lanes(const Op& op);

  // -- lower_dot.cpp
  void lower_dot_shared(const Op& op);
  void lower_dot_store(const Op& op);
  std::map<uint32_t, Registers> read_dot_operand(const DotOperand& operand, llvm::Value* position, unsigned steps);
  llvm::Value* summed_positions(AxisId id);
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* b, llvm::Value* sum);
  llvm::Value* strided_base(int64_t buffer, const Layout& layout, const std::vector<int64_t>& strides, unsigned bytes,
                            int skip);
  Registers read_shared(llvm::Value* offset, DType dtype, unsigned count);
  void write_shared(llvm::Value* offset, DType dtype, llvm::ArrayRef<llvm::Value*> elements);

  // -- lower_while.cpp, lower_people.cpp
  void lower_while(const Op& op);
  void lower_assert(const Op& op);
  void lower_print(const Op& op);

  // -- lower_control.cpp: grid, loop, if
  void lower_grid(const Op& op);
  void lower_loop(const Op& op);
  LoopRange loop_range(const Op& op);
  LoopState loop_start(const Op& op, const LoopRange& range);
  /// i1: the turn that is `turns` behind the one at `position` is one of the loop's.
  llvm::Value* has_turn(const LoopRange& range, llvm::Value* position, int64_t turns = 0);
  LoopHeader begin_header(const LoopState& start, const char* name);
  void end_header(const LoopHeader& header, const LoopState& next);
  LoopState next_turn(const LoopRange& range, LoopState state);
  LoopState run_turn(const Op& op, const LoopRange& range, const LoopState& state);
  LoopState run_loop(const Op& op, const LoopRange& range, const LoopState& start, int64_t turns);
  void lower_if(const Op& op);
  void yield_to_phis(const Region& region, llvm::ArrayRef<std::vector<llvm::PHINode*>> phis);

  // -- lower_stages.cpp: loops whose loads are issued turns ahead
  using Fetched = std::vector<LoadedWords>;  // by load
  void lower_staged_loop(const Op& op);
  Fetched fetch_turn(const Op& op, const std::vector<const Op*>& slice, const LoopRange& range, const LoopState& state);

  // -- lower_axes.cpp: expressions over slots, coordinates, which lanes exist
  llvm::Value* slot(int index);
  llvm::Value* emit_expr(const Expr& expr);
  llvm::Value* axis_begin(const Axis& axis);
  llvm::Value* axis_end(const Axis& axis);
  void enter_tile(AxisId axis, llvm::Value* begin, llvm::Value* id);
  AxisState axis_state(AxisId axis);
  int64_t divisor_of(const Expr& expr) const;
  int64_t divisor_of_slot(int slot) const;
  /// i32: what lane and warp contribute to the position on dimension `dim`; in the entry block, kept.
  llvm::Value* thread_position(const Layout& layout, int dim);
  /// Position of register `reg` on `dim`, minus the window's shift: i32.
  llvm::Value* shifted_position(const Type& type, const Layout& layout, int dim, uint32_t reg);
  llvm::Value* origin_of(const Type& type, const Layout& layout, int dim, uint32_t reg);
  /// Register of `value`, whose axes are among the type's, for the same coordinates as register `reg`; -1: none.
  int register_beside(ValueId value, const Type& type, const Layout& layout, uint32_t reg) const;
  /// AxisState::limit of `dim` for the lanes of register `reg`: with a jagged axis those of its lengths, where the type
  /// has them.
  llvm::Value* limit_of(const Type& type, const Layout& layout, int dim, uint32_t reg);
  /// True when every position of the axis exists in every tile.
  bool axis_is_whole(AxisId axis, uint64_t capacity) const;
  /// Largest power of two such that aligned groups of so many positions exist together or not at all.
  int64_t axis_granule(AxisId axis) const;
  /// i1 (null: always) per register: the lane exists. Registers that exist together share one value. Dims of which
  /// `is_skipped` holds are not tested; the others may depend on them.
  Registers existence(const Type& type, const Layout& layout, const std::vector<bool>& is_skipped = {});
  void lower_index(const Op& op);
  void lower_axis_info(const Op& op);

  // -- lower_elementwise.cpp: unary, binary, compare, select, views
  void lower_unary(const Op& op);
  void lower_binary(const Op& op);
  void lower_compare(const Op& op);
  void lower_select(const Op& op);
  void lower_view(const Op& op);
  Registers divide_registers(DType dtype, const Registers& a, const Registers& b);
  llvm::Value* emit_binary(BinaryFn fn, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_float_binary(BinaryFn fn, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_int_binary(BinaryFn fn, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* emit_min_max(DType dtype, llvm::Value* a, llvm::Value* b, bool is_max);

  // -- lower_math.cpp: functions of floats, the same formulas for both targets
  llvm::Value* emit_unary(UnaryFn fn, DType dtype, llvm::Value* a);
  llvm::Value* emit_float_unary(UnaryFn fn, llvm::Value* a);
  llvm::Value* emit_pow(llvm::Value* a, llvm::Value* b);

  // -- lower_cast.cpp
  void lower_cast(const Op& op);
  Registers cast_registers(const Registers& from, DType from_type, DType to_type);
  llvm::Value* cast_value(llvm::Value* value, DType from, DType to);
  /// The type that arithmetic on `dtype` is done in: f32 for the short floats.
  static DType compute_type(DType dtype);
  llvm::Value* widen(llvm::Value* value, DType dtype) { return cast_value(value, dtype, compute_type(dtype)); }
  llvm::Value* narrow(llvm::Value* value, DType dtype) { return cast_value(value, compute_type(dtype), dtype); }
  llvm::Value* f64_to_f32_odd(llvm::Value* value);
  bool converts_pairs(DType from, DType to) const;
  llvm::Value* f32_pair_to(DType to, llvm::Value* low, llvm::Value* high);
  llvm::Value* e4m3_pair_to_f16(llvm::Value* low, llvm::Value* high);
  llvm::Value* f32_to_f8(llvm::Value* value, DType to);
  llvm::Value* f8_to_f32(llvm::Value* value, DType from);

  // -- lower_access.cpp, lower_memory.cpp: loads and stores
  bool analyse_access(const Op& op, Access& access);
  void make_base(Access& access, llvm::Value* pointer);
  llvm::Value* access_address(Access& access, uint32_t reg);
  llvm::Value* gathered_index(const Access& access, size_t dim, uint32_t reg);
  Registers access_masks(Access& access, int skip_dim);
  void lower_load(const Op& op);
  llvm::Constant* fill_of(const Access& access);
  LoadedWords issue_load(Access& access, const std::vector<std::vector<uint32_t>>& groups,
                         const std::vector<VectorGuard>& guards);
  LoadedWords fetch_ahead(const Op& op, llvm::Value* has_turn);
  void lower_store(const Op& op);
  Words load_words(const Access& access, llvm::Value* address, llvm::Value* mask, unsigned bytes,
                   llvm::ArrayRef<llvm::Value*> fill);
  void store_words(const Access& access, llvm::Value* address, llvm::Value* mask, llvm::ArrayRef<llvm::Value*> words,
                   unsigned bytes);

  // -- lower_edges.cpp: vectors that reach beyond what exists
  llvm::Value* vector_start(const Access& access, uint32_t reg);
  std::vector<VectorGuard> vector_guards(Access& access, const std::vector<std::vector<uint32_t>>& groups);
  std::vector<CutSet> cut_sets(const Access& access, const std::vector<std::vector<uint32_t>>& groups,
                               const std::vector<VectorGuard>& guards);
  llvm::Value* is_cut(const VectorGuard& guard);
  CutBlock begin_cut(const std::vector<VectorGuard>& guards);
  Registers cut_elements(const Access& access, const CutSet& set, const std::vector<std::vector<uint32_t>>& groups,
                         const std::vector<VectorGuard>& guards);
  void mend_cut_vectors(const Access& access, const std::vector<std::vector<uint32_t>>& groups,
                        const std::vector<VectorGuard>& guards, llvm::Constant* fill, std::vector<Words>& words);
  void store_cut_vectors(Access& access, const std::vector<std::vector<uint32_t>>& groups,
                         const std::vector<VectorGuard>& guards, const std::vector<Words>& words);

  // -- lower_missing.cpp: what lanes that do not exist hold
  void plan_fills();
  void propagate_missing(const Op& op);
  bool are_same(ValueId a, ValueId b) const;
  const Op* maximum_over(ValueId bound, ValueId value) const;
  bool holds_identity(const Op& op, ReduceFn fn) const;
  llvm::Value* identity_if_empty(const Op& op, llvm::Value* folded, llvm::Constant* identity);
  llvm::Constant* fill_bits(ValueId loaded, unsigned bytes);

  // -- lower_words.cpp: elements as 32-bit words, for vectors and shuffles
  Words to_words(llvm::ArrayRef<llvm::Value*> elements, DType dtype);
  Words memory_words(llvm::ArrayRef<llvm::Value*> elements, DType dtype);
  Registers from_words(llvm::ArrayRef<llvm::Value*> words, DType dtype, size_t count);
  void lower_reuse(const Op& op);
  llvm::Value* to_memory(llvm::Value* element, DType dtype);
  llvm::Value* from_memory(llvm::Value* bits, DType dtype);

  // -- lower_reduce.cpp, lower_shared.cpp: reductions and shared memory
  void lower_reduce_thread(const Op& op);
  void lower_reduce_lanes(const Op& op);
  llvm::Constant* identity(ReduceFn fn, DType dtype);
  llvm::Value* combine(ReduceFn fn, DType dtype, llvm::Value* a, llvm::Value* b);
  Registers without_missing(const Op& op, ReduceFn fn);
  void lower_shared_store(const Op& op);
  void lower_shared_load(const Op& op);
  llvm::Value* owner_condition(const Layout& layout);
  llvm::Value* shared_offset(const Op& op, const Layout& layout, DType dtype);

  const Kernel& kernel_;
  const Target& target_;
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::Value* thread_ = nullptr;       // KaonSimtThread*, null on a GPU
  llvm::Value* tid_ = nullptr;          // i32, in the entry block
  llvm::BasicBlock* entry_ = nullptr;   // only what every thread computes once
  std::vector<llvm::Value*> slots_;     // i64 each
  std::vector<Registers> values_;       // by ValueId
  std::vector<AxisState> axis_states_;  // tile axes: bound by the loop around; others: unused
  std::map<std::vector<std::array<uint32_t, 4>>, llvm::Value*> thread_positions_;
  std::map<ValueId, double> fills_;           // value that a load gives to lanes that do not exist
  std::map<ValueId, Missing> missing_;        // what those lanes hold, where known
  std::vector<const Op*> definitions_;        // by ValueId
  std::map<const Op*, LoadedWords> fetched_;  // what loads of the current turn were issued for turns ago
  uint32_t num_sites_ = 0;
  bool cluster_is_ready_ = true;  // every block of the cluster is known to run
  Status status_;
};

/// Finds registers by their part of the position on each dimension: what views and reductions ask.
class RegisterMap {
 public:
  /// `dims`: the dimensions that count; the others are ignored.
  RegisterMap(const Layout& layout, std::vector<int> dims);
  /// The first register with these parts on the dimensions, or -1.
  int find(const std::vector<uint64_t>& parts) const;
  static std::vector<uint64_t> parts_of(const Layout& layout, const std::vector<int>& dims, uint32_t reg);

 private:
  std::map<std::vector<uint64_t>, uint32_t> registers_;
};

/// Registers of a value's layout; 1 for a scalar.
inline uint32_t register_count(const Layout& layout) { return layout.empty() ? 1 : layout.num_registers(); }

}  // namespace kaon::compiler::codegen
