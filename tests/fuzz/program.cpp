// Random kernels: loops, statements, stores, and a call.
#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include "tests/fuzz/program_writer.h"

namespace kaon::compiler {
namespace {

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

RandomProgram random_program(Choices& choices) { return ProgramWriter(choices).run(); }

DType ProgramWriter::random_float() {
  static constexpr DType kFloats[] = {DType::kF32, DType::kF32, DType::kF16, DType::kBF16, DType::kF64};
  return choices_.pick(kFloats);
}

DType ProgramWriter::random_dtype() {
  static constexpr DType kOthers[] = {DType::kI32, DType::kI64, DType::kI8,  DType::kU8,
                                      DType::kI16, DType::kU32, DType::kBool};
  return choices_.below(5) < 3 ? random_float() : choices_.pick(kOthers);
}

/// Any part of the axes that are there, in their order.
ValueType ProgramWriter::random_type() {
  ValueType type{random_dtype(), {}};
  for (const int id : active_) {
    if (choices_.below(4) != 3) type.axes.push_back(id);
  }
  return type;
}

/// The grid's loops and the whole dimensions.
void ProgramWriter::declare_space() {
  struct Space {
    std::vector<const char*> tiles, rows;
  };
  static const Space kSpaces[] = {{{"m"}, {"N"}},      {{"m"}, {}},         {{"m", "n"}, {}},
                                  {{"m"}, {"N", "K"}}, {{"b", "m"}, {"N"}}, {{"m", "n"}, {"K"}},
                                  {{"m"}, {"16"}},     {{"m"}, {"N", "6"}}, {{"m", "n"}, {"8"}}};
  const Space& space = choices_.pick(kSpaces);
  std::vector<std::string> names, dims, blocks;
  for (const char* name : space.tiles) {
    std::string dim = name;
    dim[0] = static_cast<char>(dim[0] - 'a' + 'A');
    grid_.push_back(static_cast<int>(axes_.size()));
    axes_.push_back({name, dim, true, {}, 0});
    names.emplace_back(name);
    dims.push_back(dim);
  }
  for (const char* dim : space.rows) axes_.push_back({":", dim, false, {}, std::atoi(dim)});
  for (size_t i = 0; i < axes_.size(); ++i) active_.push_back(static_cast<int>(i));
  std::string head = "for " + joined(names) + " in tile(" + joined(dims);
  static constexpr const char* kBlocks[] = {"1", "4", "16"};
  if (choices_.one_in(5)) {
    const std::string block = choices_.pick(kBlocks);
    head += names.size() == 1 ? ", block=" + block : ", block=(" + block + ", 8)";
  }
  line(head + ") {");
  ++indent_;
}

void ProgramWriter::write_let() {
  const ValueType type = random_type();
  const std::string text = value(type, kDepth);
  const bool can_be_assigned = choices_.one_in(2);
  const std::string name = new_name("v");
  line((can_be_assigned ? "var " : "let ") + name + " = " + text + ";");
  scope_.push_back({name, type, can_be_assigned});
}

void ProgramWriter::write_assignment() {
  std::vector<Variable> candidates;
  for (const Variable& variable : scope_) {
    if (variable.can_be_assigned) candidates.push_back(variable);
  }
  if (candidates.empty()) return write_let();
  const Variable variable = choices_.pick(candidates);
  const bool is_bool = variable.type.dtype == DType::kBool;
  const bool is_float = dtype_is_float(variable.type.dtype);
  static constexpr const char* kOps[] = {"=", "+=", "-=", "*=", "&=", "^=", "%="};
  const std::string op = is_bool ? "=" : kOps[choices_.below(is_float ? 3 : 7)];
  line(variable.name + " " + op + " " + value(variable.type, kDepth - 1) + ";");
}

void ProgramWriter::write_block(int depth, int most) {
  const size_t visible = scope_.size();
  ++indent_;
  const auto count = 1 + choices_.below(static_cast<uint32_t>(most));
  for (uint32_t i = 0; i < count; ++i) {
    if (choices_.below(2) == 0)
      write_assignment();
    else
      write_statement(depth - 1);
  }
  --indent_;
  scope_.resize(visible);
}

/// Lengths along one or two of the tiles around, up to `dim`; empty where there is no tile.
std::string ProgramWriter::random_lengths(const std::string& dim, WriterAxis* axis) {
  for (const int id : active_) {
    if (axes_[static_cast<size_t>(id)].is_tile && axis->parents.size() < 2 && choices_.below(4) != 3)
      axis->parents.push_back(id);
  }
  if (axis->parents.empty() || !has_parents(axis->parents)) return "";
  static constexpr DType kTypes[] = {DType::kI64, DType::kI32, DType::kI16};
  const Tensor* tensor = find_or_make_input(choices_.pick(kTypes), axis->parents);
  return tensor == nullptr ? ""
                           : "minimum(i64(" + tensor->name + "[" + (tensor->has_planes ? "2, " : "") +
                                 tensor->subscript + "]), " + dim + ")";
}

/// A loop on the device over tiles of another dimension.
void ProgramWriter::write_loop(int depth) {
  const auto id = static_cast<int>(axes_.size());
  const std::string name = new_name("k");
  static constexpr const char* kDims[] = {"P", "Q"};
  const std::string dim = choices_.pick(kDims);
  static constexpr const char* kRanges[] = {"0:", "1:", "0:2 + "};
  std::string range = dim, loop = "tile";
  WriterAxis axis{name, dim, true, {}, 0};
  const uint32_t kind = choices_.below(6);
  const std::string lengths = kind > 3 ? random_lengths(dim, &axis) : "";
  if (!lengths.empty()) loop = "jagged_tile", range = lengths;
  if (lengths.empty()) axis.parents.clear();
  if (kind > 0 && kind < 4) axis.dim = dim + " + 2", range = kRanges[kind - 1] + dim;
  axes_.push_back(axis);
  static constexpr const char* kBlocks[] = {"", ", block=1", ", block=8", ", block=32"};
  const std::string block = kBlocks[choices_.below(4)];
  line("for " + name + " in " + loop + "(" + range + block + ") {");
  active_.push_back(id);
  write_block(depth, 2);
  active_.pop_back();
  line("}");
}

/// A loop over numbers, on the device or unrolled.
void ProgramWriter::write_number_loop(int depth) {
  const std::string name = new_name("turn");
  static constexpr const char* kLoops[] = {"grid(3)", "grid(1:3)", "static_range(3)", "static_range(0, 3, 2)"};
  line("for " + name + " in " + choices_.pick(kLoops) + " {");
  planes_.push_back(name);
  write_block(depth, 2);
  planes_.pop_back();
  line("}");
}

/// Two values at once, from a helper.
void ProgramWriter::write_call() {
  static constexpr const char* kBodies[] = {"return a + b, a;", "let t = a * b; return t - a, maximum(t, b);",
                                            "return where(a < b, a, b), a == b;"};
  ValueType type = random_type();
  if (type.dtype == DType::kBool) type.dtype = DType::kF32;
  const std::string name = new_name("helper");
  const uint32_t body = choices_.below(3);
  functions_ += "fn " + name + "(a, b) { " + kBodies[body] + " }\n";
  const std::string a = value(type, 2), b = value(type, 1), first = new_name("v"), second = new_name("v");
  line("let " + first + ", " + second + " = " + name + "(" + a + ", " + b + ");");
  scope_.push_back({first, type, false});
  scope_.push_back({second, {body == 2 ? DType::kBool : type.dtype, type.axes}, false});
}

void ProgramWriter::write_if(int depth) {
  line("if " + scalar_condition(2) + " {");
  write_block(depth, 2);
  if (choices_.below(2) == 1) {
    line("} else {");
    write_block(depth, 2);
  }
  line("}");
}

void ProgramWriter::write_while(int depth) {
  const std::string counter = new_name("c");
  line("var " + counter + " = 0;");
  const uint32_t turns = 1 + choices_.below(4);
  std::string condition = counter + " < " + std::to_string(turns);
  if (choices_.one_in(2)) condition += " and " + scalar_condition(1);
  line("while " + condition + " {");
  write_block(depth, 2);
  ++indent_;
  line(counter + " += 1;");
  --indent_;
  line("}");
  scope_.push_back({counter, {DType::kI64, {}}, false});
}

/// Sums and the like tile by tile in a variable along a registered block, which is folded behind its loops.
void ProgramWriter::write_block_loops(int depth) {
  ValueType type = random_type();
  if (type.dtype == DType::kBool) type.dtype = DType::kI32;
  if (!has_parents(type.axes) || type.axes.size() > 3) return write_let();
  static constexpr const char* kDims[] = {"P", "Q"};
  static constexpr const char* kFolds[] = {"sum", "amax", "amin"};
  const std::string dim = choices_.pick(kDims), block = new_name("B"), sum = new_name("acc");
  blocks_ += "  let " + block + " = block(" + dim + ");\n";
  line("var " + sum + " = full(" + dtype_name(type.dtype) + ", " + literal(type.dtype) + extents_of(type) + ", " +
       block + ");");
  const uint32_t loops = 1 + choices_.below(2);
  for (uint32_t i = 0; i < loops; ++i) {
    const auto id = static_cast<int>(axes_.size());
    const std::string name = new_name("k");
    axes_.push_back({name, dim, true, {}, 0});
    line("for " + name + " in tile(" + dim + ", block=" + block + ") {");
    active_.push_back(id);
    ++indent_;
    ValueType along = type;
    along.axes.push_back(id);
    const std::string added = value(along, 2);
    if (choices_.below(2) == 0)
      line(sum + " += " + added + ";");
    else
      line(sum + " = maximum(" + sum + ", " + added + ");");
    --indent_;
    if (choices_.one_in(4)) write_block(depth, 1);
    active_.pop_back();
    line("}");
  }
  const std::string name = new_name("v");
  line("let " + name + " = " + choices_.pick(kFolds) + "(" + (choices_.one_in(3) ? "-" : "") + sum + ", dim=-1);");
  scope_.push_back({name, type, false});
}

void ProgramWriter::write_statement(int depth) {
  const uint32_t kind = choices_.below(22);
  if (kind == 6) return write_call();
  // Outputs are left for what stands at the end.
  if (kind >= 18 && outputs_.size() < 2) return kind < 20 ? write_store() : write_atomic();
  if (depth <= 0 || kind < 6 || kind >= 18) return write_let();
  if (kind < 9) return write_assignment();
  if (kind < 13) return write_loop(depth);
  if (kind == 13) return write_number_loop(depth);
  if (kind == 14) return write_if(depth);
  if (kind == 15) return write_while(depth);
  write_block_loops(depth);
}

std::string ProgramWriter::signature() const {
  std::vector<std::string> parameters = parameters_, results;
  for (const Tensor& tensor : inputs_)
    parameters.push_back(tensor.name + ": " + dtype_name(tensor.dtype) + "[" + joined(tensor.extents) + "]");
  // Each dimension is some tensor's own extent.
  std::vector<std::string> dims;
  const auto own = [&](const std::string& dim) {
    if (std::find(dims.begin(), dims.end(), dim) == dims.end()) dims.push_back(dim);
  };
  for (const WriterAxis& axis : axes_) {
    if (axis.constant == 0) own(axis.dim.substr(0, 1));
  }
  for (const Tensor& tensor : outputs_) {
    for (const std::string& extent : tensor.extents) {
      if (extent == "S") own("S");
    }
  }
  for (const std::string& dim : dims) {
    const auto names = [&](const Tensor& tensor) {
      return std::find(tensor.extents.begin(), tensor.extents.end(), dim) != tensor.extents.end();
    };
    if (std::none_of(inputs_.begin(), inputs_.end(), names) && std::none_of(outputs_.begin(), outputs_.end(), names))
      parameters.push_back("size_" + dim + ": u8[" + dim + "]");
  }
  for (const Variable& scalar : scalar_variables_)
    parameters.push_back(scalar.name + ": " + dtype_name(scalar.type.dtype));
  for (const Tensor& tensor : outputs_) {
    results.push_back(tensor.name + ": " + dtype_name(tensor.dtype) + "[" + joined(tensor.extents) + "]" +
                      (tensor.is_zeroed ? " = 0" : "") + (tensor.alias.empty() ? "" : " alias " + tensor.alias));
  }
  return "kernel fuzz(" + joined(parameters) + ") -> (" + joined(results) + ")";
}

void ProgramWriter::choose_call(RandomProgram* program) {
  static constexpr int kExtents[] = {3, 1, 2, 5, 8, 16, 17, 31, 32, 33, 48, 64, 64, 65, 96, 100, 127, 128, 0};
  std::vector<std::string> dims;
  for (const WriterAxis& axis : axes_) {
    if (axis.constant == 0) dims.push_back(axis.dim.substr(0, 1));
  }
  for (const Tensor& tensor : outputs_) {
    if (std::find(tensor.extents.begin(), tensor.extents.end(), "S") != tensor.extents.end()) dims.emplace_back("S");
  }
  for (int i = 0; i < 2; ++i) {
    CaseShape shape;
    double space = 1;
    for (const std::string& dim : dims) {
      if (shape.count(dim) > 0) continue;
      double extent = choices_.pick(kExtents);
      if (space * extent > 2048) extent = 4;
      space *= std::max(extent, 1.0);
      shape[dim] = extent;
    }
    for (const Variable& scalar : scalar_variables_)
      shape[scalar.name] = dtype_is_float(scalar.type.dtype) ? 0.5 * choices_.below(5) : choices_.below(20);
    program->shapes.push_back(shape);
  }
  const uint32_t edge = choices_.below(2 * static_cast<uint32_t>(all_edges().size()));
  program->edge = edge < all_edges().size() ? "plain" : all_edges()[edge - all_edges().size()];
  const auto can_be_input = [](const Tensor& tensor) { return !tensor.alias.empty(); };
  if (program->edge == "inplace" && std::none_of(outputs_.begin(), outputs_.end(), can_be_input))
    program->edge = "plain";
}

RandomProgram ProgramWriter::run() {
  indent_ = 1;
  declare_space();
  if (choices_.one_in(3)) scalar_variables_.push_back({"s0", {random_float(), {}}, false});
  if (choices_.one_in(3)) scalar_variables_.push_back({"s1", {DType::kI64, {}}, false});
  const uint32_t statements = choices_.below(6);
  for (uint32_t i = 0; i < statements; ++i) write_statement(2);
  const uint32_t stores = 1 + choices_.below(3);
  for (uint32_t i = 0; i < stores; ++i) write_store();
  --indent_;
  line("}");
  RandomProgram program;
  program.text = functions_ + signature() + " {\n" + blocks_ + body_ + "}\n";
  program.data = data_;
  choose_call(&program);
  return program;
}

}  // namespace kaon::compiler
