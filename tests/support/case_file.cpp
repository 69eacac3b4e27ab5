// Reads `.cases` texts, line by line.
#include "tests/support/case_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace kaon::compiler {
namespace {

Status wrong(const std::string& message) { return Status(Code::kInvalidArgument, message); }

std::string trim(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string::npos) return "";
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

/// Pieces between `separator`s that stand outside brackets.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> pieces(1);
  int depth = 0;
  for (char c : text) {
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == separator && depth == 0)
      pieces.emplace_back();
    else
      pieces.back() += c;
  }
  for (std::string& piece : pieces) piece = trim(piece);
  return pieces;
}

/// Words of "a=1 b=[2, 3]" with blanks inside brackets kept.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::string& word : split(text, ' ')) {
    if (!word.empty()) words.push_back(std::move(word));
  }
  return words;
}

bool is_name(const std::string& text) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) != 0) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

/// Evaluates by recursive descent, one character ahead.
class Evaluator {
 public:
  Evaluator(const std::string& text, const CaseShape& names) : text_(text), names_(names) {}
  Result<double> run() {
    const double value = sum();
    skip();
    if (error_.empty() && at_ < text_.size()) error_ = "unexpected '" + text_.substr(at_) + "'";
    if (!error_.empty()) return wrong("expression '" + text_ + "': " + error_);
    return value;
  }

 private:
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  double sum() {
    double value = product();
    for (;;) {
      if (take('+'))
        value += product();
      else if (take('-'))
        value -= product();
      else
        return value;
    }
  }
  double product() {
    double value = unary();
    for (;;) {
      if (take('*')) {
        value *= unary();
      } else if (take('/')) {
        const double divisor = unary();
        value = divisor == 0 ? 0 : std::floor(value / divisor);
      } else {
        return value;
      }
    }
  }
  double unary() {
    if (take('-')) return -unary();
    if (take('(')) {
      const double value = sum();
      if (!take(')')) fail("expected )");
      return value;
    }
    skip();
    size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_' || text_[end] == '.')) {
      const bool exponent = std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 && text_[end] == 'e';
      ++end;
      if (exponent && end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
    }
    const std::string word = text_.substr(at_, end - at_);
    at_ = end;
    char* rest = nullptr;
    const double number = std::strtod(word.c_str(), &rest);
    if (!word.empty() && *rest == '\0') return number;
    const auto it = names_.find(word);
    if (it != names_.end()) return it->second;
    fail(word.empty() ? "expected a number or a name" : "nothing is called '" + word + "' here");
    return 0;
  }
  void fail(const std::string& message) {
    if (error_.empty()) error_ = message;
  }

  const std::string& text_;
  const CaseShape& names_;
  size_t at_ = 0;
  std::string error_;
};

/// Applies one line after the other to the kernel that the last `kernel` line named.
class Reader {
 public:
  Reader(const std::string& path, CaseFile* file) : path_(path), file_(*file) {
    file_.path = path;
    const size_t slash = path.rfind('/');
    folder_ = slash == std::string::npos ? "" : path.substr(0, slash + 1);
    file_.source = path.substr(0, path.rfind('.')) + ".tile";
  }

  Status run(const std::string& text) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      line = trim(line.substr(0, line.find('#')));
      if (line.empty()) continue;
      const size_t blank = line.find(' ');
      const Status status = apply(line.substr(0, blank), blank == std::string::npos ? "" : trim(line.substr(blank)));
      if (!status) return wrong(path_ + ":" + std::to_string(line_) + ": " + status.message());
    }
    return Status::ok();
  }

 private:
  Status apply(const std::string& word, const std::string& rest) {
    if (rest.empty()) return wrong("'" + word + "' is followed by nothing");
    if (word == "file") {
      file_.source = folder_ + rest;
      return Status::ok();
    }
    if (word == "kernel") {
      if (!is_name(rest)) return wrong("expected the name of a kernel, got '" + rest + "'");
      file_.kernels.emplace_back();
      file_.kernels.back().kernel = rest;
      file_.kernels.back().line = line_;
      return Status::ok();
    }
    if (file_.kernels.empty()) return wrong("expected a line `kernel NAME` before '" + word + "'");
    return apply_to(&file_.kernels.back(), word, rest);
  }

  Status apply_to(KernelCases* cases, const std::string& word, const std::string& rest) {
    if (word == "shape" || word == "large") {
      KAON_ASSIGN_OR_RETURN(ShapeLine line, parse_shape_line(rest));
      line.is_large = word == "large";
      line.line = line_;
      cases->shapes.push_back(std::move(line));
    } else if (word == "dtypes") {
      for (const std::string& text : split(rest, '|')) {
        KAON_ASSIGN_OR_RETURN(auto binding, parse_dtypes(text));
        cases->dtypes.push_back(std::move(binding));
      }
    } else if (word == "const") {
      return add_consts(cases, rest);
    } else if (word == "data") {
      return add_data(cases, rest);
    } else if (word == "config") {
      cases->configs.push_back(rest);
    } else if (word == "configs") {
      return set_number(&cases->random_configs, rest);
    } else if (word == "edges") {
      return set_edges(cases, rest);
    } else {
      return wrong("unknown word '" + word +
                   "', expected file, kernel, dtypes, const, shape, large, data, config, configs or edges");
    }
    return Status::ok();
  }

  static Status add_consts(KernelCases* cases, const std::string& rest) {
    for (const std::string& text : split(rest, '|')) {
      KAON_ASSIGN_OR_RETURN(const ShapeLine line, parse_shape_line(text));
      KAON_ASSIGN_OR_RETURN(const std::vector<CaseShape> values, expand_shape(line));
      for (const CaseShape& shape : values) {
        cases->consts.emplace_back();
        for (const auto& [name, value] : shape) cases->consts.back()[name] = static_cast<int64_t>(value);
      }
    }
    return Status::ok();
  }

  static Status add_data(KernelCases* cases, const std::string& rest) {
    const size_t equals = rest.find('=');
    const std::string name = trim(rest.substr(0, equals));
    if (equals == std::string::npos || !is_name(name))
      return wrong("expected `data TENSOR = GENERATOR | ...`, got '" + rest + "'");
    for (const std::string& text : split(rest.substr(equals + 1), '|')) {
      KAON_ASSIGN_OR_RETURN(Generator generator, parse_generator(text));
      cases->data[name].push_back(std::move(generator));
    }
    return Status::ok();
  }

  static Status set_number(int* number, const std::string& text) {
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (*end != '\0' || value < 0 || value > 1000) return wrong("expected a number from 0 to 1000, got '" + text + "'");
    *number = static_cast<int>(value);
    return Status::ok();
  }

  static Status set_edges(KernelCases* cases, const std::string& rest) {
    cases->has_edges = true;
    for (const std::string& edge : words_of(rest)) {
      if (edge == "none") continue;
      const auto& known = all_edges();
      if (std::find(known.begin(), known.end(), edge) == known.end()) {
        std::string names;
        for (const std::string& name : known) names += ", " + name;
        return wrong("unknown edge '" + edge + "', expected none" + names);
      }
      cases->edges.push_back(edge);
    }
    return Status::ok();
  }

  const std::string path_;
  CaseFile& file_;
  std::string folder_;
  int line_ = 0;
};

}  // namespace

std::string shape_text(const CaseShape& shape) {
  std::string text;
  for (const auto& [name, value] : shape) {
    char number[40];
    const bool whole = value == std::floor(value) && std::fabs(value) < 9e15;
    std::snprintf(number, sizeof number, whole ? "%.0f" : "%.17g", value);
    text += (text.empty() ? "" : " ") + name + "=" + number;
  }
  return text;
}

const std::vector<std::string>& all_edges() {
  static const std::vector<std::string> edges = {"misaligned", "padded",  "strided", "negative",
                                                 "broadcast",  "special", "inplace"};
  return edges;
}

Result<double> evaluate_expression(const std::string& text, const CaseShape& names) {
  return Evaluator(text, names).run();
}

Result<Generator> parse_generator(const std::string& text) {
  Generator generator;
  generator.text = trim(text);
  const size_t open = generator.text.find('(');
  if (open == std::string::npos) {
    generator.name = "constant";
    generator.arguments = {generator.text};
    if (generator.text.empty()) return wrong("expected a generator, got nothing");
    return generator;
  }
  generator.name = trim(generator.text.substr(0, open));
  if (!is_name(generator.name) || generator.text.back() != ')')
    return wrong("expected NAME(ARGUMENT, ...), got '" + generator.text + "'");
  const std::string inside = generator.text.substr(open + 1, generator.text.size() - open - 2);
  if (!trim(inside).empty()) generator.arguments = split(inside, ',');
  return generator;
}

Result<ShapeLine> parse_shape_line(const std::string& text) {
  ShapeLine line;
  for (const std::string& word : words_of(text)) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos || !is_name(name) || equals + 1 == word.size())
      return wrong("expected NAME=VALUE or NAME=[VALUE, ...], got '" + word + "'");
    std::string value = word.substr(equals + 1);
    if (value.front() == '[' && value.back() == ']')
      line.values.emplace_back(name, split(value.substr(1, value.size() - 2), ','));
    else
      line.values.emplace_back(name, std::vector<std::string>{value});
  }
  return line;
}

Result<std::vector<CaseShape>> expand_shape(const ShapeLine& line) {
  std::vector<CaseShape> shapes(1);
  for (const auto& [name, alternatives] : line.values) {
    std::vector<CaseShape> longer;
    for (const CaseShape& shape : shapes) {
      for (const std::string& text : alternatives) {
        KAON_ASSIGN_OR_RETURN(const double value, evaluate_expression(text, shape));
        longer.push_back(shape);
        longer.back()[name] = value;
      }
    }
    shapes = std::move(longer);
  }
  return shapes;
}

Result<std::map<std::string, DType>> parse_dtypes(const std::string& text) {
  std::map<std::string, DType> binding;
  for (const std::string& word : words_of(text)) {
    const size_t equals = word.find('=');
    DType dtype = DType::kF32;
    if (equals == std::string::npos || !parse_dtype(word.substr(equals + 1), &dtype))
      return wrong("expected GENERIC=TYPE, as in T=f16, got '" + word + "'");
    binding[word.substr(0, equals)] = dtype;
  }
  return binding;
}

Result<CaseFile> parse_case_file(const std::string& path, const std::string& text) {
  CaseFile file;
  KAON_RETURN_IF_ERROR(Reader(path, &file).run(text));
  return file;
}

}  // namespace kaon::compiler
