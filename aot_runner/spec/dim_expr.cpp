#include "aot_runner/spec/dim_expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace kaon::runner {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const std::vector<std::string>& names) : text_(text), names_(names) {}

  Result<Expr> parse() {
    KAON_ASSIGN_OR_RETURN(Expr value, sum());
    skip_space();
    if (pos_ != text_.size()) return unexpected("the end");
    return value;
  }

 private:
  Status unexpected(const char* expected) const {
    const std::string got = pos_ < text_.size() ? fmt::format("'{}'", text_[pos_]) : "the end";
    return {Code::kInvalidArgument,
            fmt::format("expression \"{}\": expected {} at position {}, got {}", text_, expected, pos_, got)};
  }
  void skip_space() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_]))) ++pos_;
  }
  bool accept(char c) {
    skip_space();
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  Result<Expr> sum() {
    KAON_ASSIGN_OR_RETURN(Expr left, product());
    for (;;) {
      const bool plus = accept('+');
      if (!plus && !accept('-')) return left;
      KAON_ASSIGN_OR_RETURN(Expr right, product());
      left = plus ? left + right : left - right;
    }
  }

  Result<Expr> product() {
    KAON_ASSIGN_OR_RETURN(Expr left, atom());
    for (;;) {
      ExprOp op = ExprOp::kMul;
      if (accept('*')) {
        op = ExprOp::kMul;
      } else if (accept('/')) {
        op = ExprOp::kFloorDiv;
      } else if (accept('%')) {
        op = ExprOp::kMod;
      } else {
        return left;
      }
      KAON_ASSIGN_OR_RETURN(Expr right, atom());
      left = Expr::binary(op, left, right);
    }
  }

  Result<Expr> atom() {
    if (++nesting_ > 32) return Status(Code::kInvalidArgument, "expression is nested more than 32 deep");
    Result<Expr> value = atom_inner();
    --nesting_;
    return value;
  }

  Result<Expr> atom_inner() {
    if (accept('(')) {
      KAON_ASSIGN_OR_RETURN(Expr inner, sum());
      if (!accept(')')) return unexpected("')'");
      return inner;
    }
    skip_space();
    const size_t start = pos_;
    while (pos_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[pos_]))) ++pos_;
    if (pos_ > start) {
      if (pos_ - start > 18) return Status(Code::kInvalidArgument, fmt::format("expression \"{}\": number too large", text_));
      return Expr(static_cast<int64_t>(std::stoll(std::string(text_.substr(start, pos_ - start)))));
    }
    while (pos_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_')) ++pos_;
    if (pos_ == start) return unexpected("a dim, a number or '('");
    const std::string word(text_.substr(start, pos_ - start));
    if (accept('(')) return call(word);
    const auto it = std::find(names_.begin(), names_.end(), word);
    if (it == names_.end()) {
      return Status(Code::kInvalidArgument, fmt::format("expression \"{}\": unknown dim '{}', known are {}", text_, word,
                                                        fmt::join(names_, ", ")));
    }
    return Expr::slot(static_cast<int>(it - names_.begin()));
  }

  Result<Expr> call(const std::string& function) {
    static constexpr struct {
      const char* name;
      ExprOp op;
    } kFunctions[] = {{"min", ExprOp::kMin},
                      {"max", ExprOp::kMax},
                      {"ceil_div", ExprOp::kCeilDiv},
                      {"floor_div", ExprOp::kFloorDiv}};
    for (const auto& known : kFunctions) {
      if (function != known.name) continue;
      KAON_ASSIGN_OR_RETURN(Expr a, sum());
      if (!accept(',')) return unexpected("','");
      KAON_ASSIGN_OR_RETURN(Expr b, sum());
      if (!accept(')')) return unexpected("')'");
      return Expr::binary(known.op, a, b);
    }
    return Status(Code::kInvalidArgument,
                  fmt::format("expression \"{}\": unknown function '{}', known are min, max, ceil_div, floor_div", text_,
                              function));
  }

  std::string_view text_;
  const std::vector<std::string>& names_;
  size_t pos_ = 0;
  int nesting_ = 0;
};

}  // namespace

Result<Expr> parse_dim_expr(std::string_view text, const std::vector<std::string>& names) {
  Result<Expr> expr = Parser(text, names).parse();
  if (!expr.is_ok()) return expr;
  if (Status status = validate(expr->view(), static_cast<int>(names.size())); !status.is_ok()) {
    return Status(Code::kInvalidArgument, fmt::format("expression \"{}\": {}", text, status.message()));
  }
  return expr;
}

Expr remap_slots(const Expr& expr, const std::vector<int>& slots) {
  std::vector<ExprStep> steps = expr.steps();
  for (ExprStep& step : steps) {
    if (step.op == ExprOp::kSlot) step.operand = slots[static_cast<size_t>(step.operand)];
  }
  return Expr::from_steps(std::move(steps));
}

}  // namespace kaon::runner
