// Errors, warnings and notes about a user's source, with place and caret. Bugs of Kaon itself are Code::kInternal.
#pragma once

#include <string>
#include <vector>

#include "compiler/support/source.h"

namespace kaon::compiler {

enum class Severity : uint8_t { kError, kWarning, kNote };
/// "error", "warning", "note".
const char* severity_text(Severity severity);

struct Diagnostic {
  Severity severity = Severity::kError;
  SourceRange range;
  std::string message;  // lower-case, no final period, both numbers, the mend if known
};

/// Collects what is said about one file. Notes belong to the error or warning before them.
class Diagnostics {
 public:
  explicit Diagnostics(const SourceFile& file) : file_(&file) {}
  void error(SourceRange range, std::string message);
  void warning(SourceRange range, std::string message);
  void note(SourceRange range, std::string message);
  bool has_errors() const { return num_errors_ > 0; }
  int num_errors() const { return num_errors_; }
  const std::vector<Diagnostic>& all() const { return all_; }
  const SourceFile& file() const { return *file_; }
  /// "softmax.tile:3:17: error: ...", the line, and a caret under the range; one paragraph each.
  std::string render() const;

 private:
  const SourceFile* file_;
  std::vector<Diagnostic> all_;
  int num_errors_ = 0;
};

}  // namespace kaon::compiler
