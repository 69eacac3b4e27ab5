// Text helpers of the emitters.
#include "heuristics/source_writer.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>

namespace kaon::heuristics {
namespace {

constexpr size_t kColumns = 120;

const std::set<std::string>& reserved_words() {
  static const std::set<std::string> words = {
      "alignas",   "auto",     "bool",     "break",    "case",   "catch", "char",     "class",    "const",  "continue",
      "default",   "delete",   "do",       "double",   "else",   "enum",  "explicit", "extern",   "false",  "float",
      "for",       "friend",   "goto",     "if",       "inline", "int",   "long",     "mutable",  "new",    "operator",
      "private",   "public",   "register", "requires", "return", "short", "signed",   "sizeof",   "static", "struct",
      "switch",    "template", "this",     "throw",    "true",   "try",   "typedef",  "typename", "union",  "unsigned",
      "using",     "virtual",  "void",     "volatile", "while",  "and",   "or",       "not",      "xor",    "concept",
      "floor_div", "ceil_div", "mod",      "min",      "max",    "slots", "leaf",     "kaon",     "tables"};
  return words;
}

}  // namespace

void SourceWriter::line(std::string_view text) {
  if (!text.empty()) text_.append(static_cast<size_t>(depth_) * 2, ' ');
  text_ += text;
  while (!text_.empty() && text_.back() == ' ') text_.pop_back();
  text_ += '\n';
}

void SourceWriter::comment(std::string_view text) {
  std::string current = "//";
  const size_t width = kColumns - static_cast<size_t>(depth_) * 2;
  size_t at = 0;
  // Leading blanks are part of the first word: they align what follows.
  while (at < text.size() && text[at] == ' ') ++at;
  current += std::string(at, ' ');
  const std::string continued = "//" + std::string(at + 3, ' ');
  bool first = true;
  while (at < text.size()) {
    size_t end = std::min(text.find(' ', at), text.size());
    std::string word(text.substr(at, end - at));
    if (!first && current.size() + 1 + word.size() > width) {
      line(current);
      current = continued + word;
    } else {
      current += " " + word;
    }
    first = false;
    at = end == text.size() ? end : end + 1;
  }
  line(current);
}

std::string fill(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t open = text.find("{{", at);
    const size_t close = open == std::string_view::npos ? open : text.find("}}", open);
    if (close == std::string_view::npos) break;
    out += text.substr(at, open - at);
    auto it = values.find(std::string(text.substr(open + 2, close - open - 2)));
    out += it == values.end() ? std::string(text.substr(open, close + 2 - open)) : it->second;
    at = close + 2;
  }
  return out += text.substr(at);
}

std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      out += c;
    } else if (c == '*') {
      out += "_times_";
    } else if (c == '%') {
      out += "_mod_";
    } else if (c == '+') {
      out += "_plus_";
    } else if (c == '-') {
      out += "_minus_";
    } else if (c == '/') {
      out += "_over_";
    } else if (!out.empty() && out.back() != '_') {
      out += '_';
    }
  }
  std::string tidy;
  for (char c : out) {
    if (c != '_' || tidy.empty() || tidy.back() != '_') tidy += c;
  }
  while (tidy.size() > 1 && tidy.back() == '_') tidy.pop_back();
  if (tidy.empty() || std::isdigit(static_cast<unsigned char>(tidy[0]))) tidy.insert(0, "value_");
  return reserved_words().count(tidy) > 0 ? tidy + "_" : tidy;
}

std::string fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), "%.*f", digits, value);
  return buffer;
}

std::string aligned_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string pad(widths[i] - row[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (i == 0 ? row[i] + pad : pad + row[i]);
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace kaon::heuristics
