// The ops of the textual IR: one function per part of an op's line.
#include "compiler/ir/parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "compiler/ir/choices.h"
#include "compiler/ir/lexer.h"
#include "compiler/ir/parse_context.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

class BodyParser {
 public:
  explicit BodyParser(ParseContext& context) : context_(context), in_(context.in), kernel_(context.kernel) {}

  /// Ops up to the '}' that ends the region, which is taken.
  void region_ops(Region* region) {
    while (in_.ok() && !in_.accept("}")) {
      if (in_.peek().kind == TokenKind::kEnd) return in_.fail("an op or '}'");
      auto op = std::make_unique<Op>();
      parse_op(op.get());
      region->ops.push_back(std::move(op));
    }
  }

 private:
  void parse_op(Op* op) {
    if (context_.at_value()) {
      do {
        op->results.push_back(context_.definition());
      } while (in_.accept(","));
      in_.expect("=");
    }
    const size_t start = in_.position();
    const std::string name = in_.peek().text;
    if (in_.peek().kind != TokenKind::kName || !parse_op_kind(name, &op->kind))
      return in_.fail_at(start, "no op is named '" + name + "'");
    in_.take();
    std::vector<ValueId> behind;  // values behind an access's subscript
    if (is_access(op->kind))
      access(op, &behind);
    else if (at_operand())
      operands(op);
    if (in_.accept("{")) {
      // A region's '{' looks like that of attributes; a region that starts with attributes-like text does not exist.
      if (at_attribute() || (in_.at("}") && op_info(op->kind).regions == 0))
        attributes(op);
      else
        in_.set_position(in_.position() - 1);
    }
    if (is_access(op->kind)) arrange(op, behind);
    regions(op);
    if (in_.ok() && in_.peek().kind == TokenKind::kNames) in_.fail("the names before a region");
  }

  bool at_attribute() const {
    const Token& next = in_.peek(1);
    const bool is_name = in_.peek().kind == TokenKind::kName || in_.peek().kind == TokenKind::kString;
    return is_name && next.kind == TokenKind::kSymbol && next.text == "=";
  }

  /// A value with a type begins the next op's line.
  bool at_operand() const { return context_.at_value() && in_.peek(1).text != ":"; }

  void operands(Op* op) {
    do {
      op->operands.push_back(context_.value());
    } while (in_.accept(","));
  }

  int64_t tensor_name() {
    const size_t start = in_.position();
    const std::string name = in_.expect_name("a tensor");
    const int tensor = kernel_.signature.find_tensor(name);
    if (tensor < 0) in_.fail_at(start, "no tensor is named " + name);
    return tensor;
  }

  void access(Op* op, std::vector<ValueId>* behind) {
    op->set_attr("tensor", tensor_name());
    std::vector<Indexer> index;
    in_.expect("[");
    if (!in_.at("]")) {
      do {
        index.push_back(indexer(op));
      } while (in_.accept(","));
    }
    in_.expect("]");
    op->set_attr("index", std::move(index));
    if (!at_operand()) return;
    do {
      behind->push_back(context_.value());
    } while (in_.accept(","));
  }

  /// Values come before what indexers read, mask and other behind it: only the attributes tell them apart.
  static void arrange(Op* op, const std::vector<ValueId>& behind) {
    const size_t lead = (op->kind == OpKind::kLoad ? 0 : 1) + (op->str_attr("fn") == "cas" ? 1 : 0);
    const auto cut = behind.begin() + static_cast<ptrdiff_t>(std::min(lead, behind.size()));
    std::vector<Indexer> index = op->index_attr("index");
    for (Indexer& indexer : index) {
      if (indexer.operand >= 0) indexer.operand += static_cast<int>(cut - behind.begin());
    }
    op->set_attr("index", std::move(index));
    op->operands.insert(op->operands.begin(), behind.begin(), cut);
    op->operands.insert(op->operands.end(), cut, behind.end());
  }

  Indexer indexer(Op* op) {
    Indexer indexer;
    auto operand = [&] {
      indexer.operand = static_cast<int>(op->operands.size());
      op->operands.push_back(context_.value());
    };
    if (context_.at_value()) {
      indexer.kind = Indexer::Kind::kScalar;
      operand();
    } else if (in_.at("gather") && in_.peek(1).kind == TokenKind::kValue) {
      in_.take();
      indexer.kind = Indexer::Kind::kTile;
      operand();
    } else {
      indexer.axis = context_.axis();
      if (in_.accept("+")) operand();
    }
    return indexer;
  }

  void attributes(Op* op) {
    if (in_.accept("}")) return;
    do {
      const size_t start = in_.position();
      const std::string name = in_.expect_name("an attribute's name");
      if (op->find_attr(name)) in_.fail_at(start, "attribute " + name + " is given a second time");
      in_.expect("=");
      op->attrs.emplace_back(name, attribute(name));
    } while (in_.accept(","));
    in_.expect("}");
  }

  Attr attribute(const std::string& name) {
    const bool is_name = in_.peek().kind == TokenKind::kName || in_.peek().kind == TokenKind::kString;
    if (name == "axis" && is_name) return int64_t{context_.axis()};
    if (name == "axes" && in_.at("[")) return context_.axes_list();
    if (name == "tensor" && is_name) return tensor_name();
    if (name == "buffer" && is_name) return buffer_name();
    if (in_.peek().kind == TokenKind::kString) return in_.take().text;
    if (in_.at("[")) return integers();
    if (in_.at("expr")) return expression();
    if (in_.at_number()) return number();
    in_.fail("a number, a string, a list or expr(...)");
    return int64_t{0};
  }

  int64_t buffer_name() {
    const size_t start = in_.position();
    const std::string name = in_.expect_name("a shared buffer");
    for (size_t i = 0; i < kernel_.shared_buffers.size(); ++i) {
      if (kernel_.shared_buffers[i].name == name) return static_cast<int64_t>(i);
    }
    in_.fail_at(start, "no shared buffer is named " + name);
    return 0;
  }

  std::vector<int64_t> integers() {
    std::vector<int64_t> list;
    in_.expect("[");
    if (in_.accept("]")) return list;
    do {
      list.push_back(in_.expect_integer("an integer"));
    } while (in_.accept(","));
    in_.expect("]");
    return list;
  }

  Expr expression() {
    in_.expect("expr");
    in_.expect("(");
    Expr expr = context_.expr();
    in_.expect(")");
    return expr;
  }

  /// An integer, or a float if the text has one of the marks of a float.
  Attr number() {
    const Token token = in_.peek(in_.at("-") ? 1 : 0);
    if (token.text.find_first_of(".en") == std::string::npos) return in_.expect_integer("a number");
    const double sign = in_.accept("-") ? -1.0 : 1.0;
    if (token.text == "inf") return in_.take(), sign * std::numeric_limits<double>::infinity();
    if (token.text == "nan") return in_.take(), std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    const char* last = token.text.data() + token.text.size();
    const auto [end, error] = std::from_chars(token.text.data(), last, value);
    if (end != last || error == std::errc::invalid_argument) in_.fail("a number");
    in_.take();
    return sign * value;
  }

  void regions(Op* op) {
    const int count = op_info(op->kind).regions;
    for (int i = 0; i < count && in_.ok(); ++i) {
      if (i > 0) in_.expect("else");
      Region& region = op->regions.emplace_back();
      if (in_.accept("(")) {
        do {
          region.args.push_back(context_.definition());
        } while (in_.accept(","));
        in_.expect(")");
      }
      in_.expect("{");
      if (i == 0) names(op);
      region_ops(&region);
    }
    if (count == 0) names(op);
  }

  /// "# row, _": source names of the results, then of the first region's arguments.
  void names(Op* op) {
    if (!in_.ok() || in_.peek().kind != TokenKind::kNames) return;
    std::vector<ValueId> defined = op->results;
    for (const Region& region : op->regions) defined.insert(defined.end(), region.args.begin(), region.args.end());
    const size_t start = in_.position();
    Result<std::vector<Token>> tokens = tokenize(in_.take().text);
    if (!tokens) return in_.fail_at(start, "names: " + tokens.status().message());
    TokenReader reader(std::string_view(), *tokens);
    for (size_t i = 0; i < defined.size(); ++i) {
      if (i > 0) reader.expect(",");
      const std::string name = reader.expect_name("a name");
      if (name != "_") kernel_.values[static_cast<size_t>(defined[i])].name = name;
    }
    if (!reader.ok() || reader.peek().kind != TokenKind::kEnd) {
      in_.fail_at(start, "expected " + std::to_string(defined.size()) + " names after '#'");
    }
  }

  ParseContext& context_;
  TokenReader& in_;
  Kernel& kernel_;
};

Kernel one_kernel(TokenReader& reader) {
  Kernel kernel;
  ParseContext context(reader, kernel);
  reader.expect("kernel");
  kernel.signature.kernel = reader.expect_name("a kernel's name");
  reader.expect("{");
  parse_header(context);
  if (reader.ok()) BodyParser(context).region_ops(&kernel.body);
  return kernel;
}

KernelChoice one_choice(TokenReader& reader) {
  KernelChoice choice;
  choice.knob = reader.expect_string();
  reader.expect("[");
  do {
    choice.values.push_back(reader.expect_string());
  } while (reader.accept(","));
  reader.expect("]");
  choice.help = reader.expect_string();
  return choice;
}

/// The first body, with all of them as its choices.
Kernel with_bodies(TokenReader& reader, std::vector<KernelChoice> knobs) {
  auto choices = std::make_shared<KernelChoices>();
  choices->knobs = std::move(knobs);
  size_t count = 1;
  for (const KernelChoice& choice : choices->knobs) count *= choice.values.size();
  while (reader.ok() && choices->bodies.size() < count) choices->bodies.push_back(one_kernel(reader));
  Kernel kernel = clone(choices->bodies[0]);
  kernel.choices = std::move(choices);
  return kernel;
}

}  // namespace

Result<Kernel> parse_kernel(std::string_view text) {
  KAON_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(text));
  TokenReader reader(text, std::move(tokens));
  std::vector<KernelChoice> knobs;
  while (reader.accept("choice")) knobs.push_back(one_choice(reader));
  if (!reader.ok()) return reader.status();
  Kernel kernel = knobs.empty() ? one_kernel(reader) : with_bodies(reader, std::move(knobs));
  if (reader.ok() && reader.peek().kind != TokenKind::kEnd) reader.fail("the end");
  if (!reader.ok()) return reader.status();
  return kernel;
}

}  // namespace kaon::compiler
