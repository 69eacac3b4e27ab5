#include "aot_runner/spec/data_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "aot_runner/spec/dim_expr.h"
#include "aot_runner/spec/entries.h"

namespace kaon::runner {
namespace {

using json = nlohmann::ordered_json;

constexpr std::pair<const char*, RecipeKind> kLengths[] = {{"even", RecipeKind::kEvenOffsets},
                                                           {"uniform", RecipeKind::kUniformOffsets},
                                                           {"power", RecipeKind::kPowerOffsets},
                                                           {"giant", RecipeKind::kGiantOffsets},
                                                           {"half", RecipeKind::kHalfOffsets}};
constexpr const char* kExpected =
    "expected a number, normal(MEAN, DEVIATION), uniform(LOW, HIGH), range(LOW, END), sorted(LOW, END) or "
    "offsets(TOTAL, "
    "even|uniform|power|giant|half)";

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(' ');
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// "name(a, b)" as {"name", "a", "b"}; a text without parentheses as itself. Empty when they do not match.
std::vector<std::string> split_call(const std::string& text) {
  const size_t open = text.find('(');
  if (open == std::string::npos) return {trimmed(text)};
  if (text.back() != ')') return {};
  std::vector<std::string> parts = {trimmed(text.substr(0, open)), ""};
  int depth = 0;
  for (size_t i = open + 1; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth < 0) return {};
    if (text[i] == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += text[i];
  }
  for (std::string& part : parts) part = trimmed(part);
  return depth == 0 ? parts : std::vector<std::string>{};
}

}  // namespace

double DataRule::Argument::at(const Shape& shape) const {
  return is_number ? number : static_cast<double>(dims.evaluate(shape.data()));
}

Result<DataRule::Argument> DataRule::parse_argument(const std::string& text, const std::string& path,
                                                    const std::vector<std::string>& dims) {
  Argument argument;
  char* end = nullptr;
  argument.number = std::strtod(text.c_str(), &end);
  argument.is_number = !text.empty() && end == text.c_str() + text.size();
  if (argument.is_number) return argument;
  Result<Expr> expr = parse_dim_expr(text, dims);
  if (!expr.is_ok()) return shapes_error(path, expr.status().message());
  argument.dims = std::move(expr).value();
  return argument;
}

Result<DataRule::Generator> DataRule::parse_generator(const json& value, const std::string& path,
                                                      const std::vector<std::string>& dims) {
  if (!value.is_string() && !value.is_number()) return shapes_error(path, kExpected);
  const std::string text = trimmed(value.is_string() ? value.get<std::string>() : value.dump());
  const std::vector<std::string> parts = split_call(text);
  Generator generator;
  if (parts.size() == 1) {
    generator.kind = RecipeKind::kConstant;
    KAON_ASSIGN_OR_RETURN(generator.low, parse_argument(parts[0], path, dims));
    return generator;
  }
  if (parts.size() != 3) return shapes_error(path, fmt::format("\"{}\" is no generator; {}", text, kExpected));
  if (parts[0] == "offsets") {
    const auto lengths =
        std::find_if(std::begin(kLengths), std::end(kLengths), [&](const auto& l) { return parts[2] == l.first; });
    if (lengths == std::end(kLengths))
      return shapes_error(path, fmt::format("unknown lengths \"{}\"; {}", parts[2], kExpected));
    generator.kind = lengths->second;
    KAON_ASSIGN_OR_RETURN(generator.high, parse_argument(parts[1], path, dims));
    return generator;
  }
  if (parts[0] == "normal") {
    generator.kind = RecipeKind::kNormal;
  } else if (parts[0] == "uniform") {
    generator.kind = RecipeKind::kUniform;
  } else if (parts[0] == "range" || parts[0] == "sorted") {
    generator.kind = parts[0] == "range" ? RecipeKind::kUniform : RecipeKind::kSorted;
    generator.from_high = -1;
  } else {
    return shapes_error(path, fmt::format("unknown generator \"{}\"; {}", parts[0], kExpected));
  }
  KAON_ASSIGN_OR_RETURN(generator.low, parse_argument(parts[1], path, dims));
  KAON_ASSIGN_OR_RETURN(generator.high, parse_argument(parts[2], path, dims));
  return generator;
}

Result<DataRule> DataRule::parse(const std::string& tensor, const json& value, const std::string& path,
                                 const std::vector<std::string>& dims) {
  DataRule rule;
  rule.tensor_ = tensor;
  rule.text_ = value.dump();
  if (!value.is_object()) {
    KAON_ASSIGN_OR_RETURN(Generator only, parse_generator(value, path, dims));
    rule.from_.push_back(std::move(only));
    return rule;
  }
  const bool is_whole = value.size() == 2 && value.contains("choose") && value.contains("from");
  if (!is_whole || !value["choose"].is_string() || !value["from"].is_array() || value["from"].empty()) {
    return shapes_error(path, "must be a generator, or one of several: {\"choose\": \"N % 2\", \"from\": [.., ..]}");
  }
  Result<Expr> choose = parse_dim_expr(value["choose"].get<std::string>(), dims);
  if (!choose.is_ok()) return shapes_error(path + ".choose", choose.status().message());
  rule.choose_ = std::move(choose).value();
  for (size_t i = 0; i < value["from"].size(); ++i) {
    KAON_ASSIGN_OR_RETURN(Generator next, parse_generator(value["from"][i], fmt::format("{}.from[{}]", path, i), dims));
    rule.from_.push_back(std::move(next));
  }
  return rule;
}

Recipe DataRule::at(const Shape& shape) const {
  const int64_t chosen = std::clamp<int64_t>(choose_.evaluate(shape.data()), 0, static_cast<int64_t>(from_.size()) - 1);
  const Generator& generator = from_[static_cast<size_t>(chosen)];
  return {generator.kind, generator.low.at(shape), generator.high.at(shape) + generator.from_high};
}

}  // namespace kaon::runner
