// Random stores and atomics: each has an output of its own, so that what it holds depends on no order, but for what is
// stored to a second time right away.
#include <algorithm>
#include <cstddef>

#include "tests/fuzz/program_writer.h"

namespace kaon::compiler {

/// The subscript as an argument of a call: `:` alone is no value in parentheses.
std::string ProgramWriter::place(const Tensor& tensor) {
  return tensor.subscript == ":" ? "(:,)" : "(" + tensor.subscript + ")";
}

/// Axes and first indices of what programs and turns of loops leave at places of their own: all tiles around, some of
/// the whole dimensions. False where these are too many.
bool ProgramWriter::place_axes(ValueType* type, Tensor* tensor) {
  for (const int id : active_) {
    if (axes_[static_cast<size_t>(id)].is_tile || choices_.below(3) != 2) type->axes.push_back(id);
  }
  for (const std::string& plane : planes_) {
    tensor->extents.emplace_back("3");
    tensor->subscript += plane + ", ";
  }
  return type->axes.size() + planes_.size() <= 5;
}

/// One index for each of the axes, and the extents that it needs. Returns what the stored value is cut by, or "".
std::string ProgramWriter::store_places(const ValueType& type, Tensor* tensor) {
  bool is_scattered = false;
  std::string part;
  for (size_t i = 0; i < type.axes.size(); ++i) {
    const WriterAxis& axis = axes_[static_cast<size_t>(type.axes[i])];
    const bool can_move = axis.is_tile && axis.parents.empty() && part.empty() && !is_scattered;
    std::string extent = axis.dim, item = axis.name, cut = ":";
    if (!axis.is_tile && choices_.one_in(6)) extent = "2 * " + axis.dim, item = axis.dim + ":";
    // Shorter or longer than the loop: lanes outside are left out, elements beyond stay as they are.
    if (axis.is_tile && choices_.one_in(6)) extent = "S";
    // The same by hand; rows that end at lengths of their own need their tile variable.
    if (can_move && !is_jagged(type.axes) && choices_.one_in(12)) {
      const std::string valid = new_name("valid");
      line("let " + valid + " = minimum(" + axis.name + ".end, S) - " + axis.name + ".begin;");
      extent = "S", item = axis.name + ".begin : " + axis.name + ".begin + " + valid, cut = ":" + valid;
      for (size_t j = 0; j < i; ++j) part += ":, ";
    } else if (can_move && parameters_.size() < kMostParameters && choices_.one_in(12)) {
      // Another place for each coordinate.
      is_scattered = true;
      const std::string places = new_name("place");
      parameters_.push_back(places + ": i32[" + axis.dim + "]");
      data_[places].push_back(*parse_generator("permutation(" + axis.dim + ")"));
      extent = axis.dim, item = places + "[" + axis.name + "]";
    }
    if (cut != ":" || !part.empty()) part += (i == 0 || cut != ":" ? "" : ", ") + cut;
    tensor->extents.push_back(extent);
    tensor->subscript += (i == 0 ? "" : ", ") + item;
  }
  return part;
}

void ProgramWriter::write_store() {
  Tensor tensor;
  tensor.name = "y" + std::to_string(outputs_.size());
  ValueType type;
  if (!place_axes(&type, &tensor)) return write_let();
  tensor.dtype = random_dtype();
  static constexpr DType kNarrow[] = {DType::kF8E4M3, DType::kF8E5M2};
  if (choices_.one_in(12)) tensor.dtype = choices_.pick(kNarrow);
  type.dtype = tensor.dtype == DType::kF8E4M3 || tensor.dtype == DType::kF8E5M2 ? DType::kF32 : tensor.dtype;
  std::string text;
  if (type.dtype == tensor.dtype && choices_.below(2) == 0) {
    text = value(type, kDepth);
  } else {
    if (type.dtype == tensor.dtype) type.dtype = random_dtype();
    text = std::string(dtype_name(tensor.dtype)) + "(" + value(type, kDepth) + ")";
  }
  const std::string part = store_places(type, &tensor);
  tensor.is_zeroed = choices_.one_in(8);
  if (!part.empty()) {
    const std::string whole = new_name("whole");
    line("let " + whole + " = " + text + ";");
    text = whole + "[" + part + "]";
  }
  if (part.empty() && choices_.one_in(8)) {
    const std::string mask = value({DType::kBool, type.axes}, 2);
    line("store(" + tensor.name + ", " + place(tensor) + ", " + text + ", mask=" + mask + ");");
  } else {
    line(tensor.name + "[" + tensor.subscript + "] = " + text + ";");
    if (part.empty() && choices_.one_in(4)) write_second_store(tensor, type);
  }
  outputs_.push_back(tensor);
}

/// Changes what was just stored: the first half of a dimension whose extent is a number, or all of it.
void ProgramWriter::write_second_store(const Tensor& tensor, const ValueType& type) {
  const bool is_scattered = tensor.subscript.find('[') != std::string::npos;
  const bool is_small = tensor.dtype == DType::kF8E4M3 || tensor.dtype == DType::kF8E5M2;
  int extent = 0;
  for (const int id : type.axes) {
    const WriterAxis& axis = axes_[static_cast<size_t>(id)];
    if (!axis.is_tile) extent = std::max(extent, axis.constant);
  }
  const size_t colon = tensor.subscript.find(':');
  const bool has_one = colon != std::string::npos && tensor.subscript.find(':', colon + 1) == std::string::npos;
  const bool is_whole = has_one && (colon == 0 || tensor.subscript[colon - 1] == ' ');  // and no second half, `N:`
  if (choices_.below(2) == 0 && is_whole && extent > 1) {
    const std::string half = "0:" + std::to_string((extent + 1) / 2);
    const std::string number = is_small ? std::string(dtype_name(tensor.dtype)) + "(1.0)" : literal(tensor.dtype);
    line(tensor.name + "[" + tensor.subscript.substr(0, colon) + half + tensor.subscript.substr(colon + 1) +
         "] = " + number + ";");
  } else if (!is_scattered && !is_small && tensor.dtype != DType::kBool) {
    static constexpr const char* kOperators[] = {" += ", " -= ", " *= "};
    const std::string change = choices_.pick(kOperators);
    line(tensor.name + "[" + tensor.subscript + "]" + change + value({tensor.dtype, type.axes}, 2) + ";");
  }
}

/// Places below 5 for the first `count` axes of the type, some of them negative where `mask` is to leave those out.
std::string ProgramWriter::random_places(const ValueType& type, size_t count, std::string* mask) {
  ValueType index{DType::kI32, {}};
  index.axes.assign(type.axes.begin(), type.axes.begin() + static_cast<std::ptrdiff_t>(count));
  const bool can_read = has_parents(index.axes) && parameters_.size() < kMostParameters;
  if (count == 1 && (!can_read || choices_.below(2) == 0)) {
    index.dtype = DType::kI64;
    return coordinates(index) + " * 3 % 5";
  }
  if (!can_read) return "";
  const std::string places = new_name("place"), at = new_name("at");
  std::string extents, items;
  for (const int id : index.axes) {
    extents += (extents.empty() ? "" : ", ") + axes_[static_cast<size_t>(id)].dim;
    items += (items.empty() ? "" : ", ") + axes_[static_cast<size_t>(id)].name;
  }
  const bool is_masked = choices_.one_in(3);
  parameters_.push_back(places + ": i32[" + extents + "]");
  data_[places].push_back(*parse_generator(is_masked ? "range(-1, 5)" : "range(0, 5)"));
  line("let " + at + " = " + places + "[" + items + "];");
  if (is_masked) {
    std::string with_units;
    for (size_t i = 0; i < type.axes.size(); ++i)
      with_units += std::string(i == 0 ? "" : ", ") + (i < count ? ":" : "None");
    *mask = "(" + at + " >= 0)" + (count < type.axes.size() ? "[" + with_units + "]" : "");
  }
  return at;
}

/// An output that all programs change, in whichever order they come.
void ProgramWriter::write_atomic() {
  static constexpr DType kTypes[] = {DType::kI32, DType::kF32, DType::kI64, DType::kU32,
                                     DType::kF16, DType::kF64, DType::kI16, DType::kBF16};
  static constexpr const char* kFns[] = {"add", "max", "min", "and", "or", "xor"};
  static constexpr const char* kOrders[] = {"", "", ", order=\"acquire\"", ", order=\"release\"",
                                            ", order=\"acq_rel\""};
  ValueType type{choices_.pick(kTypes), {}};
  for (const int id : active_) {
    if (choices_.below(3) != 2) type.axes.push_back(id);
  }
  if (!has_parents(type.axes) || type.axes.size() > 4) return write_let();
  const bool is_float = dtype_is_float(type.dtype);
  const std::string fn = kFns[choices_.below(is_float ? 3 : 6)];
  Tensor tensor;
  tensor.name = "y" + std::to_string(outputs_.size());
  tensor.dtype = type.dtype;
  const std::string added = value(type, 2);
  std::string mask;
  const size_t moved = choices_.below(static_cast<uint32_t>(type.axes.size() + 1));
  const std::string places = moved == 0 ? "" : random_places(type, moved, &mask);
  for (size_t i = places.empty() ? 0 : moved; i < type.axes.size(); ++i) {
    const WriterAxis& axis = axes_[static_cast<size_t>(type.axes[i])];
    tensor.extents.push_back(axis.is_tile && choices_.one_in(6) ? "S" : axis.dim);
    tensor.subscript += (tensor.subscript.empty() ? "" : ", ") + axis.name;
  }
  if (!places.empty() || type.axes.empty()) {
    tensor.extents.insert(tensor.extents.begin(), "5");
    tensor.subscript = (places.empty() ? "4" : places) + (tensor.subscript.empty() ? "" : ", ") + tensor.subscript;
  }
  if (choices_.one_in(4)) {
    const std::string more = value({DType::kBool, type.axes}, 1);
    mask = mask.empty() ? more : mask + " and " + more;
  }
  // It starts as zeros, or as what is there.
  tensor.is_zeroed = parameters_.size() >= kMostParameters || !choices_.one_in(3);
  if (!tensor.is_zeroed) {
    tensor.alias = new_name("start");
    std::string extents;
    for (const std::string& extent : tensor.extents) extents += (extents.empty() ? "" : ", ") + extent;
    parameters_.push_back(tensor.alias + ": " + dtype_name(tensor.dtype) + "[" + extents + "]");
    for (const std::string& name : {tensor.alias, tensor.name})
      data_[name].push_back(*parse_generator(is_float ? "normal(0, 2)" : "range(0, 100)"));
  }
  line("atomic_" + fn + "(" + tensor.name + ", " + place(tensor) + ", " + added +
       (mask.empty() ? "" : ", mask=" + mask) + choices_.pick(kOrders) + ");");
  outputs_.push_back(tensor);
}

}  // namespace kaon::compiler
