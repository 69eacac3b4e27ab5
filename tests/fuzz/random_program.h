// A random kernel as text, with a call that fits it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/choices.h"
#include "tests/support/case_file.h"

namespace kaon::compiler {

struct RandomProgram {
  std::string text;               // one kernel, named `fuzz`
  std::vector<CaseShape> shapes;  // of its dimensions and scalars
  std::map<std::string, std::vector<Generator>> data;
  std::string edge;  // how the tensors lie, "plain" or another of all_edges()
};

/// A kernel that the language accepts and that computes the same in any order of programs. Equal choices give equal
/// programs.
RandomProgram random_program(Choices& choices);

}  // namespace kaon::compiler
