// The syntax tree as text: --emit=ast.
#include "compiler/frontend/ast.h"

namespace kaon::compiler::ast {
namespace {

class Dumper {
 public:
  std::string run(const File& file) {
    for (const Function& function : file.functions) {
      std::string head = "fn " + function.name.text + "(";
      for (size_t i = 0; i < function.params.size(); ++i) head += (i > 0 ? ", " : "") + function.params[i].text;
      line(0, head + ")");
      for (const Statement& statement : function.body) dump(statement, 1);
    }
    for (const Kernel& kernel : file.kernels) dump(kernel);
    return std::move(out_);
  }

 private:
  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<size_t>(depth) * 2, ' ') + text + "\n";
  }

  void dump(const Kernel& kernel) {
    line(0, "kernel " + kernel.name.text);
    for (const Param& param : kernel.inputs) dump(param, "input ");
    for (const Param& param : kernel.outputs) dump(param, "output ");
    for (const Generic& generic : kernel.generics) {
      std::string text = "generic " + generic.name.text;
      for (const Name& dtype : generic.dtypes) text += " " + dtype.text;
      line(1, text);
    }
    for (const Requirement& requirement : kernel.requirements) {
      line(1, "require");
      dump(*requirement.condition, 2);
    }
    for (const Specialised& dim : kernel.specialised) {
      std::string text = "specialize " + dim.name.text;
      for (int64_t value : dim.values) text += " " + std::to_string(value);
      line(1, text);
    }
    if (kernel.impls.empty()) line(1, "body");
    for (const Statement& statement : kernel.body) dump(statement, 2);
    for (const Impl& impl : kernel.impls) {
      line(1, "impl " + impl.name.text);
      for (const Statement& statement : impl.body) dump(statement, 2);
    }
  }

  void dump(const Param& param, const std::string& role) {
    std::string text = role + param.name.text + " " + param.type.text;
    if (param.kind == Param::Kind::kConstexpr) text += " constexpr default " + std::to_string(param.default_value);
    if (param.kind == Param::Kind::kTunable) text += " tunable";
    for (int64_t value : param.values) text += " " + std::to_string(value);
    if (param.kind == Param::Kind::kTensor) text += " tensor";
    if (param.zeroed) text += " zeroed";
    if (!param.alias.text.empty()) text += " alias " + param.alias.text;
    line(1, text);
    for (const ExpressionPtr& extent : param.extents) dump(*extent, 2);
  }

  void dump(const Statement& statement, int depth) {
    static const char* const kTexts[] = {"let", "var", "assign", "for", "if", "while", "return", "call"};
    std::string text = kTexts[static_cast<int>(statement.kind)];
    for (const Name& name : statement.names) text += " " + name.text;
    if (statement.kind == StatementKind::kAssign) text += " " + token_kind_text(statement.op);
    line(depth, text);
    if (statement.target != nullptr) dump(*statement.target, depth + 1);
    if (statement.value != nullptr) dump(*statement.value, depth + 1);
    for (const Statement& inner : statement.body) dump(inner, depth + 2);
    if (!statement.else_body.empty()) line(depth, "else");
    for (const Statement& inner : statement.else_body) dump(inner, depth + 2);
  }

  void dump(const Expression& node, int depth) {
    switch (node.kind) {
      case ExpressionKind::kName: line(depth, "name " + node.text); break;
      case ExpressionKind::kInteger: line(depth, "integer " + std::to_string(node.int_value)); break;
      case ExpressionKind::kFloat: line(depth, "float " + node.text); break;
      case ExpressionKind::kBool: line(depth, node.int_value != 0 ? "true" : "false"); break;
      case ExpressionKind::kNone: line(depth, "None"); break;
      case ExpressionKind::kUnary: line(depth, "unary " + token_kind_text(node.op)); break;
      case ExpressionKind::kBinary: line(depth, "binary " + token_kind_text(node.op)); break;
      case ExpressionKind::kCall: line(depth, "call " + node.text); break;
      case ExpressionKind::kSubscript: line(depth, "subscript"); break;
      case ExpressionKind::kMember: line(depth, "member " + node.text); break;
      case ExpressionKind::kSlice: line(depth, "slice"); break;
      case ExpressionKind::kTuple: line(depth, "tuple"); break;
      case ExpressionKind::kString: line(depth, "string " + node.text); break;
    }
    for (const ExpressionPtr& child : node.children) {
      if (child != nullptr) {
        dump(*child, depth + 1);
      } else {
        line(depth + 1, "open");
      }
    }
    for (const NamedArgument& argument : node.named) {
      line(depth + 1, "argument " + argument.name);
      dump(*argument.value, depth + 2);
    }
  }

  std::string out_;
};

}  // namespace

std::string dump(const File& file) { return Dumper().run(file); }

}  // namespace kaon::compiler::ast
