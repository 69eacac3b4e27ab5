// How a shapes file says what an input holds: labels below the number of classes, offsets of rows of different lengths.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aot_runner/measure/protocol.h"
#include "aot_runner/spec/shape.h"
#include "runtime/base/expr.h"
#include "runtime/base/status.h"

namespace kaon::runner {

/// What one input tensor holds, for any shape.
class DataRule {
 public:
  /// `value` is a text such as "range(0, V)", or {"choose": "NNZ % 2", "from": ["offsets(NNZ, even)", ..]}: the dims
  /// then choose one of several, by their number from 0. Arguments are numbers or expressions of `dims`.
  /// kInvalidArgument with `path`, cause and mend.
  static Result<DataRule> parse(const std::string& tensor, const nlohmann::ordered_json& value, const std::string& path,
                                const std::vector<std::string>& dims);

  const std::string& tensor() const { return tensor_; }
  /// As written.
  const std::string& text() const { return text_; }
  Recipe at(const Shape& shape) const;

 private:
  /// A number, or what dims give.
  struct Argument {
    double number = 0;
    Expr dims;
    bool is_number = true;
    double at(const Shape& shape) const;
  };
  struct Generator {
    RecipeKind kind = RecipeKind::kDefault;
    Argument low, high;
    double from_high = 0;  // added to `high`: ranges are written with their end, which is no value
  };
  static Result<Argument> parse_argument(const std::string& text, const std::string& path,
                                         const std::vector<std::string>& dims);
  static Result<Generator> parse_generator(const nlohmann::ordered_json& value, const std::string& path,
                                           const std::vector<std::string>& dims);

  std::string tensor_;
  std::string text_;
  Expr choose_;
  std::vector<Generator> from_;
};

}  // namespace kaon::runner
