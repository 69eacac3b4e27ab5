#include "compiler/support/source.h"

#include <algorithm>

namespace kaon::compiler {

SourceFile::SourceFile(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_starts_.push_back(0);
  for (uint32_t i = 0; i < text_.size(); ++i) {
    if (text_[i] == '\n') line_starts_.push_back(i + 1);
  }
}

LineColumn SourceFile::line_column(uint32_t offset) const {
  auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), offset);
  const uint32_t line = static_cast<uint32_t>(next - line_starts_.begin());
  return {line, offset - line_starts_[line - 1] + 1};
}

std::string_view SourceFile::line(uint32_t line) const {
  if (line == 0 || line > num_lines()) return {};
  const uint32_t begin = line_starts_[line - 1];
  uint32_t end = line < num_lines() ? line_starts_[line] - 1 : static_cast<uint32_t>(text_.size());
  return std::string_view(text_).substr(begin, end - begin);
}

}  // namespace kaon::compiler
