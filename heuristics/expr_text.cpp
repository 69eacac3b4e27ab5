// A recursive-descent parser.
#include "heuristics/expr_text.h"

#include <cctype>
#include <limits>

namespace kaon::heuristics {
namespace {

constexpr int kMaxNesting = 12;  // below kMaxExprDepth, so that what parses also evaluates

class Parser {
 public:
  Parser(std::string_view text, const NameResolver& resolve) : text_(text), resolve_(resolve) {}

  Result<Expr> parse(int num_slots) {
    KAON_ASSIGN_OR_RETURN(Expr value, sum());
    skip_space();
    if (at_ != text_.size()) return fail(std::string("expected an operator or the end, got ") + text_[at_]);
    KAON_RETURN_IF_ERROR(validate(value.view(), num_slots));
    return value;
  }

 private:
  Status fail(const std::string& what) const {
    return {Code::kInvalidArgument,
            "expression \"" + std::string(text_) + "\", column " + std::to_string(at_ + 1) + ": " + what};
  }

  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  Result<Expr> sum() {
    KAON_ASSIGN_OR_RETURN(Expr left, product());
    for (;;) {
      ExprOp op;
      if (accept("+")) {
        op = ExprOp::kAdd;
      } else if (accept("-")) {
        op = ExprOp::kSub;
      } else {
        return left;
      }
      KAON_ASSIGN_OR_RETURN(Expr right, product());
      left = Expr::binary(op, left, right);
    }
  }

  Result<Expr> product() {
    KAON_ASSIGN_OR_RETURN(Expr left, atom());
    for (;;) {
      ExprOp op;
      if (accept("*")) {
        op = ExprOp::kMul;
      } else if (accept("//") || accept("/")) {
        op = ExprOp::kFloorDiv;
      } else if (accept("%")) {
        op = ExprOp::kMod;
      } else {
        return left;
      }
      KAON_ASSIGN_OR_RETURN(Expr right, atom());
      left = Expr::binary(op, left, right);
    }
  }

  Result<Expr> atom() {
    skip_space();
    if (at_ == text_.size()) return fail("expected a value, got the end");
    if (accept("(")) {
      KAON_RETURN_IF_ERROR(enter());
      KAON_ASSIGN_OR_RETURN(Expr inner, sum());
      --nesting_;
      if (!accept(")")) return fail("expected )");
      return inner;
    }
    unsigned char c = static_cast<unsigned char>(text_[at_]);
    if (std::isdigit(c)) return literal();
    if (std::isalpha(c) || c == '_') return name();
    return fail(std::string("expected a dim, a number or (, got ") + static_cast<char>(c));
  }

  Result<Expr> literal() {
    int64_t value = 0;
    while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      int64_t digit = text_[at_] - '0';
      if (value > (std::numeric_limits<int64_t>::max() - digit) / 10) return fail("number does not fit 64 bits");
      value = value * 10 + digit;
      ++at_;
    }
    return Expr(value);
  }

  Result<Expr> name() {
    size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    std::string word(text_.substr(begin, at_ - begin));
    if (accept("(")) {
      if (word == "min") return call(ExprOp::kMin);
      if (word == "max") return call(ExprOp::kMax);
      if (word == "ceil_div") return call(ExprOp::kCeilDiv);
      if (word == "floor_div") return call(ExprOp::kFloorDiv);
      at_ = begin;
      return fail("unknown function '" + word + "', known are min, max, ceil_div, floor_div");
    }
    Result<Expr> value = resolve_(word);
    at_ = value.is_ok() ? at_ : begin;
    return value.is_ok() ? value : fail(value.status().message());
  }

  Result<Expr> call(ExprOp op) {
    KAON_RETURN_IF_ERROR(enter());
    KAON_ASSIGN_OR_RETURN(Expr a, sum());
    if (!accept(",")) return fail("expected a comma and a second argument");
    KAON_ASSIGN_OR_RETURN(Expr b, sum());
    if (!accept(")")) return fail("expected )");
    --nesting_;
    return Expr::binary(op, a, b);
  }

  Status enter() {
    if (++nesting_ > kMaxNesting) return fail("nested more than " + std::to_string(kMaxNesting) + " deep");
    return Status::ok();
  }

  std::string_view text_;
  const NameResolver& resolve_;
  size_t at_ = 0;
  int nesting_ = 0;
};

}  // namespace

Result<Expr> parse_expr(std::string_view text, const NameResolver& resolve, int num_slots) {
  return Parser(text, resolve).parse(num_slots);
}

Result<Expr> parse_expr(std::string_view text, const Signature& signature) {
  const auto resolve = [&](const std::string& name) -> Result<Expr> {
    if (const int dim = signature.find_dim(name); dim >= 0) return Expr::slot(signature.dim_slot(dim));
    const int scalar = signature.find_scalar(name);
    if (scalar < 0) return Status(Code::kInvalidArgument, name + " is no dim, integer scalar or function");
    const DType dtype = signature.scalars[static_cast<size_t>(scalar)].dtype;
    if (dtype_is_int(dtype)) return Expr::slot(signature.scalar_slot(scalar));
    return Status(Code::kInvalidArgument, name + " is a " + dtype_name(dtype) + ", expected an integer");
  };
  return parse_expr(text, resolve, signature.num_slots());
}

}  // namespace kaon::heuristics
