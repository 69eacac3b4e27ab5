// Enumerating tunables and impls.
#include "compiler/frontend/bodies.h"

#include <algorithm>

namespace kaon::compiler {

std::vector<KernelChoice> choices_of(const ast::Kernel& kernel) {
  std::vector<KernelChoice> choices;
  for (const ast::Param& param : kernel.inputs) {
    if (param.kind != ast::Param::Kind::kTunable) continue;
    KernelChoice choice{"tune." + param.name.text, {}, "tunable " + param.name.text + " of the source"};
    for (int64_t value : param.values) choice.values.push_back(std::to_string(value));
    choices.push_back(std::move(choice));
  }
  if (!kernel.impls.empty()) {
    KernelChoice choice{"impl", {}, "which body of the source runs"};
    for (const ast::Impl& impl : kernel.impls) choice.values.push_back(impl.name.text);
    choices.push_back(std::move(choice));
  }
  return choices;
}

size_t num_bodies(const ast::Kernel& kernel) {
  size_t count = 1;
  for (const KernelChoice& choice : choices_of(kernel)) count = std::min(count * choice.values.size(), kMaxBodies + 1);
  return count;
}

std::vector<Body> all_bodies(const ast::Kernel& kernel) {
  std::vector<Body> bodies(1);
  bodies[0].statements = &kernel.body;
  for (const ast::Param& param : kernel.inputs) {
    if (param.kind != ast::Param::Kind::kTunable) continue;
    std::vector<Body> extended;
    for (const Body& body : bodies) {
      for (int64_t value : param.values) {
        extended.push_back(body);
        extended.back().tunables[param.name.text] = value;
        extended.back().text += "tune." + param.name.text + "=" + std::to_string(value) + " ";
      }
    }
    bodies = std::move(extended);
  }
  if (!kernel.impls.empty()) {
    std::vector<Body> extended;
    for (const Body& body : bodies) {
      for (const ast::Impl& impl : kernel.impls) {
        extended.push_back(body);
        extended.back().statements = &impl.body;
        extended.back().text += "impl=" + impl.name.text + " ";
      }
    }
    bodies = std::move(extended);
  }
  for (Body& body : bodies) {
    if (!body.text.empty()) body.text.pop_back();
  }
  return bodies;
}

}  // namespace kaon::compiler
