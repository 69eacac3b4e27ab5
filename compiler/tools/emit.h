// Takes a kernel as far down the compiler as was asked, and writes what is there.
#pragma once

#include <string>
#include <vector>

#include "compiler/tools/input.h"
#include "compiler/tools/outcome.h"

namespace kaon::compiler {

struct EmitOptions {
  std::string stage = "ir";
  std::string target = "sm_90";
  std::vector<std::string> config;  // "block.m=4"
  bool list_knobs = false;
  std::string run_pass;
  std::string print_after;  // a pass, or "all"
  bool checked = false;
  std::string path;  // of the source, for places in a checked build's messages
};

Outcome emit(const Input& input, const EmitOptions& options);

}  // namespace kaon::compiler
