// Reads expectations out of comments and matches them one to one with what was reported.
#include "compiler/support/expected_diagnostics.h"

#include <cstdlib>
#include <vector>

namespace kaon::compiler {
namespace {

struct Expectation {
  Severity severity = Severity::kError;
  uint32_t line = 0;     // where the diagnostic should be
  uint32_t written = 0;  // where the comment is
  std::string text;
  bool is_met = false;
};

struct Word {
  const char* text;
  Severity severity;
};
constexpr Word kWords[] = {
    {"expect-error", Severity::kError}, {"expect-warning", Severity::kWarning}, {"expect-note", Severity::kNote}};

// Adds the expectations of one line; false for one that cannot be read.
bool read_line(std::string_view line, uint32_t number, std::vector<Expectation>* out) {
  const size_t comment = line.find("//");
  if (comment == std::string_view::npos) return true;
  size_t at = comment;
  for (;;) {
    const Word* next = nullptr;
    size_t place = std::string_view::npos;
    for (const Word& word : kWords) {
      const size_t found = line.find(word.text, at);
      if (found < place) {
        place = found;
        next = &word;
      }
    }
    if (next == nullptr) return true;
    Expectation expectation{next->severity, number, number, {}, false};
    at = place + std::string_view(next->text).size();
    if (at < line.size() && line[at] == '@') {
      const std::string offset(line.substr(at + 1, line.find_first_of(" {", at) - at - 1));
      expectation.line = static_cast<uint32_t>(static_cast<int64_t>(number) + std::strtol(offset.c_str(), nullptr, 10));
    }
    const size_t open = line.find("{{", at);
    const size_t close = open == std::string_view::npos ? open : line.find("}}", open);
    if (close == std::string_view::npos) return false;
    expectation.text = std::string(line.substr(open + 2, close - open - 2));
    out->push_back(expectation);
    at = close;
  }
}

}  // namespace

std::string check_expected_diagnostics(const Diagnostics& diagnostics) {
  const SourceFile& file = diagnostics.file();
  std::vector<Expectation> expectations;
  std::string out;
  auto place = [&](uint32_t line) { return file.name() + ":" + std::to_string(line) + ": "; };
  for (uint32_t line = 1; line <= file.num_lines(); ++line) {
    if (!read_line(file.line(line), line, &expectations))
      out += place(line) + "an expectation needs its text in {{ }}\n";
  }
  for (const Diagnostic& d : diagnostics.all()) {
    const uint32_t line = d.range.is_known() ? file.line_column(d.range.begin).line : 1;
    bool is_expected = false;
    for (Expectation& e : expectations) {
      if (e.is_met || e.line != line || e.severity != d.severity || d.message.find(e.text) == std::string::npos)
        continue;
      e.is_met = is_expected = true;
      break;
    }
    if (!is_expected) out += place(line) + "not expected: " + severity_text(d.severity) + ": " + d.message + "\n";
  }
  for (const Expectation& e : expectations) {
    if (!e.is_met)
      out += place(e.written) + "expected but not reported: " + severity_text(e.severity) + " on line " +
             std::to_string(e.line) + ": " + e.text + "\n";
  }
  return out;
}

}  // namespace kaon::compiler
