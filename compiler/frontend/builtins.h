// The functions of the language: name, arguments, and who builds them.
#pragma once

#include "compiler/frontend/kernel_builder.h"

namespace kaon::compiler {

struct KernelBuilder::Builtin {
  const char* name;
  const char* usage;
  Value (KernelBuilder::*build)(const ast::Expression& node);
};

}  // namespace kaon::compiler
