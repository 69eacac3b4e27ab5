// Interprets all programs of a call, or a seeded sample of them, and collects what they wrote.
#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "compiler/oracle/binding.h"
#include "compiler/oracle/machine.h"
#include "compiler/oracle/oracle.h"
#include "compiler/oracle/soft_float.h"

namespace kaon::compiler {
namespace {

/// The programs to run, ascending: all, or `most` of them with the first and the last.
std::vector<int64_t> choose_programs(int64_t total, const OracleOptions& options) {
  const int64_t most = options.max_programs;
  if (most <= 0 || most >= total) {
    std::vector<int64_t> all(static_cast<size_t>(total));
    std::iota(all.begin(), all.end(), int64_t{0});
    return all;
  }
  std::set<int64_t> chosen = {0};
  if (most > 1) chosen.insert(total - 1);
  std::mt19937_64 random(options.seed);
  while (static_cast<int64_t>(chosen.size()) < most) {
    chosen.insert(static_cast<int64_t>(random() % static_cast<uint64_t>(total)));
  }
  return std::vector<int64_t>(chosen.begin(), chosen.end());
}

bool has_atomics(const Kernel& kernel) {
  bool found = false;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) { found = found || op.kind == OpKind::kAtomic; });
  return found;
}

/// Sorts by offset; of several stores to an element the last one stands.
void sort_and_keep_last(std::vector<OracleElement>* elements) {
  auto before = [](const OracleElement& a, const OracleElement& b) { return a.offset < b.offset; };
  if (!std::is_sorted(elements->begin(), elements->end(), before)) {
    std::stable_sort(elements->begin(), elements->end(), before);
  }
  size_t kept = 0;
  for (size_t i = 0; i < elements->size(); ++i) {
    if (i + 1 < elements->size() && (*elements)[i].offset == (*elements)[i + 1].offset) continue;
    (*elements)[kept++] = (*elements)[i];
  }
  elements->resize(kept);
}

/// Works out, once for all variants that will be judged, which numbers of the tensor's type are right.
void set_intervals(DType dtype, std::vector<OracleElement>* elements) {
  if (!dtype_is_float(dtype)) return;
  for (OracleElement& element : *elements) {
    element.low = round_to(dtype, element.value - element.bound);
    element.high = round_to(dtype, element.value + element.bound);
  }
}

}  // namespace

Result<OracleResult> interpret(const Kernel& logical, const std::vector<HostTensor>& tensors,
                               const std::vector<int64_t>& scalars, const OracleOptions& options) {
  if (logical.stage != Stage::kLogical) {
    return Status(Code::kInvalidArgument,
                  logical.signature.kernel + ": expected stage logical, got " + stage_name(logical.stage));
  }
  KAON_RETURN_IF_ERROR(verify(logical));
  KAON_ASSIGN_OR_RETURN(std::vector<int64_t> slots, bind_slots(logical.signature, tensors, scalars));
  const std::vector<int64_t> blocks = choose_blocks(logical, slots);
  OracleResult result;
  result.outputs.resize(tensors.size());
  Machine machine(logical, tensors, slots, blocks, &result.outputs);
  KAON_RETURN_IF_ERROR(machine.prepare());
  result.programs_total = machine.num_programs();
  // What an atomic leaves behind is the work of all programs.
  OracleOptions chosen = options;
  if (has_atomics(logical)) chosen.max_programs = 0;
  const std::vector<int64_t> programs = choose_programs(result.programs_total, chosen);
  result.programs_run = static_cast<int64_t>(programs.size());
  for (int64_t program : programs) KAON_RETURN_IF_ERROR(machine.run_program(program));
  machine.finish_atomics();
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    sort_and_keep_last(&result.outputs[i]);
    set_intervals(tensors[i].dtype, &result.outputs[i]);
  }
  return result;
}

}  // namespace kaon::compiler
