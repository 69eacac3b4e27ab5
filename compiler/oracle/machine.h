// Runs the programs of a logical kernel one by one on tiles of exactly the lanes that exist, so that no op needs a
// mask. Tiles with a jagged axis are as long as their longest row: what reads lanes across or leaves them in memory
// asks lanes_of() which of them exist.
#pragma once

#include <map>
#include <vector>

#include "compiler/oracle/atomics.h"
#include "compiler/oracle/memory.h"
#include "compiler/oracle/oracle.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

class Machine {
 public:
  /// All arguments must outlive the machine; `kernel` must verify. Stored elements are appended to `outputs`, one list
  /// per tensor.
  Machine(const Kernel& kernel, const std::vector<HostTensor>& tensors, const std::vector<int64_t>& slots,
          const std::vector<int64_t>& blocks, std::vector<std::vector<OracleElement>>* outputs);

  /// Evaluates what stands outside the grid; call once, before the rest.
  Status prepare();
  /// Points of the outermost loop's axes, and of those of loops perfectly nested in it.
  int64_t num_programs() const { return num_programs_; }
  Status run_program(int64_t program);
  /// Appends what atomics of the programs that ran leave behind; call once, after them.
  void finish_atomics() { ledger_.finish(kernel_.signature, tensors_, outputs_); }

 private:
  struct AxisState {
    int64_t begin = 0;  // of the current tile
    int64_t end = 0;    // of the range
    int64_t first = 0;  // of the range
    int64_t id = 0;
    int64_t count = 0;  // tiles in the range
  };

  Status run_region(const Region& region);
  Status run_op(const Op& op);
  Status run_pure(const Op& op);
  Status run_combining(const Op& op);
  Status run_loop(const Op& op);
  Status run_if(const Op& op);
  Status run_while(const Op& op);
  Status run_undecided_if(const Op& op);
  Status run_load(const Op& op);
  Status run_store(const Op& op);
  Status run_atomic(const Op& op);
  /// What the elements at offsets_ become by an update with `value`.
  void update(const Op& op, const Tile& value, Tile* result);
  void run_const(const Op& op);
  void run_index(const Op& op);
  void run_axis_info(const Op& op);
  void run_expr(const Op& op);
  Status cut(const Op& op, const std::vector<const Tile*>& parts, const std::vector<int64_t>& sizes, Tile* result);

  Status enter_axis(AxisId axis);
  void set_tile(AxisId axis, int64_t id);
  Status bound_of(ValueId value, const Expr& expr, int64_t* out);
  Status sizes_of(const std::vector<AxisId>& axes, std::vector<int64_t>* sizes);
  /// One flag a lane of a tile with these axes; empty when all exist, as they do without a jagged axis and its parents.
  std::vector<uint8_t> lanes_of(const std::vector<AxisId>& axes, const std::vector<int64_t>& sizes);
  /// Zeros, exactly, the lanes of a loaded value that do not exist.
  void clear_missing(const std::vector<AxisId>& axes, Tile* value);
  Status addresses_of(const Op& op, const std::vector<AxisId>& axes, std::vector<Address>* addresses);
  void take_yields(const Region& region, const std::vector<ValueId>& targets);
  /// The stored value before the cast that rounds it to the tensor's type, looked up through views.
  const Tile& before_rounding(ValueId value, Tile* scratch);

  const Tile& tile(ValueId value) const { return tiles_[static_cast<size_t>(value)]; }
  Tile& tile(ValueId value) { return tiles_[static_cast<size_t>(value)]; }
  AxisState& state(AxisId axis) { return states_[static_cast<size_t>(axis)]; }

  const Kernel& kernel_;
  const std::vector<HostTensor>& tensors_;
  const std::vector<int64_t>& slots_;
  const std::vector<int64_t>& blocks_;
  std::vector<std::vector<OracleElement>>* outputs_;
  AtomicLedger ledger_;

  std::vector<const Op*> definitions_;
  std::vector<bool> fusable_;  // by value
  std::vector<Tile> tiles_;
  std::vector<AxisState> states_;
  std::vector<int64_t> offsets_;
  const Region* program_ = nullptr;
  std::vector<AxisId> grid_axes_;
  int64_t num_programs_ = 0;
  std::vector<bool> is_updated_;                          // by tensor: some op updates it
  std::vector<std::map<int64_t, OracleElement>> memory_;  // of those, what was stored so far, rounded; by offset
  int undecided_ = 0;                                     // depth of branches of which both sides run
};

}  // namespace kaon::compiler
