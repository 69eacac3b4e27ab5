// Matches what was reported about a file against what its comments expect: --verify-diagnostics.
#pragma once

#include <string>

#include "compiler/support/diagnostics.h"

namespace kaon::compiler {

/// A comment `// expect-error {{text}}` expects an error whose message contains the text on the comment's line;
/// `@+1` or `@-1` after the word moves the line. The same with expect-warning and expect-note. Every expectation must
/// be met by its own diagnostic and nothing else may be reported. Empty on success, else one line for each difference.
std::string check_expected_diagnostics(const Diagnostics& diagnostics);

}  // namespace kaon::compiler
