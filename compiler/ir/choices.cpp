// Finding a body by the values of its knobs.
#include "compiler/ir/choices.h"

#include <algorithm>

#include "compiler/ir/printer.h"

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

std::string print_bodies(const Kernel& kernel) {
  if (kernel.choices == nullptr) return print(kernel);
  const auto quoted = [](const std::string& text) {
    return '"' + text + '"';
  };  // knobs, values and help hold no quotes
  std::string text;
  for (const KernelChoice& choice : kernel.choices->knobs) {
    text += "choice " + quoted(choice.knob) + " [";
    for (size_t i = 0; i < choice.values.size(); ++i) text += (i > 0 ? ", " : "") + quoted(choice.values[i]);
    text += "] " + quoted(choice.help) + "\n";
  }
  for (const Kernel& body : kernel.choices->bodies) text += print(body);
  return text;
}

const Kernel& body_for(const Kernel& logical, const Config& config) {
  return logical.choices == nullptr ? logical : logical.choices->bodies[choose_body(*logical.choices, config)];
}

}  // namespace kaon::compiler
