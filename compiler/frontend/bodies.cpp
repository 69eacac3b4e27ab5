// Enumerating specialised dimensions, tunables and impls.
#include "compiler/frontend/bodies.h"

#include <algorithm>

namespace kaon::compiler {

namespace {

/// A name that stands for one of several integers.
struct Listed {
  const char* kind;  // of knob: "const.", "tune."
  const std::string* name;
  std::string help;
  std::vector<int64_t> values;
};

std::vector<Listed> listed(const ast::Kernel& kernel, const ConstexprBinding& constants) {
  std::vector<Listed> all;
  for (const ast::Specialised& dim : kernel.specialised) {
    const auto bound = constants.find(dim.name.text);
    all.push_back({"const.", &dim.name.text, "what dimension " + dim.name.text + " is compiled for",
                   bound == constants.end() ? dim.values : std::vector<int64_t>{bound->second}});
  }
  for (const ast::Param& param : kernel.inputs) {
    if (param.kind != ast::Param::Kind::kTunable) continue;
    all.push_back({"tune.", &param.name.text, "tunable " + param.name.text + " of the source", param.values});
  }
  return all;
}

}  // namespace

std::vector<KernelChoice> choices_of(const ast::Kernel& kernel, const ConstexprBinding& constants) {
  std::vector<KernelChoice> choices;
  for (const Listed& list : listed(kernel, constants)) {
    KernelChoice choice{list.kind + *list.name, {}, list.help};
    for (int64_t value : list.values) choice.values.push_back(std::to_string(value));
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
  for (const KernelChoice& choice : choices_of(kernel, {}))
    count = std::min(count * choice.values.size(), kMaxBodies + 1);
  return count;
}

std::vector<Body> all_bodies(const ast::Kernel& kernel, const ConstexprBinding& constants) {
  std::vector<Body> bodies(1);
  bodies[0].statements = &kernel.body;
  for (const Listed& list : listed(kernel, constants)) {
    std::vector<Body> extended;
    for (const Body& body : bodies) {
      for (int64_t value : list.values) {
        extended.push_back(body);
        extended.back().constants[*list.name] = value;
        extended.back().text += list.kind + *list.name + "=" + std::to_string(value) + " ";
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
