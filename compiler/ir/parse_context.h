// What both halves of the textual IR's parser (header lines, ops) read: values, axes, types, layouts, expressions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/ir/lexer.h"

namespace kaon::compiler {

class ParseContext {
 public:
  ParseContext(TokenReader& reader, Kernel& kernel) : in(reader), kernel(kernel) {}

  TokenReader& in;
  Kernel& kernel;

  /// "%12"; makes room for it in kernel.values.
  ValueId value();
  bool at_value() const { return in.peek().kind == TokenKind::kValue; }
  /// "%12:f32[m, 1] @ [4w1 | 1] warps 4": defines the value.
  ValueId definition();
  /// "m" or "1".
  AxisId axis();
  /// "[m, 1]".
  std::vector<int64_t> axes_list();
  Type type();
  DType dtype();
  /// Infix over the names of the call's slots, as Expr::to_string writes it.
  Expr expr();

  void add_axis(Axis axis, size_t token_position);
  /// Call when the signature is complete: expressions can be read from here on.
  void know_slots();

 private:
  std::vector<ExprStep> sum();
  std::vector<ExprStep> product();
  std::vector<ExprStep> atom();
  void layout(ValueId value);

  std::map<std::string, AxisId> axes_by_name_;
  std::map<std::string, int> slots_by_name_;
  std::vector<bool> is_defined_;
};

/// Reads the lines from `stage` to `plan` and stops at the first op.
void parse_header(ParseContext& context);

}  // namespace kaon::compiler
