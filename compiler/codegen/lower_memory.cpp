// Loads and stores: 16 bytes an instruction under a predicate, without a branch.
#include <algorithm>
#include <utility>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/access.h"
#include "compiler/codegen/lower.h"
#include "compiler/ir/updates.h"

namespace kaon::compiler::codegen {
namespace {

/// Functions by bytes: 1, 2, 4, 8, 16.
constexpr DeviceFunction kLoads[] = {DeviceFunction::kLoadB8, DeviceFunction::kLoadB16, DeviceFunction::kLoadB32,
                                     DeviceFunction::kLoadB64, DeviceFunction::kLoadB128};
constexpr DeviceFunction kMaskedLoads[] = {DeviceFunction::kMaskedLoadB8, DeviceFunction::kMaskedLoadB16,
                                           DeviceFunction::kMaskedLoadB32, DeviceFunction::kMaskedLoadB64,
                                           DeviceFunction::kMaskedLoadB128};
constexpr DeviceFunction kStores[] = {DeviceFunction::kStoreB8, DeviceFunction::kStoreB16, DeviceFunction::kStoreB32,
                                      DeviceFunction::kStoreB64, DeviceFunction::kStoreB128};
constexpr DeviceFunction kMaskedStores[] = {DeviceFunction::kMaskedStoreB8, DeviceFunction::kMaskedStoreB16,
                                            DeviceFunction::kMaskedStoreB32, DeviceFunction::kMaskedStoreB64,
                                            DeviceFunction::kMaskedStoreB128};

size_t log2_of(unsigned bytes) {
  size_t log = 0;
  while (bytes > 1) bytes /= 2, ++log;
  return log;
}

/// Registers in groups that one instruction moves, in the order of their first.
std::vector<std::vector<uint32_t>> vector_groups(const Access& access) {
  std::vector<std::vector<uint32_t>> groups;
  const uint32_t count = register_count(*access.layout);
  if (access.vector <= 1) {
    for (uint32_t reg = 0; reg < count; ++reg) groups.push_back({reg});
    return groups;
  }
  std::vector<int> dims;
  for (int dim = 0; dim < access.type.rank(); ++dim) dims.push_back(dim);
  const RegisterMap map(*access.layout, dims);
  for (uint32_t reg = 0; reg < count; ++reg) {
    std::vector<uint64_t> parts = RegisterMap::parts_of(*access.layout, dims, reg);
    uint64_t& along = parts[static_cast<size_t>(access.vector_dim)];
    if (along % static_cast<uint64_t>(access.vector) != 0) continue;
    std::vector<uint32_t> group;
    for (int i = 0; i < access.vector; ++i, ++along)
      group.push_back(static_cast<uint32_t>(std::max(0, map.find(parts))));
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace

/// The words of one vector (or the one element) at `address`.
Words Lowering::load_words(const Access& access, llvm::Value* address, llvm::Value* mask, unsigned bytes,
                           llvm::ArrayRef<llvm::Value*> fill) {
  const size_t row = log2_of(bytes);
  const unsigned parts = bytes > 4 ? bytes / 4 : 1;
  llvm::Value* loaded = nullptr;
  if (mask == nullptr) {
    loaded = call(kLoads[row], {address}, access.modifiers);
  } else {
    llvm::SmallVector<llvm::Value*, 8> operands = {address, mask};
    operands.append(fill.begin(), fill.end());
    loaded = call(kMaskedLoads[row], operands, access.modifiers);
  }
  Words words;
  for (unsigned i = 0; i < parts; ++i) words.push_back(parts == 1 ? loaded : b_.CreateExtractValue(loaded, i));
  return words;
}

void Lowering::store_words(const Access& access, llvm::Value* address, llvm::Value* mask,
                           llvm::ArrayRef<llvm::Value*> words, unsigned bytes) {
  llvm::SmallVector<llvm::Value*, 8> operands = {address};
  if (mask != nullptr) operands.push_back(mask);
  operands.append(words.begin(), words.end());
  call((mask == nullptr ? kStores : kMaskedStores)[log2_of(bytes)], operands, access.modifiers);
}

/// What lanes that do not exist are loaded as, in each word.
llvm::Constant* Lowering::fill_of(const Access& access) {
  const unsigned bytes = access.element_bytes() * static_cast<unsigned>(access.vector);
  return fill_bits(access.op->result(), std::min(bytes, 4u));
}

/// Issues every load of the tile; nothing uses any of it yet.
LoadedWords Lowering::issue_load(Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                 const std::vector<VectorGuard>& guards) {
  const unsigned bytes = access.element_bytes() * static_cast<unsigned>(access.vector);
  llvm::Constant* fill = fill_of(access);
  LoadedWords words;
  for (size_t i = 0; i < groups.size(); ++i) {
    Words fills(bytes > 4 ? bytes / 4 : 1, fill);
    if (!access.other.empty()) {
      llvm::SmallVector<llvm::Value*, 16> others;
      for (uint32_t reg : groups[i]) others.push_back(access.other[reg]);
      fills = memory_words(others, access.dtype);
    }
    words.push_back(load_words(access, access_address(access, groups[i][0]), guards[i].some, bytes, fills));
  }
  return words;
}

/// The loads of a turn to come, for as long as `has_turn` says that there is one.
LoadedWords Lowering::fetch_ahead(const Op& op, llvm::Value* has_turn) {
  Access access;
  if (!analyse_access(op, access)) return {};
  access.turn_exists = has_turn;
  access.modifiers += kPinned;
  const auto groups = vector_groups(access);
  return issue_load(access, groups, vector_guards(access, groups));
}

void Lowering::lower_load(const Op& op) {
  Access access;
  if (!analyse_access(op, access)) return;
  const auto groups = vector_groups(access);
  const std::vector<VectorGuard> guards = vector_guards(access, groups);
  const auto fetched = fetched_.find(&op);
  LoadedWords words = fetched == fetched_.end() ? issue_load(access, groups, guards) : fetched->second;
  if (fills_.count(op.result()) > 0) mend_cut_vectors(access, groups, guards, fill_of(access), words);
  Registers result(register_count(*access.layout), nullptr);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Registers elements = from_words(words[i], access.dtype, groups[i].size());
    for (size_t k = 0; k < groups[i].size(); ++k) result[groups[i][k]] = elements[k];
  }
  define(op.result(), std::move(result));
}

void Lowering::lower_store(const Op& op) {
  Access access;
  if (!analyse_access(op, access)) return;
  const auto groups = vector_groups(access);
  std::vector<VectorGuard> guards = vector_guards(access, groups);
  const Registers& value = registers(op.operands[0]);
  llvm::Value* owner = owner_condition(*access.layout);
  const unsigned bytes = access.element_bytes() * static_cast<unsigned>(access.vector);
  std::vector<Words> words;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (owner != nullptr) {
      const bool can_be_cut = guards[i].can_be_cut();
      guards[i].full = guards[i].full == nullptr ? owner : b_.CreateAnd(guards[i].full, owner);
      guards[i].some = can_be_cut ? b_.CreateAnd(guards[i].some, owner) : guards[i].full;
    }
  }
  Registers stored = value;
  if (is_update(op)) {
    // fn(element, value) of what the thread's own guards let it touch; all elements are read before one is written.
    const std::string store_modifiers = std::exchange(access.modifiers, "");
    const Words nothing(bytes > 4 ? bytes / 4 : 1, b_.getIntN(8 * std::min(bytes, 4u), 0));
    Registers old(value.size(), nullptr);
    for (size_t i = 0; i < groups.size(); ++i) {
      const Words loaded = load_words(access, access_address(access, groups[i][0]), guards[i].some, bytes, nothing);
      const Registers elements = from_words(loaded, access.dtype, groups[i].size());
      for (size_t k = 0; k < groups[i].size(); ++k) old[groups[i][k]] = elements[k];
    }
    access.modifiers = store_modifiers;
    BinaryFn fn{};
    parse_fn(op.str_attr("fn"), &fn);
    if (fn == BinaryFn::kDiv && access.dtype != DType::kF64) {
      stored = divide_registers(access.dtype, old, value);
    } else {
      for (size_t reg = 0; reg < old.size(); ++reg) stored[reg] = emit_binary(fn, access.dtype, old[reg], value[reg]);
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    llvm::SmallVector<llvm::Value*, 16> elements;
    for (uint32_t reg : groups[i]) elements.push_back(stored[reg]);
    words.push_back(memory_words(elements, access.dtype));
    store_words(access, access_address(access, groups[i][0]), guards[i].full, words.back(), bytes);
  }
  store_cut_vectors(access, groups, guards, words);
}

}  // namespace kaon::compiler::codegen
