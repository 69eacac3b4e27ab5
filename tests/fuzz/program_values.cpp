// Random expressions of a wanted type.
#include <algorithm>
#include <cstddef>

#include "tests/fuzz/program_writer.h"

namespace kaon::compiler {

bool ProgramWriter::has_units(const ValueType& type) {
  return std::count(type.axes.begin(), type.axes.end(), kUnit) > 0;
}

/// True when jagged axes are there with all that their lengths run over: such values can be loaded and folded.
bool ProgramWriter::has_parents(const std::vector<int>& axes) const {
  const auto has = [&](int id) { return std::find(axes.begin(), axes.end(), id) != axes.end(); };
  return std::all_of(axes.begin(), axes.end(), [&](int id) {
    if (id == kUnit) return true;
    const std::vector<int>& parents = axes_[static_cast<size_t>(id)].parents;
    return std::all_of(parents.begin(), parents.end(), has);
  });
}

bool ProgramWriter::is_jagged(const std::vector<int>& axes) const {
  return std::any_of(axes.begin(), axes.end(),
                     [&](int id) { return id != kUnit && !axes_[static_cast<size_t>(id)].parents.empty(); });
}

std::string ProgramWriter::cast_to(DType dtype, DType from, const std::string& text) {
  return dtype == from ? text : std::string(dtype_name(dtype)) + "(" + text + ")";
}

/// An expression of exactly this type.
std::string ProgramWriter::value(const ValueType& type, int depth) {
  if (depth <= 0) return leaf(type);
  const bool is_bool = type.dtype == DType::kBool;
  switch (choices_.below(12)) {
    case 0: return leaf(type);
    case 1: return choices_.one_in(2) ? view(type, depth) : leaf(type);
    case 2: return is_bool ? comparison(type, depth) : unary(type, depth);
    case 3: return is_bool ? comparison(type, depth) : binary(type, depth);
    case 4: return binary(type, depth);
    case 5:
      return is_bool ? binary(type, depth) : dtype_is_float(type.dtype) ? division(type, depth) : shift(type, depth);
    case 6: return choice(type, depth);
    case 7: return cast(type, depth);
    case 8: return is_bool ? comparison(type, depth) : reduction(type, depth);
    case 9: return reduction(type, depth);
    case 10: return scan(type, depth);
    default: return is_bool ? binary(type, depth) : product(type, depth);
  }
}

/// Something that broadcasts to the type beside an operand that has all of its axes.
std::string ProgramWriter::operand(const ValueType& type, int depth) {
  return choices_.below(5) == 0 ? literal(type.dtype) : typed_operand(type, depth);
}

/// The same, but no bare literal, which has no type of its own inside a call.
std::string ProgramWriter::typed_operand(const ValueType& type, int depth) {
  if (choices_.below(3) == 1) {
    const std::string known = variable(type, /*may_broadcast=*/true);
    if (!known.empty()) return known;
  }
  ValueType own = type;
  if (!own.axes.empty() && choices_.one_in(4)) own.axes.erase(own.axes.begin());
  for (int& axis : own.axes) {
    if (choices_.one_in(6)) axis = kUnit;
  }
  return value(own, depth);
}

/// A variable in scope, cast where its type is another; empty where none fits. With `may_broadcast` it may have units,
/// and lack the first axes.
std::string ProgramWriter::variable(const ValueType& type, bool may_broadcast) {
  std::vector<const Variable*> fitting;
  for (const Variable& variable : scope_) {
    const std::vector<int>& axes = variable.type.axes;
    bool fits = axes == type.axes;
    if (may_broadcast && axes.size() <= type.axes.size()) {
      const auto matches = [](int own, int wanted) { return own == wanted || own == kUnit; };
      fits = std::equal(axes.rbegin(), axes.rend(), type.axes.rbegin(), matches);
    }
    if (fits) fitting.push_back(&variable);
  }
  if (fitting.empty()) return "";
  const Variable& chosen = *choices_.pick(fitting);
  return cast_to(type.dtype, chosen.type.dtype, chosen.name);
}

std::string ProgramWriter::leaf(const ValueType& type) {
  if (choices_.below(4) != 0) {
    const std::string known = variable(type, /*may_broadcast=*/false);
    if (!known.empty()) return known;
  }
  if (type.dtype == DType::kI64 && choices_.one_in(3)) {
    const std::string text = coordinates(type);
    if (!text.empty()) return text;
  }
  if (choices_.one_in(8)) return filled(type);
  if (choices_.one_in(10)) return gather(type, 1);
  if (choices_.one_in(12)) return neighbour(type);
  return load(type);
}

std::string ProgramWriter::literal(DType dtype) {
  static constexpr const char* kFloats[] = {"0", "1", "2", "0.5", "(-1)", "3.25", "(-0.125)", "100", "1e-3"};
  static constexpr const char* kSigned[] = {"0", "1", "2", "3", "(-1)", "7", "(-5)", "100", "0x55"};
  static constexpr const char* kUnsigned[] = {"0", "1", "2", "3", "5", "8", "100", "0xf", "127"};
  if (dtype == DType::kBool) return choices_.below(2) == 0 ? "false" : "true";
  if (dtype_is_float(dtype)) return choices_.pick(kFloats);
  return dtype_is_signed(dtype) ? choices_.pick(kSigned) : choices_.pick(kUnsigned);
}

/// full(...), whose units are ones.
std::string ProgramWriter::filled(const ValueType& type) {
  if (type.axes.empty()) return std::string(dtype_name(type.dtype)) + "(" + literal(type.dtype) + ")";
  return std::string("full(") + dtype_name(type.dtype) + ", " + literal(type.dtype) + extents_of(type) + ")";
}

/// ", m, 1, N": the type's axes as further arguments.
std::string ProgramWriter::extents_of(const ValueType& type) const {
  std::string text;
  for (const int id : type.axes) {
    text += ", ";
    text += id == kUnit                              ? "1"
            : axes_[static_cast<size_t>(id)].is_tile ? axes_[static_cast<size_t>(id)].name
                                                     : axes_[static_cast<size_t>(id)].dim;
  }
  return text;
}

/// `text` has the type's axes without its units; they are put in by a subscript.
std::string ProgramWriter::with_units(const std::string& text, const ValueType& type) const {
  if (!has_units(type)) return text;
  std::string items;
  for (const int id : type.axes) items += std::string(items.empty() ? "" : ", ") + (id == kUnit ? "None" : ":");
  return text + "[" + items + "]";
}

/// The coordinate along the type's only axis; empty where it has none or several.
std::string ProgramWriter::coordinates(const ValueType& type) {
  std::vector<int> real;
  for (const int id : type.axes) {
    if (id != kUnit) real.push_back(id);
  }
  static constexpr const char* kMembers[] = {"begin", "end", "id", "count", "block_size"};
  if (real.empty() && type.axes.empty() && !grid_.empty()) {
    const WriterAxis& axis = axes_[static_cast<size_t>(choices_.pick(grid_))];
    if (axis.is_tile) return axis.name + "." + choices_.pick(kMembers);
  }
  if (real.size() != 1) return "";
  const WriterAxis& axis = axes_[static_cast<size_t>(real[0])];
  return with_units(axis.is_tile ? axis.name + ".index" : "arange(" + axis.dim + ")", type);
}

const ProgramWriter::Tensor* ProgramWriter::find_or_make_input(DType dtype, const std::vector<int>& axes) {
  std::vector<size_t> fitting;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].dtype == dtype && inputs_[i].axes == axes) fitting.push_back(i);
  }
  const bool is_full = inputs_.size() >= kMostInputs;
  if (!fitting.empty() && (is_full || choices_.below(3) != 0)) return &inputs_[choices_.pick(fitting)];
  if (is_full) return nullptr;
  Tensor tensor;
  tensor.name = "x" + std::to_string(inputs_.size());
  tensor.dtype = dtype;
  tensor.axes = axes;
  for (size_t i = 0; i < axes.size(); ++i) {
    const WriterAxis& axis = axes_[static_cast<size_t>(axes[i])];
    std::string extent = axis.dim, item = axis.name;
    // A slice of a longer dimension, at its start, inside or at its end.
    if (!axis.is_tile && choices_.one_in(5)) {
      static constexpr const char* kExtents[] = {"2 * ", "3 + ", "3 + ", "2 * "};
      const uint32_t kind = choices_.below(4);
      extent = kExtents[kind] + axis.dim;
      if (kind == 0) item = "0:" + axis.dim;
      if (kind == 1) item = "2:" + axis.dim + " + 2";
      if (kind == 2) item = "3:" + axis.dim + " + 3";
      if (kind == 3) item = axis.dim + ":2 * " + axis.dim;
    }
    tensor.extents.push_back(extent);
    tensor.subscript += (i == 0 ? "" : ", ") + item;
  }
  // One plane of several.
  if (!axes.empty() && choices_.one_in(8)) {
    tensor.extents.insert(tensor.extents.begin(), "3");
    tensor.has_planes = true;
  }
  inputs_.push_back(tensor);
  return &inputs_.back();
}

std::string ProgramWriter::load(const ValueType& type) {
  ValueType in_memory = type;
  in_memory.axes.erase(std::remove(in_memory.axes.begin(), in_memory.axes.end(), kUnit), in_memory.axes.end());
  if (in_memory.axes.empty()) {
    for (const Variable& scalar : scalar_variables_) {
      if (scalar.type.dtype == type.dtype && type.axes.empty() && choices_.below(2) == 0) return scalar.name;
    }
    return filled(type);
  }
  if (!has_parents(in_memory.axes)) return filled(type);
  static constexpr DType kStored[] = {DType::kF16, DType::kF32, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2,
                                      DType::kI8,  DType::kI32, DType::kU8,   DType::kBool,   DType::kI16,
                                      DType::kI64, DType::kF64, DType::kU32};
  if (choices_.one_in(3)) in_memory.dtype = choices_.pick(kStored);
  const Tensor* tensor = find_or_make_input(in_memory.dtype, in_memory.axes);
  if (tensor == nullptr) return filled(type);
  std::string text = with_units(stored(*tensor), type);
  // The narrowest floats are for storage: they only become other floats.
  if (in_memory.dtype == DType::kF8E4M3 || in_memory.dtype == DType::kF8E5M2)
    text = "f32(" + text + ")", in_memory.dtype = DType::kF32;
  return cast_to(type.dtype, in_memory.dtype, text);
}

/// What an input holds at the axes that it is read with.
std::string ProgramWriter::stored(const Tensor& tensor) {
  std::string plane;
  if (tensor.has_planes) plane = (planes_.empty() || choices_.below(2) == 0 ? "2" : choices_.pick(planes_)) + ", ";
  return tensor.name + "[" + plane + tensor.subscript + "]";
}

/// The element behind each along the last axis, or before it, masked where there is none.
std::string ProgramWriter::neighbour(const ValueType& type) {
  if (type.axes.empty() || has_units(type) || is_jagged(type.axes) || parameters_.size() >= kMostParameters)
    return load(type);
  const WriterAxis& last = axes_[static_cast<size_t>(type.axes.back())];
  const std::string name = new_name("z");
  std::string extents, items;
  for (const int id : type.axes) {
    const WriterAxis& axis = axes_[static_cast<size_t>(id)];
    extents += (extents.empty() ? "" : ", ") + axis.dim;
    if (id != type.axes.back()) items += axis.name + ", ";
  }
  parameters_.push_back(name + ": " + dtype_name(type.dtype) + "[" + extents + "]");
  const std::string index = last.is_tile ? last.name + ".index" : "arange(" + last.dim + ")";
  const bool is_next = choices_.below(2) == 0;
  const std::string mask = is_next ? index + " + 1 < " + last.dim : index + " > 0";
  return "load(" + name + ", (" + items + index + (is_next ? " + 1" : " - 1") + "), mask=" + mask +
         (choices_.below(2) == 0 ? "" : ", other=" + literal(type.dtype)) + ")";
}

std::string ProgramWriter::unary(const ValueType& type, int depth) {
  const std::string a = value(type, depth - 1);
  if (!dtype_is_float(type.dtype)) {
    static constexpr const char* kPrefixes[] = {"-", "~", "abs", "relu"};
    const std::string fn = choices_.pick(kPrefixes);
    return fn + "(" + a + ")";
  }
  static constexpr const char* kFns[] = {"-",     "abs", "tanh", "sigmoid", "floor", "ceil", "round",
                                         "trunc", "sin", "cos",  "relu",    "silu",  "erf",  "exp",
                                         "exp2",  "log", "log2", "sqrt",    "rsqrt"};
  const uint32_t i = choices_.below(19);
  const std::string fn = kFns[i];
  if (i < 13 || choices_.one_in(4)) return fn + "(" + a + ")";
  // Brought into a range where the function says something.
  if (fn == "exp" || fn == "exp2") return fn + "(minimum(" + a + ", 3))";
  return fn + "(abs(" + a + ") + 0.25)";
}

std::string ProgramWriter::binary(const ValueType& type, int depth) {
  std::string a = value(type, depth - 1), b = operand(type, depth - 1);
  if (choices_.one_in(2)) std::swap(a, b);
  if (type.dtype == DType::kBool) {
    static constexpr const char* kOps[] = {"and", "or", "^", "&", "|"};
    return "(" + a + " " + choices_.pick(kOps) + " " + b + ")";
  }
  static constexpr const char* kOps[] = {"+", "-", "*", "minimum", "maximum", "%", "&", "|", "^", "/"};
  const std::string op = kOps[choices_.below(dtype_is_float(type.dtype) ? 5 : 10)];
  if (op == "minimum" || op == "maximum") return op + "(" + a + ", " + b + ")";
  return "(" + a + " " + op + " " + b + ")";
}

std::string ProgramWriter::division(const ValueType& type, int depth) {
  const std::string a = value(type, depth - 1);
  // Not a bare literal, which has no type of its own inside a call.
  const std::string b = typed_operand(type, depth - 1);
  switch (choices_.below(4)) {
    case 0: return "(" + a + " / (abs(" + b + ") + 0.5))";
    case 1: return "(" + a + " / " + b + ")";
    case 2: return "clamp(" + a + ", -2, " + b + ")";
    default: return "pow(abs(" + a + ") + 0.5, minimum(" + b + ", 2))";
  }
}

std::string ProgramWriter::shift(const ValueType& type, int depth) {
  const std::string a = value(type, depth - 1), b = operand(type, depth - 1);
  const char* op = choices_.below(2) == 0 ? " << " : " >> ";
  return "(" + a + op + (choices_.below(2) == 0 ? "(" + b + " & 7)" : b) + ")";
}

std::string ProgramWriter::choice(const ValueType& type, int depth) {
  const ValueType condition{DType::kBool, type.axes};
  const std::string a = value(type, depth - 1);
  return "where(" + operand(condition, depth - 1) + ", " + a + ", " + operand(type, depth - 1) + ")";
}

std::string ProgramWriter::cast(const ValueType& type, int depth) {
  ValueType from = type;
  from.dtype = random_dtype();
  if (from.dtype == type.dtype) return value(type, depth - 1);
  return std::string(dtype_name(type.dtype)) + "(" + value(from, depth - 1) + ")";
}

std::string ProgramWriter::comparison(const ValueType& type, int depth) {
  static constexpr const char* kOps[] = {"<", "<=", ">", ">=", "==", "!="};
  ValueType compared{random_dtype(), type.axes};
  if (compared.dtype == DType::kBool) compared.dtype = DType::kF32;
  if (dtype_is_float(compared.dtype) && choices_.one_in(8)) return "isnan(" + value(compared, depth - 1) + ")";
  const std::string a = value(compared, depth - 1);
  const std::string op = choices_.pick(kOps);
  const std::string text = "(" + a + " " + op + " " + operand(compared, depth - 1) + ")";
  return choices_.one_in(8) ? "(not " + text + ")" : text;
}

/// A table read by a tile of indices, which are brought into its range or masked.
std::string ProgramWriter::gather(const ValueType& type, int depth) {
  static constexpr DType kIndices[] = {DType::kI64, DType::kI32, DType::kU8, DType::kI16};
  ValueType index{choices_.pick(kIndices), type.axes};
  if (!has_parents(type.axes) || index.axes.empty() || type.axes.back() == kUnit ||
      parameters_.size() >= kMostParameters)
    return filled(type);
  std::string rest, extents = "7";
  const WriterAxis& last = axes_[static_cast<size_t>(type.axes.back())];
  // A tile variable would take the place of a unit of the index.
  if (index.axes.size() > 1 && last.parents.empty() && !has_units(type) && choices_.one_in(2)) {
    index.axes.pop_back();
    rest = ", " + last.name;
    extents += ", " + last.dim;
  }
  const std::string table = new_name("t");
  parameters_.push_back(table + ": " + dtype_name(type.dtype) + "[" + extents + "]");
  const std::string at = value(index, depth);
  // Where the rest adds an axis, a mask needs it as well; that is left to the bounds.
  if (!rest.empty() || choices_.below(2) == 0) return table + "[" + at + " % 7" + rest + "]";
  const std::string name = new_name("at");
  line("let " + name + " = " + at + ";");
  return "load(" + table + ", " + name + ", mask=" + name + " >= 0 and " + name + " < 7, other=" + literal(type.dtype) +
         ")";
}

/// One bool for all lanes.
std::string ProgramWriter::scalar_condition(int depth) { return comparison({DType::kBool, {}}, depth); }

}  // namespace kaon::compiler
