// Building generated sources: lines, indentation that closes itself, templates with named holes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kaon::heuristics {

class SourceWriter {
 public:
  /// One line at the current indentation, without trailing blanks.
  void line(std::string_view text = "");
  /// `text` as comment lines of at most 120 columns; leading blanks indent it, continuation lines by two more.
  void comment(std::string_view text);
  const std::string& text() const { return text_; }

  /// While it lives, lines are indented by two more columns.
  class Indent {
   public:
    explicit Indent(SourceWriter& writer) : writer_(writer) { writer_.depth_ += 1; }
    ~Indent() { writer_.depth_ -= 1; }
    Indent(const Indent&) = delete;
    Indent& operator=(const Indent&) = delete;

   private:
    SourceWriter& writer_;
  };

 private:
  std::string text_;
  int depth_ = 0;
};

/// `text` with each `{{name}}` replaced; a hole without a value stays, so that it shows.
std::string fill(std::string_view text, const std::map<std::string, std::string>& values);

/// An identifier made of `name`: "M*N" becomes "M_times_N", "N%8" "N_mod_8"; words of C++ get a trailing underscore.
std::string identifier(std::string_view name);

/// "0.9876": fixed digits after the point.
std::string fixed(double value, int digits);

/// Rows as columns padded to their widest cell, two blanks between; the first column is left-aligned, the rest right.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace kaon::heuristics
