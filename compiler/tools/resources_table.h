// What configs cost: registers, spills, shared memory, and how wide global memory is accessed.
#pragma once

#include <string>
#include <vector>

#include "compiler/target/target.h"
#include "compiler/tools/input.h"
#include "compiler/tools/outcome.h"
#include "runtime/base/config.h"

namespace kaon::compiler {

/// Compiles each kernel with `config`, or, when that is null, with its default, its generic and a spread of other legal
/// configs. One line each; a config that the target refuses keeps its line, with the reason.
Outcome resources_table(const std::vector<BoundKernel>& kernels, const Config* config, const Target& target);

/// Number of 16-byte accesses of global memory in `ptx` whose opcode begins with `opcode` ("ld.global", "st.global").
int count_wide_accesses(const std::string& ptx, const std::string& opcode);

}  // namespace kaon::compiler
