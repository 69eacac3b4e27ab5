// Random views there and back: the type is what it was, the elements have been elsewhere.
#include <cstddef>

#include "tests/fuzz/program_writer.h"

namespace kaon::compiler {

/// Two values side by side along a new axis at `dim`.
std::string ProgramWriter::stacked(const ValueType& type, int depth, int dim) {
  return "stack((" + value(type, depth - 1) + ", " + value(type, depth - 1) + "), dim=" + std::to_string(dim) + ")";
}

std::string ProgramWriter::view(const ValueType& type, int depth) {
  const int rank = static_cast<int>(type.axes.size());
  const int dim = static_cast<int>(choices_.below(static_cast<uint32_t>(rank + 1)));
  const std::string at = std::to_string(dim), which = std::to_string(choices_.below(2));
  for (size_t i = 0; i < type.axes.size(); ++i) {
    const bool is_constant = type.axes[i] != kUnit && axes_[static_cast<size_t>(type.axes[i])].constant > 0;
    if (is_constant && choices_.below(3) != 0) return regrouped(type, depth, i);
  }
  switch (choices_.below(7)) {
    case 0: return stacked(type, depth, dim) + ".unbind(" + at + ")[" + which + "]";
    case 1: return stacked(type, depth, dim) + ".unsqueeze(0).squeeze(0).unbind(dim=" + at + ")[" + which + "]";
    case 2: {
      // Rows of a static axis joined with themselves and cut elsewhere.
      const std::string rows =
          "concat((" + stacked(type, depth, dim) + ", " + stacked(type, depth, dim) + "), dim=" + at + ")";
      return rows + ".chunk(2, dim=" + at + ")[" + which + "].unbind(" + at + ")[" + std::to_string(choices_.below(2)) +
             "]";
    }
    case 3: {
      const bool is_whole = dim < rank && type.axes[static_cast<size_t>(dim)] != kUnit &&
                            !axes_[static_cast<size_t>(type.axes[static_cast<size_t>(dim)])].is_tile;
      if (!is_whole) break;
      return "concat((" + value(type, depth - 1) + ", " + value(type, depth - 1) + "), dim=" + at +
             ").chunk(2, dim=" + at + ")[" + which + "]";
    }
    case 4:
      if (rank < 2 || type.dtype == DType::kBool) break;
      return "(" + value(type, depth - 1) + ").transpose(0, -1).abs().transpose(-1, 0)";
    case 5:
      if (rank == 0) break;
      // Broadcast along a new axis, of which one place is taken.
      return "(" + value(type, depth - 1) + ").unsqueeze(0).expand(3" + extents_of(type) + ").unbind(0)[2]";
    default: {
      if (rank > 3) break;
      // Four values regrouped: two axes of 2 in front become one of 4.
      const std::string pair = stacked(type, depth, 0);
      return "stack((" + pair + ", " + stacked(type, depth, 0) + "), dim=0).reshape(-1" + extents_of(type) +
             ").unbind(0)[" + std::to_string(choices_.below(4)) + "]";
    }
  }
  return stacked(type, depth, rank) + ".split()[" + which + "]";
}

/// Pieces of an axis of constant extent in another order.
std::string ProgramWriter::regrouped(const ValueType& type, int depth, size_t dim) {
  const int extent = axes_[static_cast<size_t>(type.axes[dim])].constant;
  const std::string name = new_name("p"), at = std::to_string(dim);
  const std::string whole = value(type, depth - 1);
  /// ", m, 2, 8": the axes with that of constant extent replaced.
  const auto extents = [&](const std::string& middle) {
    ValueType before = type, after = type;
    before.axes.resize(dim);
    after.axes.erase(after.axes.begin(), after.axes.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
    return (extents_of(before) + ", " + middle + extents_of(after)).substr(2);
  };
  const auto number = [](int value) { return std::to_string(value); };
  const int parts = choices_.below(2) == 0 || extent % 4 != 0 ? 2 : 4;
  const std::string pieces = number(parts), size = number(extent / parts);
  switch (choices_.below(5)) {
    case 0: {
      line("let " + name + " = (" + whole + ").chunk(" + pieces + ", dim=" + at + ");");
      std::string reversed;
      for (int i = parts; i-- > 0;) reversed += name + "[" + number(i) + "]" + (i > 0 ? ", " : "");
      return "concat((" + reversed + "), dim=" + at + ")";
    }
    case 1: {
      line("let " + name + " = " + whole + ";");
      std::string before;
      for (size_t i = 0; i < dim; ++i) before += ":, ";
      std::string after;
      for (size_t i = dim + 1; i < type.axes.size(); ++i) after += ", :";
      const int cut = 1 + static_cast<int>(choices_.below(static_cast<uint32_t>(extent - 1)));
      return "concat((" + name + "[" + before + number(cut) + ":" + number(extent) + after + "], " + name + "[" +
             before + "0:" + number(cut) + after + "]), dim=" + at + ")";
    }
    case 2:
      return "(" + whole + ").reshape(" + extents(pieces + ", " + size) + ").transpose(" + at + ", " +
             number(static_cast<int>(dim) + 1) + ").reshape(" + extents(number(extent)) + ")";
    case 3:
      line("let " + name + " = (" + whole + ").reshape(" + extents(size + ", " + pieces) + ").unbind(" +
           number(static_cast<int>(dim) + 1) + ");");
      return "concat((" + name + "[1], " + name + "[0]" + (parts == 4 ? ", " + name + "[3], " + name + "[2]" : "") +
             "), dim=" + at + ")";
    default:
      if (type.dtype == DType::kBool) return whole;
      line("let " + name + " = (" + whole + ").reshape(" + extents(pieces + ", " + size) + ").amax(" + at + ");");
      return "concat((" + name + ", " + name + (parts == 4 ? ", " + name + ", " + name : "") + "), dim=" + at + ")";
  }
}

}  // namespace kaon::compiler
