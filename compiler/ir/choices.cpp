// Finding a body by the values of its knobs.
#include "compiler/ir/choices.h"

#include <algorithm>

namespace kaon::compiler {

size_t choose_body(const KernelChoices& choices, const Config& config) {
  size_t body = 0;
  for (const KernelChoice& choice : choices.knobs) {
    const std::string value = config.get(choice.knob, choice.values[0]);
    const auto found = std::find(choice.values.begin(), choice.values.end(), value);
    body = body * choice.values.size();
    if (found != choice.values.end()) body += static_cast<size_t>(found - choice.values.begin());
  }
  return body;
}

const Kernel& body_for(const Kernel& logical, const Config& config) {
  return logical.choices == nullptr ? logical : logical.choices->bodies[choose_body(*logical.choices, config)];
}

}  // namespace kaon::compiler
