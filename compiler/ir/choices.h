// The bodies that one kernel can have, among which knobs of the config choose: tunables and `impl` blocks.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/base/config.h"

namespace kaon::compiler {

/// A knob that is turned before there is a body.
struct KernelChoice {
  std::string knob;                 // "tune.SPLIT", "impl"
  std::vector<std::string> values;  // the first is the default
  std::string help;
};

struct KernelChoices {
  std::vector<KernelChoice> knobs;
  std::vector<Kernel> bodies;  // one for each combination, the last knob fastest; the first is the kernel's own body
};

/// Position in `bodies` of what `config` chooses; knobs that it lacks, or gives no value that they have, take their
/// default.
size_t choose_body(const KernelChoices& choices, const Config& config);
/// The kernel with the body that `config` chooses: `logical` itself when it has only one.
const Kernel& body_for(const Kernel& logical, const Config& config);

/// The kernel with all its bodies as text, which parse_kernel() reads back; print() shows the first alone:
///
///   choice "tune.SPLIT" ["1", "2"] "tunable SPLIT of the source"
///   kernel split_sum { ... }
///   kernel split_sum { ... }
std::string print_bodies(const Kernel& kernel);

}  // namespace kaon::compiler
