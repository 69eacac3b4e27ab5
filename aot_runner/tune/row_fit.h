// How well the capacities of a config fit a shape, from the compiler's plan of its tiles, before anything is compiled.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "aot_runner/spec/shape.h"
#include "compiler/config/axis_sets.h"
#include "compiler/config/config_space.h"
#include "compiler/ir/ir.h"

namespace kaon::runner {

/// For one kernel. Remembers the capacities of each config that it was asked about; not for several threads at once.
class RowFit {
 public:
  /// `space` must outlive it.
  RowFit(const compiler::Kernel& logical, const compiler::ConfigSpace& space);

  /// Largest extent over capacity of the axes whose rows `config` keeps resident; 1 when it keeps none, and for rows
  /// that exceed the capacity, but not by far, of a config that walks those; infinity where a dim does not divide as a
  /// knob demands.
  double fill(const Config& config, const Shape& shape);
  /// One bit per dim that some knob may want divisible: whether it is not.
  int kind(const Shape& shape) const;

 private:
  struct Row {
    Expr extent;
    int64_t capacity = 0;
    bool loops = false;  // over what exceeds the capacity
  };
  struct Limits {
    std::vector<Row> rows;                          // kept resident
    std::vector<std::pair<int, int64_t>> divisors;  // dim and the number that has to divide it
  };
  const Limits& limits(const Config& config);
  std::vector<Row> resident_rows(const Config& normal) const;

  const compiler::ConfigSpace& space_;
  compiler::Kernel live_;  // without dead code, as it is compiled: dead values would tie axes together
  std::vector<compiler::AxisSet> sets_;
  std::vector<std::pair<int, int64_t>> divisors_;  // the greatest of any config
  std::map<Config, Limits> limits_;
};

}  // namespace kaon::runner
