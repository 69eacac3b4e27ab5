// Writes a random program statement by statement, with the types of all that is in scope at hand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/random_program.h"

namespace kaon::compiler {

constexpr int kUnit = -1;  // an axis of extent 1
constexpr size_t kMostInputs = 5;
constexpr size_t kMostParameters = 4;  // beside the inputs
constexpr int kDepth = 3;              // of expressions

/// Element type and axes, as places in the writer's table of axes or kUnit.
struct ValueType {
  DType dtype = DType::kF32;
  std::vector<int> axes;
  friend bool operator==(const ValueType& a, const ValueType& b) { return a.dtype == b.dtype && a.axes == b.axes; }
};

class ProgramWriter {
 public:
  explicit ProgramWriter(Choices& choices) : choices_(choices) {}
  RandomProgram run();

 private:
  /// Something that lanes run along: a tile variable, or a whole dimension.
  struct WriterAxis {
    std::string name;  // in a subscript: "m" or ":"
    std::string dim;   // the dimension that it runs over
    bool is_tile = false;
    std::vector<int> parents;  // axes that the lengths of a jagged tile run over
    int constant = 0;          // extent of a dimension that is a number; 0: the dimension has a name
  };
  struct Variable {
    std::string name;
    ValueType type;
    bool can_be_assigned = false;
  };
  struct Tensor {
    std::string name;
    DType dtype = DType::kF32;
    std::vector<std::string> extents;
    std::vector<int> axes;  // that it is read with
    std::string subscript;
    bool has_planes = false;  // three of them, before the axes
    bool is_zeroed = false;   // an output
    std::string alias;        // an output: the input that it may be
  };

  // -- program.cpp: the kernel, its loops and statements
  void declare_space();
  void write_statement(int depth);
  void write_let();
  void write_assignment();
  void write_loop(int depth);
  std::string random_lengths(const std::string& dim, WriterAxis* axis);
  void write_number_loop(int depth);
  void write_call();
  void write_if(int depth);
  void write_while(int depth);
  void write_block(int depth, int most);
  void write_block_loops(int depth);
  std::string signature() const;
  void choose_call(RandomProgram* program);
  void line(const std::string& text) { body_ += std::string(2 * static_cast<size_t>(indent_), ' ') + text + "\n"; }
  std::string new_name(const char* prefix) { return prefix + std::to_string(next_name_++); }
  ValueType random_type();
  DType random_dtype();
  DType random_float();

  // -- program_effects.cpp: what is left in memory
  bool place_axes(ValueType* type, Tensor* tensor);
  void write_store();
  void write_second_store(const Tensor& tensor, const ValueType& type);
  std::string store_places(const ValueType& type, Tensor* tensor);
  void write_atomic();
  static std::string place(const Tensor& tensor);
  std::string random_places(const ValueType& type, size_t count, std::string* mask);

  // -- program_values.cpp: expressions of a wanted type
  std::string value(const ValueType& type, int depth);
  std::string operand(const ValueType& type, int depth);
  std::string typed_operand(const ValueType& type, int depth);
  std::string variable(const ValueType& type, bool may_broadcast);
  std::string leaf(const ValueType& type);
  std::string literal(DType dtype);
  std::string filled(const ValueType& type);
  std::string extents_of(const ValueType& type) const;
  std::string load(const ValueType& type);
  std::string coordinates(const ValueType& type);
  std::string unary(const ValueType& type, int depth);
  std::string binary(const ValueType& type, int depth);
  std::string division(const ValueType& type, int depth);
  std::string shift(const ValueType& type, int depth);
  std::string choice(const ValueType& type, int depth);
  std::string cast(const ValueType& type, int depth);
  std::string comparison(const ValueType& type, int depth);
  std::string gather(const ValueType& type, int depth);
  std::string neighbour(const ValueType& type);
  std::string with_units(const std::string& text, const ValueType& type) const;
  std::string scalar_condition(int depth);
  const Tensor* find_or_make_input(DType dtype, const std::vector<int>& axes);
  std::string stored(const Tensor& tensor);
  bool has_parents(const std::vector<int>& axes) const;
  bool is_jagged(const std::vector<int>& axes) const;
  static bool has_units(const ValueType& type);
  static std::string cast_to(DType dtype, DType from, const std::string& text);

  // -- program_folds.cpp: expressions across lanes
  std::string reduction(const ValueType& type, int depth);
  std::string fold_by_function(const ValueType& from, int depth, const std::string& along);
  std::string scan(const ValueType& type, int depth);
  std::string scan_by_function(const ValueType& type, int depth, const std::string& along);
  std::string product(const ValueType& type, int depth);
  std::string factor(DType dtype, const std::vector<int>& axes);
  std::string function(const std::string& parameters, const std::string& body);

  // -- program_views.cpp: the same elements elsewhere
  std::string view(const ValueType& type, int depth);
  std::string stacked(const ValueType& type, int depth, int dim);
  std::string regrouped(const ValueType& type, int depth, size_t dim);

  Choices& choices_;
  std::vector<WriterAxis> axes_;
  std::vector<int> grid_;    // axes of the outermost loops
  std::vector<int> active_;  // axes that values may have here, in order
  std::vector<Variable> scope_;
  std::vector<Tensor> inputs_, outputs_;
  std::vector<Variable> scalar_variables_;
  std::vector<std::string> planes_;  // numbers below 3 that index planes, in scope
  std::map<std::string, std::vector<Generator>> data_;
  std::vector<std::string> parameters_;  // beside the inputs
  std::string body_, functions_, blocks_;
  int indent_ = 0;
  int next_name_ = 0;
};

}  // namespace kaon::compiler
