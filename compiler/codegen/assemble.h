// The last step to an image, in child processes: ptxas for cubins, ld for shared objects of `host`.
#pragma once

#include <string>

#include "compiler/compile.h"

namespace kaon::compiler::codegen {

struct Assembled {
  std::string image;
  std::string ptx;  // as assembled last: the number of resident blocks asked for may differ from the input's
  Resources resources;
};

/// PTX of one kernel with blocks of `threads` to a cubin for `target.ptxas_arch`. Where one more block would be
/// resident with somewhat fewer registers, that is tried as well, and taken if nothing spills. kUnsupported when ptxas
/// is missing or too old for the chip.
Result<Assembled> assemble_ptx(const std::string& ptx, uint32_t threads, const Target& target,
                               const CompileOptions& options);

/// What `ptxas -v` prints about the one kernel of a file. kInternal when it prints nothing of the kind.
Result<Resources> parse_ptxas_report(const std::string& text);

/// A relocatable object to a shared one. kUnsupported when ld is missing, kInternal when a symbol is undefined.
Result<std::string> link_host_object(const std::string& object, const CompileOptions& options);

}  // namespace kaon::compiler::codegen
