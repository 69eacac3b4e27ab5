// The syntax tree: what was written, before any name is looked up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/lexer.h"
#include "compiler/support/source.h"

namespace kaon::compiler::ast {

enum class ExpressionKind : uint8_t {
  kName,       // text
  kInteger,    // int_value
  kFloat,      // float_value
  kBool,       // int_value is 0 or 1
  kNone,       // `None` in a subscript
  kUnary,      // op; children[0]
  kBinary,     // op; children[0], children[1]
  kCall,       // text(children..., named...)
  kSubscript,  // children[0][children[1], ...]
  kMember,     // children[0].text
  kSlice,      // children[0] : children[1], either may be null
  kTuple,      // (children...)
  kString,     // text, without its quotes
};

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct NamedArgument {
  std::string name;
  SourceRange name_range;
  ExpressionPtr value;
};

struct Expression {
  ExpressionKind kind = ExpressionKind::kName;
  SourceRange range;
  SourceRange focus;  // where a caret fits best: the operator, the member's or callee's name
  std::string text;
  TokenKind op = TokenKind::kEnd;
  int64_t int_value = 0;
  double float_value = 0;
  std::vector<ExpressionPtr> children;
  std::vector<NamedArgument> named;
};

enum class StatementKind : uint8_t {
  kLet,     // names[0] = value
  kVar,     // names[0] = value
  kAssign,  // target op value; op is kEqual or a compound token
  kFor,     // for names in value { body }
  kIf,      // if value { body } else { else_body }
  kWhile,   // while value { body }
  kReturn,  // value
  kCall,    // value, a call for what it does
};

struct Name {
  std::string text;
  SourceRange range;
};

struct Statement {
  StatementKind kind = StatementKind::kLet;
  SourceRange range;
  std::vector<Name> names;
  TokenKind op = TokenKind::kEqual;
  SourceRange op_range;
  ExpressionPtr target;
  ExpressionPtr value;
  std::vector<Statement> body;
  std::vector<Statement> else_body;  // `else if` is an `if` alone in it
};

struct Function {
  Name name;
  std::vector<Name> params;
  std::vector<Statement> body;
  SourceRange range;
};

struct Param {
  enum class Kind : uint8_t { kTensor, kScalar, kConstexpr, kTunable };
  Kind kind = Kind::kScalar;
  Name name;
  Name type;                           // "f16", "T"
  std::vector<ExpressionPtr> extents;  // kTensor
  SourceRange extents_range;
  int64_t default_value = 0;  // kConstexpr
  SourceRange default_range;
  std::vector<int64_t> values;  // kTunable: what the config may choose, the default first
  bool zeroed = false;          // outputs
  Name alias;                   // outputs; text empty for none
};

struct Generic {
  Name name;
  std::vector<Name> dtypes;
};

struct Requirement {
  ExpressionPtr condition;
  std::string text;  // as written, blank space normalised
};

/// A dimension that is compiled for fixed values: `specialize N in (64, 128)`.
struct Specialised {
  Name name;
  std::vector<int64_t> values;
};

/// One of several bodies: `impl name { ... }`.
struct Impl {
  Name name;
  std::vector<Statement> body;
};

struct Kernel {
  Name name;
  std::vector<Param> inputs;
  std::vector<Param> outputs;
  std::vector<Generic> generics;
  std::vector<Requirement> requirements;
  std::vector<Specialised> specialised;
  std::vector<Statement> body;  // of a kernel without `impl`
  std::vector<Impl> impls;
  SourceRange range;
};

struct File {
  std::vector<Kernel> kernels;
  std::vector<Function> functions;
};

/// The tree as indented text, one node a line.
std::string dump(const File& file);

}  // namespace kaon::compiler::ast
