// Which element a point of the hardware holds, and which point owns an element.
#include "compiler/layout/layout.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace kaon::compiler {

namespace {

constexpr uint32_t kLanes = 32;
constexpr uint32_t kMaxWarps = 256;  // where blocks of a cluster count as one

const char* where_name(Where where) {
  switch (where) {
    case Where::kRegister: return "register";
    case Where::kLane: return "lane";
    case Where::kWarp: return "warp";
    case Where::kBlock: return "block";
  }
  return "?";
}

char where_letter(Where where) { return where_name(where)[0]; }

bool is_power_of_two(uint64_t v) { return v != 0 && (v & (v - 1)) == 0; }

uint32_t part_of(const Place& place, Where where) {
  switch (where) {
    case Where::kRegister: return place.reg;
    case Where::kLane: return place.lane;
    case Where::kWarp: return place.warp;
    case Where::kBlock: return place.block;
  }
  return 0;
}

uint32_t& part_of(Place& place, Where where) {
  switch (where) {
    case Where::kRegister: return place.reg;
    case Where::kLane: return place.lane;
    case Where::kWarp: return place.warp;
    case Where::kBlock: break;
  }
  return place.block;
}

/// Equal maps get equal digits: radix 1 says nothing, and two digits that continue each other are one.
std::vector<Digit> canonical(const std::vector<Digit>& digits) {
  std::vector<Digit> out;
  for (const Digit& digit : digits) {
    if (digit.radix == 1) continue;
    if (!out.empty() && out.back().where == digit.where && digit.unit == out.back().unit * out.back().radix) {
      out.back().radix *= digit.radix;
    } else {
      out.push_back(digit);
    }
  }
  return out;
}

/// Register digits renumbered without gaps, in the order of their units. Registers are not replicated: a hole would
/// only cost registers.
void compact_registers(std::vector<std::vector<Digit>>& digits) {
  std::vector<Digit*> registers;
  for (auto& axis : digits) {
    for (Digit& digit : axis) {
      if (digit.where == Where::kRegister) registers.push_back(&digit);
    }
  }
  std::stable_sort(registers.begin(), registers.end(),
                   [](const Digit* a, const Digit* b) { return a->unit < b->unit; });
  uint32_t unit = 1;
  for (Digit* digit : registers) {
    digit->unit = unit;
    unit *= digit->radix;
  }
}

}  // namespace

Layout::Layout(std::vector<std::vector<Digit>> digits, uint32_t num_warps, uint32_t num_blocks)
    : num_warps_(num_warps), num_blocks_(num_blocks) {
  digits_.reserve(digits.size());
  for (const auto& axis : digits) digits_.push_back(canonical(axis));
  for (const auto& axis : digits_) {
    for (const Digit& digit : axis) {
      if (digit.where == Where::kRegister) num_registers_ *= digit.radix;
    }
  }
}

uint64_t Layout::capacity(int axis) const {
  uint64_t product = 1;
  for (const Digit& digit : digits(axis)) product *= digit.radix;
  return product;
}

std::vector<uint64_t> Layout::position(const Place& place) const {
  std::vector<uint64_t> out(digits_.size(), 0);
  for (size_t axis = 0; axis < digits_.size(); ++axis) {
    uint64_t weight = 1;
    for (const Digit& digit : digits_[axis]) {
      out[axis] += weight * ((part_of(place, digit.where) / digit.unit) % digit.radix);
      weight *= digit.radix;
    }
  }
  return out;
}

uint64_t Layout::register_part(int axis, uint32_t reg) const {
  uint64_t out = 0;
  uint64_t weight = 1;
  for (const Digit& digit : digits(axis)) {
    if (digit.where == Where::kRegister) out += weight * ((reg / digit.unit) % digit.radix);
    weight *= digit.radix;
  }
  return out;
}

bool Layout::is_owner(const Place& place) const {
  const Place first = owner(position(place));
  return first.reg == place.reg && first.lane == place.lane && first.warp == place.warp && first.block == place.block;
}

Place Layout::owner(const std::vector<uint64_t>& position) const {
  Place place;
  for (size_t axis = 0; axis < digits_.size(); ++axis) {
    uint64_t rest = position[axis];
    for (const Digit& digit : digits_[axis]) {
      part_of(place, digit.where) += static_cast<uint32_t>(rest % digit.radix) * digit.unit;
      rest /= digit.radix;
    }
  }
  return place;
}

uint32_t Layout::contiguous(int axis) const {
  const auto& axis_digits = digits(axis);
  if (axis_digits.empty()) return 1;
  const Digit& first = axis_digits.front();
  return first.where == Where::kRegister && first.unit == 1 ? first.radix : 1;
}

Layout Layout::expand_dims(int dim) const {
  auto digits = digits_;
  digits.insert(digits.begin() + dim, std::vector<Digit>());
  return Layout(std::move(digits), num_warps_, num_blocks_);
}

Layout Layout::squeeze(int dim) const {
  auto digits = digits_;
  digits.erase(digits.begin() + dim);
  compact_registers(digits);
  return Layout(std::move(digits), num_warps_, num_blocks_);
}

Layout Layout::permute(const std::vector<int64_t>& perm) const {
  std::vector<std::vector<Digit>> digits;
  digits.reserve(perm.size());
  for (const int64_t from : perm) digits.push_back(digits_[static_cast<size_t>(from)]);
  return Layout(std::move(digits), num_warps_, num_blocks_);
}

Layout Layout::drop(const std::vector<int64_t>& dims) const {
  auto digits = digits_;
  for (const int64_t dim : dims) digits[static_cast<size_t>(dim)].clear();
  compact_registers(digits);
  return Layout(std::move(digits), num_warps_, num_blocks_);
}

namespace {

/// Checks the digits that live in one hardware index of `size` points (0: registers, which must be filled exactly).
std::string why_illegal_index(const std::vector<Digit>& digits, Where where, uint64_t size) {
  const std::string name = where_name(where);
  uint64_t used = 1;  // indices below this are spoken for
  for (const Digit& digit : digits) {
    const std::string text = std::to_string(digit.radix) + where_letter(where) + std::to_string(digit.unit);
    if (digit.radix < 2 || digit.unit < 1) return "digit " + text + ": radix must be at least 2 and unit at least 1";
    if (where == Where::kLane && (!is_power_of_two(digit.radix) || !is_power_of_two(digit.unit))) {
      return "digit " + text + ": radix and unit of a lane digit must be powers of two";
    }
    if (digit.unit < used) {
      return "digit " + text + " overlaps another " + name + " digit, which reaches up to index " +
             std::to_string(used);
    }
    if (where == Where::kRegister && digit.unit != used) {
      return "digit " + text + " leaves registers " + std::to_string(used) + ".." + std::to_string(digit.unit - 1) +
             " without a digit";
    }
    if (digit.unit % used != 0) {
      return "digit " + text + ": unit must be a multiple of " + std::to_string(used) + ", where the digits below end";
    }
    used = static_cast<uint64_t>(digit.unit) * digit.radix;
  }
  if (where == Where::kRegister) return {};
  if (used > size || size % used != 0) {
    return name + " digits need a multiple of " + std::to_string(used) + " " + name + "s, got " + std::to_string(size);
  }
  return {};
}

}  // namespace

std::string Layout::why_illegal() const {
  if (num_warps_ < 1 || num_warps_ > kMaxWarps) {
    return "a program must have 1 to 256 warps, got " + std::to_string(num_warps_);
  }
  if (num_blocks_ < 1) return "a cluster must have at least 1 block, got 0";
  for (const Where where : {Where::kRegister, Where::kLane, Where::kWarp, Where::kBlock}) {
    std::vector<Digit> there;
    for (const auto& axis : digits_) {
      for (const Digit& digit : axis) {
        if (digit.where == where) there.push_back(digit);
      }
    }
    std::stable_sort(there.begin(), there.end(), [](const Digit& a, const Digit& b) { return a.unit < b.unit; });
    uint64_t size = 0;
    if (where == Where::kLane) size = kLanes;
    if (where == Where::kWarp) size = num_warps_;
    if (where == Where::kBlock) size = num_blocks_;
    std::string why = why_illegal_index(there, where, size);
    if (!why.empty()) return why;
  }
  return {};
}

std::string Layout::to_string() const {
  std::string out = "[";
  for (size_t axis = 0; axis < digits_.size(); ++axis) {
    if (axis > 0) out += " | ";
    if (digits_[axis].empty()) out += "1";
    for (size_t i = 0; i < digits_[axis].size(); ++i) {
      const Digit& digit = digits_[axis][i];
      if (i > 0) out += ' ';
      out += std::to_string(digit.radix) + where_letter(digit.where) + std::to_string(digit.unit);
    }
  }
  out += "] warps " + std::to_string(num_warps_);
  if (num_blocks_ != 1) out += " blocks " + std::to_string(num_blocks_);
  return out;
}

namespace {

/// Reads the text of a layout from left to right; `why_` holds the first error.
class LayoutParser {
 public:
  explicit LayoutParser(const std::string& text) : text_(text) {}

  bool parse(Layout* out) {
    std::vector<std::vector<Digit>> digits;
    if (!take("[")) return false;
    if (!at("]") && !parse_axes(&digits)) return false;
    uint32_t warps = 0;
    uint32_t blocks = 1;
    if (!take("] warps ") || !parse_number(&warps)) return false;
    if (at(" blocks ") && (!take(" blocks ") || !parse_number(&blocks))) return false;
    if (cursor_ != text_.size()) return fail("the end of the layout");
    *out = Layout(std::move(digits), warps, blocks);
    return out->to_string() == text_ || fail("digits in canonical form, " + out->to_string());
  }

  const std::string& why() const { return why_; }

 private:
  bool at(const char* token) const { return text_.compare(cursor_, std::string(token).size(), token) == 0; }

  bool take(const char* token) {
    if (!at(token)) return fail("'" + std::string(token) + "'");
    cursor_ += std::string(token).size();
    return true;
  }

  bool fail(const std::string& expected) {
    if (why_.empty()) why_ = "layout: expected " + expected + " at character " + std::to_string(cursor_);
    return false;
  }

  bool parse_number(uint32_t* out) {
    const size_t begin = cursor_;
    uint64_t value = 0;
    while (cursor_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[cursor_])) && value < (1u << 30)) {
      value = value * 10 + static_cast<uint64_t>(text_[cursor_++] - '0');
    }
    if (cursor_ == begin || value > UINT32_MAX) {
      cursor_ = begin;
      return fail("a number below 2^32");
    }
    *out = static_cast<uint32_t>(value);
    return true;
  }

  bool parse_axes(std::vector<std::vector<Digit>>* digits) {
    while (true) {
      digits->emplace_back();
      if (at("1 |") || at("1]")) {
        ++cursor_;
      } else if (!parse_digits(&digits->back())) {
        return false;
      }
      if (!at(" | ")) return true;
      cursor_ += 3;
    }
  }

  bool parse_digits(std::vector<Digit>* digits) {
    while (true) {
      Digit digit;
      if (!parse_number(&digit.radix) || !parse_where(&digit.where) || !parse_number(&digit.unit)) return false;
      if (digit.radix < 2 || digit.unit < 1) return fail("a radix of at least 2 and a unit of at least 1");
      digits->push_back(digit);
      if (!at(" ") || at(" |")) return true;
      ++cursor_;
    }
  }

  bool parse_where(Where* where) {
    for (const Where candidate : {Where::kRegister, Where::kLane, Where::kWarp, Where::kBlock}) {
      if (cursor_ < text_.size() && text_[cursor_] == where_letter(candidate)) {
        *where = candidate;
        ++cursor_;
        return true;
      }
    }
    return fail("r, l, w or b");
  }

  const std::string& text_;
  size_t cursor_ = 0;
  std::string why_;
};

}  // namespace

bool parse_layout(const std::string& text, Layout* out, std::string* why) {
  LayoutParser parser(text);
  if (parser.parse(out)) return true;
  *why = parser.why();
  return false;
}

}  // namespace kaon::compiler
