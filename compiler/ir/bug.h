// How the rules of the IR say that a kernel breaks one.
#pragma once

#include <string>
#include <utility>

#include "runtime/base/status.h"

namespace kaon::compiler {

/// The fault of what made or changed the kernel, never of who wrote it: kInternal.
inline Status bug(std::string message) { return Status(Code::kInternal, std::move(message)); }

}  // namespace kaon::compiler
