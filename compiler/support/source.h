// Source texts and places in them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kaon::compiler {

/// Half-open byte range of a SourceFile. A default range means "no place".
struct SourceRange {
  uint32_t begin = 0;
  uint32_t end = 0;
  bool is_known() const { return end > begin; }
};

struct LineColumn {
  uint32_t line = 1;    // from 1
  uint32_t column = 1;  // from 1, in bytes
};

/// A text with a name; finds lines in logarithmic time.
class SourceFile {
 public:
  SourceFile(std::string name, std::string text);
  const std::string& name() const { return name_; }
  const std::string& text() const { return text_; }
  LineColumn line_column(uint32_t offset) const;
  /// Text of line `line` (from 1) without its newline.
  std::string_view line(uint32_t line) const;
  uint32_t num_lines() const { return static_cast<uint32_t>(line_starts_.size()); }

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

}  // namespace kaon::compiler
