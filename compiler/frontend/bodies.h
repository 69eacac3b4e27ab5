// The bodies that a kernel has: one for each combination of what the config may choose before there is any IR.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/frontend/ast.h"
#include "compiler/frontend/frontend.h"
#include "compiler/ir/choices.h"

namespace kaon::compiler {

/// More combinations than this are an error: each is built, and each is a part of the search.
constexpr size_t kMaxBodies = 64;

struct Body {
  ConstexprBinding constants;  // of tunables and specialised dimensions
  const std::vector<ast::Statement>* statements = nullptr;
  std::string text;  // "tune.SPLIT=2 impl=direct"; empty for a kernel without choices
};

/// Knobs const.NAME of specialised dimensions, tune.NAME of tunables, each in order, and `impl`. A dimension that
/// `constants` binds has that value only.
std::vector<KernelChoice> choices_of(const ast::Kernel& kernel, const ConstexprBinding& constants);
/// Number of combinations, at most kMaxBodies + 1.
size_t num_bodies(const ast::Kernel& kernel);
/// One for each combination, the last knob fastest. `kernel` must outlive them and have no more than kMaxBodies.
std::vector<Body> all_bodies(const ast::Kernel& kernel, const ConstexprBinding& constants);

}  // namespace kaon::compiler
