// The state of one simulated block: values of all threads, tiles in progress, shared memory.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/ir.h"
#include "tests/support/staged_sim.h"

namespace kaon::compiler {

/// What one register of one thread holds; lanes that do not exist hold nothing.
struct SimCell {
  double value = 0;
  bool is_defined = false;
};

/// A byte of shared memory: which write put it there, and who touched it since the last barrier.
struct SimByte {
  double value = 0;  // at the first byte of a write
  bool is_defined = false;
  int64_t write = -1;  // running number of the write, -1: never
  int writer = -1;     // thread, if written in this epoch
  int reader = -1;     // thread, if read in this epoch; -2: several
};

/// Who stored to an element of a tensor since the last barrier.
struct SimStore {
  const Op* op = nullptr;
  int thread = 0;
};

class StagedMachine {
 public:
  StagedMachine(const Kernel& kernel, SimCall* call);
  Status run_program(int64_t program);
  SimCounts counts;

 private:
  using Values = std::vector<SimCell>;

  // -- staged_sim.cpp: control
  void run_region(const Region& region);
  void run_op(const Op& op);
  void run_grid(const Op& op);
  void run_loop(const Op& op);
  void run_if(const Op& op);
  void run_while(const Op& op);
  void fail(const Op& op, const std::string& message);
  int64_t eval(const Expr& expr) const { return expr.evaluate(slots_.data()); }
  uint32_t registers(ValueId value) const;
  Place place(int thread, uint32_t reg) const;
  SimCell& cell(ValueId value, int thread, uint32_t reg);
  void allocate(ValueId value);
  int64_t uniform(const Op& op, ValueId scalar);

  // -- staged_sim_values.cpp: element-wise ops, views, reductions
  void run_elementwise(const Op& op);
  double compute(const Op& op, const std::vector<double>& operands);
  void run_const(const Op& op);
  void run_index(const Op& op);
  void run_axis_info(const Op& op);
  void run_view(const Op& op);
  void run_pick(const Op& op);
  void run_reduce_thread(const Op& op);
  void run_reduce_lanes(const Op& op);
  double combine(const Op& op, double a, double b);
  double identity(const Op& op);

  // -- staged_sim_memory.cpp: coordinates, masks, global and shared memory
  int64_t axis_first(const Axis& axis);
  int64_t axis_end(const Axis& axis);
  int64_t origin(AxisId axis, const Type& type, const Layout& layout, int thread, uint32_t reg);
  int64_t coordinate(const Type& type, const Layout& layout, int dim, int thread, uint32_t reg);
  bool exists(const Type& type, const Layout& layout, int thread, uint32_t reg, int only_dim = -1);
  void run_access(const Op& op);
  bool element_index(const Op& op, int thread, uint32_t reg, std::vector<int64_t>* index);
  void check_order(const Op& op, int64_t address, int thread);
  void check_vectors(const Op& op, const std::vector<bool>& active, const std::vector<int64_t>& addresses, int thread);
  void run_shared_store(const Op& op);
  void run_shared_load(const Op& op);
  uint32_t shared_address(const Op& op, const Layout& layout, DType dtype, int thread, uint32_t reg);
  void run_barrier();

  const Kernel& kernel_;
  SimCall& call_;
  std::vector<int64_t> slots_;
  int num_threads_ = 0;
  std::vector<Values> values_;
  std::map<AxisId, int64_t> begins_;
  std::vector<SimByte> shared_;
  std::map<std::pair<int64_t, int64_t>, SimStore> stores_;  // by tensor and address
  int64_t num_writes_ = 0;
  int64_t program_ = 0;
  Status status_;
};

}  // namespace kaon::compiler
