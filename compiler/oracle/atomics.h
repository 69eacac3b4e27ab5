// What an output's elements hold after atomics of all programs, in whichever order they came.
#pragma once

#include <map>
#include <vector>

#include "compiler/ir/atomics.h"
#include "compiler/oracle/oracle.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// One lane of an atomic op.
struct AtomicLane {
  AtomicFn fn = AtomicFn::kAdd;
  double value = 0, bound = 0;  // floats
  int64_t integer = 0;          // integers
  double expected = 0;          // cas
  int64_t expected_integer = 0;
  bool is_unknown = false;  // whether it takes part, or with which integer, depends on how a float is rounded
};

class AtomicLedger {
 public:
  explicit AtomicLedger(size_t num_tensors) : tensors_(num_tensors) {}
  void note(size_t tensor, int64_t offset, DType dtype, const AtomicLane& lane);
  /// Appends one element for each that was touched. An output that is not zeroed starts as its memory is now.
  void finish(const Signature& signature, const std::vector<HostTensor>& tensors,
              std::vector<std::vector<OracleElement>>* outputs) const;

 private:
  struct Account {
    AtomicFn fn = AtomicFn::kAdd;
    int64_t count = 0;
    bool is_unknown = false;  // also after functions whose order matters
    bool has_nan = false;
    double sum = 0, rest = 0;                       // Kahan's: the sum, and what it lost
    double magnitude = 0;                           // sum of absolute values
    double bounds = 0;                              // sum of bounds
    double least = 0, most = 0, low = 0, high = 0;  // of the values, and of their ends: greatest for max, least for min
    int64_t integer = 0, expected_integer = 0;
    double expected = 0;
  };
  static void add_float(Account* account, const AtomicLane& lane);
  static void add_integer(Account* account, DType dtype, const AtomicLane& lane);
  static void finish_float(const Account& account, DType dtype, double start, OracleElement* out);
  static void finish_integer(const Account& account, DType dtype, int64_t start, OracleElement* out);

  std::vector<std::map<int64_t, Account>> tensors_;
};

}  // namespace kaon::compiler
