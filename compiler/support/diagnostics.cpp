// How diagnostics look to a person: place, message, line, caret.
#include "compiler/support/diagnostics.h"

#include <algorithm>

namespace kaon::compiler {
namespace {

// Tabs are kept so that the caret lines up in any terminal.
std::string caret_line(std::string_view line, uint32_t column, uint32_t width) {
  std::string out = "  ";
  for (uint32_t i = 0; i + 1 < column; ++i) out += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  out += '^';
  for (uint32_t i = 1; i < width; ++i) out += '~';
  return out;
}

}  // namespace

const char* severity_text(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "error";
}

void Diagnostics::error(SourceRange range, std::string message) {
  all_.push_back({Severity::kError, range, std::move(message)});
  ++num_errors_;
}

void Diagnostics::warning(SourceRange range, std::string message) {
  all_.push_back({Severity::kWarning, range, std::move(message)});
}

void Diagnostics::note(SourceRange range, std::string message) {
  all_.push_back({Severity::kNote, range, std::move(message)});
}

std::string Diagnostics::render() const {
  std::string out;
  for (const Diagnostic& d : all_) {
    out += file_->name();
    if (!d.range.is_known()) {
      out += std::string(": ") + severity_text(d.severity) + ": " + d.message + "\n";
      continue;
    }
    const uint32_t offset = std::min<uint32_t>(d.range.begin, static_cast<uint32_t>(file_->text().size()));
    const LineColumn place = file_->line_column(offset);
    const std::string_view line = file_->line(place.line);
    out += ":" + std::to_string(place.line) + ":" + std::to_string(place.column) + ": " + severity_text(d.severity) +
           ": " + d.message + "\n";
    out += "  " + std::string(line) + "\n";
    // A range that crosses lines is underlined to the end of its first line only.
    const uint32_t room = line.size() >= place.column ? static_cast<uint32_t>(line.size()) - place.column + 1 : 1;
    out += caret_line(line, place.column, std::max<uint32_t>(1, std::min(d.range.end - d.range.begin, room))) + "\n";
  }
  return out;
}

}  // namespace kaon::compiler
