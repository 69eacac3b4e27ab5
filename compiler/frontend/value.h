// What a name or an expression stands for while a kernel's body is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/frontend/ast.h"
#include "compiler/ir/host_int.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

struct Value {
  enum class Kind : uint8_t {
    kError,       // something was reported already; every use is silent
    kIntLiteral,  // no type yet: takes that of what it meets
    kFloatLiteral,
    kTyped,  // a value of the IR, or an i64 that the host knows and that becomes one when it is needed
    kTensor,
    kTileVariable,
    kBlock,     // a registered block size; `axis` is its axis
    kTuple,     // several numbers: what a function gives back, or a list in parentheses
    kFunction,  // the name of a function as an argument; `function` is null for one of the language
  };
  Kind kind = Kind::kError;
  int64_t int_value = 0;
  double float_value = 0;
  ValueId id = kNoValue;
  std::optional<HostInt> host;
  int tensor = 0;
  AxisId axis = kUnitAxis;
  std::optional<bool> truth;  // of a bool that is known while the kernel is built
  std::string name;  // tensors, tile variables, blocks and functions, for messages
  std::vector<Value> items;                 // kTuple: numbers
  const ast::Function* function = nullptr;  // kFunction

  static Value error() { return {}; }
  static Value int_literal(int64_t v) { return {Kind::kIntLiteral, v}; }
  static Value float_literal(double v) { return {Kind::kFloatLiteral, 0, v}; }
  static Value typed(ValueId id) { return {Kind::kTyped, 0, 0, id}; }
  static Value host_int(HostInt host) { return {Kind::kTyped, 0, 0, kNoValue, std::move(host)}; }
  static Value known_bool(ValueId id, bool truth) {
    Value value = typed(id);
    value.truth = truth;
    return value;
  }
  static Value tuple(std::vector<Value> items) {
    Value value;
    value.kind = Kind::kTuple;
    value.items = std::move(items);
    return value;
  }

  bool is_error() const { return kind == Kind::kError; }
  bool is_literal() const { return kind == Kind::kIntLiteral || kind == Kind::kFloatLiteral; }
  bool is_typed() const { return kind == Kind::kTyped; }
  bool is_number() const { return is_literal() || is_typed(); }
  bool is_tuple() const { return kind == Kind::kTuple; }
};

}  // namespace kaon::compiler
