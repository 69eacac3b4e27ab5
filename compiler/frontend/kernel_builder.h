// Checks a kernel's body under one binding of its generics and builds its logical IR in the same walk.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/ast.h"
#include "compiler/frontend/signature_builder.h"
#include "compiler/frontend/value.h"
#include "compiler/ir/atomics.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/ir.h"
#include "compiler/support/diagnostics.h"

namespace kaon::compiler {

class KernelBuilder {
 public:
  KernelBuilder(const ast::File& file, const ast::Kernel& source, const DTypeBinding& dtypes, SignatureFacts facts,
                Diagnostics* diagnostics);

  /// The kernel with `body` at stage kLogical; meaningless after an error, which was reported. kInternal is a bug of
  /// the front end.
  Result<Kernel> run(const std::vector<ast::Statement>& body);

 private:
  struct Binding {
    Value value;
    SourceRange range;  // unknown for what the head declares
    bool is_var = false;
    bool used = false;
    int loop_depth = 0;
  };
  using Scope = std::map<std::string, Binding>;
  struct Note {
    SourceRange range;
    std::string message;
  };
  struct AxisRange {
    std::optional<HostInt> begin, end;  // of tile axes, where the host knows them
    std::string length;                 // of a part that the device cuts: what was asked for, in normal form
  };
  /// What a slice asks for: bounds in normal form, with the values that they are where the host does not know them.
  struct SliceBounds {
    std::optional<HostInt> begin, end;                     // where the host knows them
    ValueId begin_value = kNoValue, end_value = kNoValue;  // where it does not
    bool is_on_device() const { return begin_value != kNoValue || end_value != kNoValue; }
  };
  struct DeviceLength {
    std::string text;                 // end - begin, in normal form
    std::optional<int64_t> constant;  // if it is one
  };
  /// One operand of an operator with its source, for messages and for its conversion.
  struct Operand {
    Value value;
    const ast::Expression* node = nullptr;
  };
  struct CallSite {
    const ast::Function* function;
    SourceRange range;
  };
  /// How large tiles are: a number of the source, a registered block, or neither.
  struct TileSize {
    int64_t fixed = 0;
    AxisId block = kUnitAxis;
  };
  struct Builtin;
  /// Where a load, store or atomic reaches, and the axes of what is there as its author sees them (unit axes included).
  struct Place {
    std::vector<Subscript> index;
    std::vector<AxisId> axes;
  };
  using Items = std::vector<const ast::Expression*>;  // of one subscript

  // Names and messages: kernel_builder.cpp.
  Value fail(SourceRange range, const std::string& message, const std::vector<Note>& notes = {});
  void declare_head();
  Binding* find(const std::string& name);
  bool declare(const ast::Name& name, Value value, bool is_var);
  void push_scope() { scopes_.emplace_back(); }
  void pop_scope();
  void warn_unused_inputs();
  bool too_large(SourceRange range);

  // Statements: statements.cpp.
  void statements(const std::vector<ast::Statement>& body);
  void one_statement(const ast::Statement& statement);
  void let_statement(const ast::Statement& statement);
  void declare_value(const ast::Name& name, Value value, bool is_var);
  void assignment(const ast::Statement& statement);
  void assign_variable(const ast::Statement& statement);
  void store(const ast::Statement& statement);
  // Updates of outputs: updates.cpp.
  std::optional<BinaryFn> update_function(const ast::Statement& statement, const TensorParam& param);
  void check_update(const ast::Statement& statement, const Op& op);
  void for_statement(const ast::Statement& statement);
  void register_block(const ast::Statement& statement);
  bool use_block(const ast::Expression& node, const Value& block);
  void unrolled_loop(const ast::Statement& statement);
  bool tile_axes(const ast::Statement& statement, std::vector<AxisId>* axes);
  AxisId tile_axis(const ast::Name& variable, const ast::Expression* begin, const ast::Expression* end, TileSize size);
  bool tile_bound(const ast::Expression& node, std::optional<HostInt>* host, ValueId* value);
  bool tile_blocks(const ast::Expression& call, size_t count, std::vector<TileSize>* sizes);
  // jagged.cpp: loops over rows of different lengths. The last two report, where a value along a jagged axis lacks one
  // of the axes that its lengths run over, or would after folding `dims`.
  bool jagged_axis(const ast::Statement& statement, std::vector<AxisId>* axes);
  std::optional<ValueId> jagged_lengths(const ast::Expression& node);
  void warn_longest_row(const ast::Expression& bound);
  bool lacks_parent(SourceRange range, const std::string& what, const std::vector<AxisId>& axes);
  bool folds_parent(SourceRange range, const std::string& text, const std::vector<AxisId>& axes,
                    const std::vector<int64_t>& dims);
  std::vector<std::string> carried_variables(const ast::Statement& statement);
  void loop_body(const ast::Statement& statement, const std::vector<AxisId>& axes,
                 const std::vector<std::string>& carried);
  std::optional<ValueId> to_variable_type(const Binding& variable, const std::string& name, Value value,
                                          const ast::Expression& node);

  // Branches and loops by a condition: branches.cpp.
  void if_statement(const ast::Statement& statement);
  void while_statement(const ast::Statement& statement);
  std::optional<Value> condition(const ast::Statement& statement);
  void branch(const std::vector<ast::Statement>& body, const std::vector<std::string>& carried,
              std::vector<ValueId>* yields);
  bool carried_values(const std::vector<std::string>& carried, std::vector<ValueId>* values);
  void set_carried(const std::vector<std::string>& carried, const std::vector<ValueId>& values);
  void mark_used(const std::vector<ast::Statement>& body);
  void mark_used(const ast::Expression* node);

  // Expressions: expressions.cpp.
  Value expression(const ast::Expression& node);
  Value name(const ast::Expression& node);
  Value member(const ast::Expression& node);
  Value unary(const ast::Expression& node);
  Value binary(ast::TokenKind op, SourceRange op_range, const Operand& a, const Operand& b);
  Value fold_literals(ast::TokenKind op, SourceRange op_range, const Operand& a, const Operand& b);
  Value compare(CompareFn fn, SourceRange op_range, const Operand& a, const Operand& b);
  static ast::TokenKind operator_of(ast::TokenKind assignment);
  static BinaryFn assigned_function(ast::TokenKind assignment, bool on_floats);
  Value known_bool(bool truth);
  std::optional<bool> compare_constants(CompareFn fn, const Value& a, const Value& b) const;
  Value emit_binary(BinaryFn fn, const std::string& text, SourceRange range, const Operand& a, const Operand& b);
  std::optional<int64_t> constant(const ast::Expression& node, const char* what);
  std::optional<bool> flag(const ast::Expression& node, const char* what);

  // Types and shapes: conversions.cpp.
  bool require_number(const Operand& operand);
  const Type& type_of(const Value& value);
  /// The IR value: an expr op for what the host knows, a constant for a literal without a type (i64 or f32).
  ValueId materialise(const Value& value);
  ValueId literal_as(const Value& literal, DType dtype, SourceRange range, const std::vector<AxisId>& axes = {});
  std::optional<ValueId> as_index(const Operand& operand);
  /// Gives all operands one element type and one list of axes, or reports why not; `text` names what combines them.
  bool unify(const std::string& text, SourceRange range, const std::vector<Operand>& operands,
             std::vector<ValueId>* out);
  bool common_dtype(const std::string& text, SourceRange range, const std::vector<Operand>& operands, DType* out);
  /// Broadcasts `values` to common axes. kNoValue stands for a literal, which becomes a splat of `dtype`.
  bool common_axes(const std::string& text, SourceRange range, const std::vector<Operand>& operands, DType dtype,
                   std::vector<ValueId>* values);
  ValueId spread(ValueId value, const std::vector<AxisId>& axes);
  bool spreads_to(const std::vector<AxisId>& from, const std::vector<AxisId>& to) const;
  std::string describe(const Value& value);
  std::string describe_axis(AxisId axis);
  std::string mend_for_axes(const std::vector<AxisId>& a, const std::vector<AxisId>& b);
  std::string mend_for_meeting(AxisId a, AxisId b);
  bool reject_storage_type(const std::string& text, const Operand& operand);

  // Axes: kernel_builder.cpp.
  AxisId whole_axis(const HostInt& extent, int occurrence, AxisKind kind);
  std::string unique_axis_name(const std::string& wanted);
  bool is_natural(const HostInt& value) const;

  // Tensors and views: subscripts.cpp.
  Value subscript(const ast::Expression& node);
  Value load(const ast::Expression& node, const Value& tensor);
  Value view(const ast::Expression& node, const Value& base);
  bool place_of(const Items& items, SourceRange focus, const Value& tensor, bool is_store, Place* out);
  bool subscript_item(const ast::Expression& item, const Value& tensor, size_t dim, bool is_store,
                      std::vector<Subscript>* out);
  bool tile_subscript(const ast::Expression& item, const Value& variable, const Value& tensor, size_t dim,
                      bool is_store, std::vector<Subscript>* out);
  bool slice_subscript(const ast::Expression& item, const Value& tensor, size_t dim, bool is_store,
                       std::vector<Subscript>* out);
  bool scalar_subscript(const ast::Expression& item, const Value& value, const Value& tensor, size_t dim,
                        std::vector<Subscript>* out);
  int occurrences(const std::vector<Subscript>& subscripts, const HostInt& extent);

  // Tuples and inlined functions: functions.cpp.
  Value tuple(const ast::Expression& node);
  Value tuple_item(const ast::Expression& node, const Value& tuple);
  Value function_named(const std::string& name);
  Value inline_call(const ast::Function& function, const ast::Expression& node);
  Value inline_function(const ast::Function& function, std::vector<Value> arguments, SourceRange call);
  /// The function that `node` names, a `fn` or one of the language; an error, which was reported, for anything else.
  Value function_argument(const ast::Expression& node, const std::string& usage);
  /// Calls `function` on `arguments` within the region being built: one number, a tuple, or an error that was reported.
  /// Messages point to `range` and into the function.
  Value apply_function(const Value& function, std::vector<Value> arguments, SourceRange range);
  // Index tiles, and values between a place's axes and its op's: places.cpp.
  bool join_axes(const Items& items, Place* place);
  bool common_index_axes(const Items& items, const Place& place, std::vector<AxisId>* axes);
  std::vector<AxisId> op_axes(const Place& place);
  ValueId to_place(ValueId value, const Place& place);
  ValueId from_place(ValueId loaded, const Place& place);
  std::optional<ValueId> value_at(const Operand& operand, const Value& tensor, const Place& place, SourceRange target);

  // load(...), store(...): memory_calls.cpp.
  std::optional<Value> tensor_argument(const ast::Expression& node, const char* usage);
  bool place_argument(const ast::Expression& node, const Value& tensor, bool is_store, Place* out);
  bool mask_argument(const ast::Expression& node, const Place& place, ValueId* mask);
  bool is_output(const Value& tensor, SourceRange range);
  bool is_readable(const Value& tensor, SourceRange range);
  Value load_call(const ast::Expression& node);
  Value store_call(const ast::Expression& node);
  Value atomic_call(const ast::Expression& node);
  bool is_atomic_target(const Value& tensor, AtomicFn fn, SourceRange range);
  bool order_argument(const ast::Expression& node, MemoryOrder* order);
  // print(...), assert(...), rand(...): people_calls.cpp, random_calls.cpp.
  Value print_call(const ast::Expression& node);
  Value assert_call(const ast::Expression& node);
  Value random_call(const ast::Expression& node);
  std::optional<std::vector<ValueId>> random_counter(const ast::Expression& node, size_t first);
  void call_statement(const ast::Statement& statement);
  bool stands_in_loop(const ast::Expression& node);

  // Views that regroup, reorder and repeat axes: view_calls.cpp.
  Value reshape(const ast::Expression& node);
  Value permute(const ast::Expression& node);
  Value transpose(const ast::Expression& node);
  Value swap_axes(const ast::Expression& node);
  Value expand(const ast::Expression& node);
  Value expand_as(const ast::Expression& node);
  Value squeeze(const ast::Expression& node);
  Value unsqueeze(const ast::Expression& node);
  std::optional<ValueId> viewed_value(const ast::Expression& node);
  std::optional<int64_t> dim_argument(const ast::Expression& node, size_t place, int rank,
                                      std::optional<int64_t> fallback);
  std::optional<int64_t> axis_position(const ast::Expression& item, int64_t dim, int rank);
  std::optional<std::vector<AxisId>> reshaped_axes(const ast::Expression& node, const Type& from);
  std::optional<int64_t> reshape_extent(const ast::Expression& item, const Type& from);
  Value expand_to(const ast::Expression& node, ValueId value, const std::vector<AxisId>& axes);
  AxisId part_axis(const HostInt& extent, const std::vector<AxisId>& others);

  // Values cut into parts and put together: part_calls.cpp, slices.cpp.
  Value split(const ast::Expression& node);
  Value chunk(const ast::Expression& node);
  Value unbind(const ast::Expression& node);
  Value join(const ast::Expression& node);
  Value stack(const ast::Expression& node);
  Value concat(const ast::Expression& node);
  bool listed_values(const ast::Expression& node, const char* usage, std::vector<Operand>* out);
  ValueId stacked(const std::vector<ValueId>& values, int dim);
  Value unbound(const ast::Expression& node, ValueId value, int dim);
  ValueId cut(ValueId value, int dim, const HostInt& begin, AxisId part);
  std::optional<std::pair<ValueId, bool>> cut_item(const ast::Expression& item, ValueId value, int dim);
  std::optional<ValueId> cut_by_host(const ast::Expression& item, ValueId value, int dim, const SliceBounds& bounds,
                                     const HostInt& extent);
  std::optional<ValueId> cut_by_device(const ast::Expression& item, ValueId value, int dim, const SliceBounds& bounds);
  std::optional<ValueId> cut_at(const ast::Expression& item, const Value& index, ValueId value, int dim);
  bool slice_bounds(const ast::Expression& item, const std::optional<HostInt>& extent, SliceBounds* out);
  bool device_slice(const ast::Expression& item, const Value& tensor, size_t dim, bool is_store,
                    const SliceBounds& bounds, std::vector<Subscript>* out);
  DeviceLength length_of(const SliceBounds& bounds);
  std::string scalar_text(ValueId value);
  ValueId axis_size(AxisId axis);
  ValueId clamped(ValueId value, ValueId low, ValueId high);
  ValueId bound_value(const std::optional<HostInt>& host, ValueId value);
  AxisId device_axis(const std::string& key, const std::string& name, const std::string& length, ValueId extent);
  void adopt_axes(const Type& type, Place* place);

  // Calls: calls.cpp (functions), reductions.cpp, dot.cpp.
  Value call(const ast::Expression& node);
  Value cast(const ast::Expression& node, DType dtype);
  Value unary_function(const ast::Expression& node, UnaryFn fn);
  Value emit_unary(UnaryFn fn, SourceRange range, const Operand& a);
  bool operands_of(const ast::Expression& node, size_t least, size_t most, const char* usage,
                   std::vector<Operand>* out);
  bool only_named(const ast::Expression& node, const std::vector<std::string>& names);
  std::optional<DType> dtype_named(const std::string& name);
  std::vector<std::string> callable_names();
  Value minimum_maximum(const ast::Expression& node);
  Value pow(const ast::Expression& node);
  Value clamp(const ast::Expression& node);
  Value where(const ast::Expression& node);
  Value silu(const ast::Expression& node);
  Value relu(const ast::Expression& node);
  Value reduction(const ast::Expression& node);
  Value mean_of(ValueId sum, const std::vector<AxisId>& folded, SourceRange range);
  /// Argument `position` or dim=, and keepdim=.
  bool reduced_dims(const ast::Expression& node, size_t position, int rank, std::vector<int64_t>* dims, bool* keepdim);
  ValueId drop_unit_dims(ValueId value, std::vector<int64_t>* dims, bool keepdim);
  Value dot(const ast::Expression& node);
  Value matrix_product(const std::string& text, SourceRange range, const Operand& a, const Operand& b,
                       const Operand* acc);
  bool dot_dtype(const std::string& text, SourceRange range, const Operand& a, const Operand& b, DType* sum);
  bool dot_axes_meet(const std::string& text, SourceRange range, const Operand& a, const Operand& b,
                     const std::vector<ValueId>& values, std::vector<AxisId>* axes);
  bool meets_jagged(const std::string& text, SourceRange range, const std::vector<ValueId>& values);
  std::optional<ValueId> accumulator(const Operand& acc, DType sum, const std::vector<AxisId>& axes);

  // Folds and scans by a function: combining.cpp.
  Value reduce_by_function(const ast::Expression& node);
  Value arg_extremum(const ast::Expression& node);
  Value associative_scan(const ast::Expression& node);
  Value cumulative(const ast::Expression& node);
  bool tuple_members(const ast::Expression& node, const ast::Expression& list, std::vector<ValueId>* members);
  std::optional<int64_t> single_dim(const ast::Expression& node, size_t position, int rank);
  std::optional<bool> reversed(const ast::Expression& node);
  bool build_combine(Op& op, const Value& function, SourceRange range);
  bool yield_combined(const Op& op, const Value& function, const Value& result, SourceRange range);
  void choose_better(Region& region, bool is_max);
  Value emit_fold(std::vector<ValueId> members, std::vector<int64_t> dims, bool keepdim,
                  const std::function<bool(Op&)>& fill);
  Value emit_scan(std::vector<ValueId> members, int64_t dim, bool reverse, const std::function<bool(Op&)>& fill);
  Value combined_value(const std::vector<ValueId>& members);

  // Making values: creation.cpp.
  Value zeros(const ast::Expression& node);
  Value full(const ast::Expression& node);
  Value arange(const ast::Expression& node);
  std::optional<std::vector<AxisId>> shape(const ast::Expression& node, size_t first);
  std::optional<DType> dtype_argument(const ast::Expression& node, const char* usage);
  static const Builtin kBuiltins[];
  static const Builtin* find_builtin(const std::string& name);
  static bool is_member(const std::string& name);

  const ast::File& file_;
  const ast::Kernel& source_;
  const DTypeBinding& dtypes_;
  SignatureFacts facts_;
  Diagnostics& diagnostics_;
  Kernel kernel_;
  Builder builder_;
  std::vector<Scope> scopes_;
  std::map<std::string, SourceRange> ended_;  // names of scopes that are no more
  size_t frame_ = 0;                          // first scope that the function being inlined sees
  std::vector<CallSite> calls_;               // functions being inlined, outermost first
  int loop_depth_ = 0;
  bool has_grid_ = false;
  bool reported_size_ = false;
  bool warns_unused_ = true;
  std::map<std::string, AxisId> whole_axes_;
  std::vector<AxisRange> ranges_;                            // by AxisId
  std::vector<std::map<std::string, ValueId>> host_values_;  // per open region: expr ops already there
  std::vector<bool> stored_;                                 // by tensor
  std::vector<const Op*> stores_;                            // without a mask, in the regions that are open
  std::vector<AxisId> grid_axes_;                            // of the outermost loop
};

}  // namespace kaon::compiler
