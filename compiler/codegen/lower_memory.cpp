// Loads and stores: 16 bytes an instruction under a predicate, without a branch; vectors cut by an edge are mended
// apart.
#include <algorithm>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/access.h"
#include "compiler/codegen/lower.h"

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

std::vector<VectorGuard> Lowering::vector_guards(Access& access, const std::vector<std::vector<uint32_t>>& groups) {
  std::vector<VectorGuard> guards;
  const bool can_be_cut = access.is_split && access.vector > 1 &&
                          !axis_is_whole(access.type.axes[static_cast<size_t>(access.vector_dim)],
                                         access.layout->capacity(access.vector_dim));
  const Registers others = access_masks(access, can_be_cut ? access.vector_dim : -1);
  if (!can_be_cut) {
    for (const auto& group : groups) guards.push_back({others[group[0]], nullptr});
    return guards;
  }
  const AxisState state = axis_state(access.type.axes[static_cast<size_t>(access.vector_dim)]);
  llvm::Value* last = b_.getInt32(static_cast<uint32_t>(access.vector - 1));
  for (const auto& group : groups) {
    llvm::Value* position = shifted_position(access.type, *access.layout, access.vector_dim, group[0]);
    if (state.lowest != nullptr) position = b_.CreateSub(position, state.lowest);
    llvm::Value* end = b_.CreateAdd(position, last);
    llvm::Value* full = b_.CreateAnd(b_.CreateICmpULT(position, state.limit), b_.CreateICmpULT(end, state.limit));
    llvm::Value* some = b_.CreateICmpULT(end, b_.CreateAdd(state.limit, last));
    llvm::Value* cut = b_.CreateAnd(some, b_.CreateNot(full));
    if (llvm::Value* other = others[group[0]]) {
      full = b_.CreateAnd(full, other);
      cut = b_.CreateAnd(cut, other);
    }
    guards.push_back({full, cut});
  }
  return guards;
}

/// The words of one vector (or the one element) at `address`.
Words Lowering::load_words(const Access& access, llvm::Value* address, llvm::Value* mask, unsigned bytes,
                           llvm::Constant* fill) {
  const size_t row = log2_of(bytes);
  const unsigned parts = bytes > 4 ? bytes / 4 : 1;
  llvm::Value* loaded = nullptr;
  if (mask == nullptr) {
    loaded = call(kLoads[row], {address}, access.modifiers);
  } else {
    llvm::SmallVector<llvm::Value*, 8> operands = {address, mask};
    operands.append(parts, fill);
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

void Lowering::lower_load(const Op& op) {
  Access access;
  if (!analyse_access(op, access)) return;
  const auto groups = vector_groups(access);
  const std::vector<VectorGuard> guards = vector_guards(access, groups);
  const unsigned bytes = access.element_bytes() * static_cast<unsigned>(access.vector);
  llvm::Constant* fill = fill_bits(op.result(), std::min(bytes, 4u));
  // Every load of the tile is issued before any of it is used.
  std::vector<Words> words;
  for (size_t i = 0; i < groups.size(); ++i) {
    words.push_back(load_words(access, access_address(access, groups[i][0]), guards[i].full, bytes, fill));
  }
  if (access.is_split) load_cut_vectors(access, groups, guards, words);
  Registers result(register_count(*access.layout), nullptr);
  for (size_t i = 0; i < groups.size(); ++i) {
    const Registers elements = from_words(words[i], access.dtype, groups[i].size());
    for (size_t k = 0; k < groups[i].size(); ++k) result[groups[i][k]] = elements[k];
  }
  define(op.result(), std::move(result));
}

/// Vectors of one row that can be cut, of which at most one is: the first, by the shift of the window, and one of the
/// others, by the end. One branch that few warps take then mends either, whatever the number of vectors.
std::vector<CutSet> Lowering::cut_sets(const Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                       const std::vector<VectorGuard>& guards) {
  const bool is_shifted = kernel_.axis(access.type.axes[static_cast<size_t>(access.vector_dim)]).origin != kNoValue;
  std::vector<int> others;
  for (int dim = 0; dim < access.type.rank(); ++dim) {
    if (dim != access.vector_dim) others.push_back(dim);
  }
  std::map<std::pair<std::vector<uint64_t>, bool>, CutSet> rows;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (guards[i].cut == nullptr) continue;
    const bool is_head = is_shifted && access.layout->register_part(access.vector_dim, groups[i][0]) == 0;
    rows[{RegisterMap::parts_of(*access.layout, others, groups[i][0]), is_head}].groups.push_back(i);
  }
  std::vector<CutSet> sets;
  for (auto& [key, set] : rows) sets.push_back(std::move(set));
  return sets;
}

/// Opens the block that runs when a vector of the set is cut; from there, address and position are that vector's.
CutBlock Lowering::begin_cut(Access& access, const CutSet& set, const std::vector<std::vector<uint32_t>>& groups,
                             const std::vector<VectorGuard>& guards) {
  CutBlock block;
  llvm::Value* any = nullptr;
  for (size_t i : set.groups) any = any == nullptr ? guards[i].cut : b_.CreateOr(any, guards[i].cut);
  llvm::BasicBlock* branch = llvm::BasicBlock::Create(context_, "cut", function_);
  block.done = llvm::BasicBlock::Create(context_, "cut.done", function_);
  block.before = b_.GetInsertBlock();
  b_.CreateCondBr(any, branch, block.done);
  b_.SetInsertPoint(branch);
  for (size_t i : set.groups) {
    llvm::Value* address = access_address(access, groups[i][0]);
    llvm::Value* position = shifted_position(access.type, *access.layout, access.vector_dim, groups[i][0]);
    block.address = block.address == nullptr ? address : b_.CreateSelect(guards[i].cut, address, block.address);
    block.position = block.position == nullptr ? position : b_.CreateSelect(guards[i].cut, position, block.position);
  }
  access.rows.clear();  // what was computed here does not reach code behind
  const AxisState state = axis_state(access.type.axes[static_cast<size_t>(access.vector_dim)]);
  if (state.lowest != nullptr) block.position = b_.CreateSub(block.position, state.lowest);
  block.limit = state.limit;
  return block;
}

/// Address and mask of element `i` of the vector that is cut.
std::pair<llvm::Value*, llvm::Value*> Lowering::cut_element(const Access& access, const CutBlock& block, int i) {
  llvm::Value* address = b_.CreateAdd(block.address, b_.getInt64(static_cast<uint64_t>(i) * access.element_bytes()));
  llvm::Value* position = b_.CreateAdd(block.position, b_.getInt32(static_cast<uint32_t>(i)));
  return {address, b_.CreateICmpULT(position, block.limit)};
}

void Lowering::load_cut_vectors(Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                const std::vector<VectorGuard>& guards, std::vector<Words>& words) {
  const unsigned bytes = access.element_bytes();
  llvm::Constant* fill = fill_bits(access.op->result(), std::min(bytes, 4u));
  for (const CutSet& set : cut_sets(access, groups, guards)) {
    const CutBlock block = begin_cut(access, set, groups, guards);
    Registers elements;
    for (int i = 0; i < access.vector; ++i) {
      const auto [address, mask] = cut_element(access, block, i);
      elements.push_back(from_words(load_words(access, address, mask, bytes, fill), access.dtype, 1)[0]);
    }
    const Words packed = memory_words(elements, access.dtype);
    std::vector<Words> mended = words;
    for (size_t i : set.groups) {
      for (size_t w = 0; w < packed.size(); ++w) mended[i][w] = b_.CreateSelect(guards[i].cut, packed[w], words[i][w]);
    }
    llvm::BasicBlock* branch = b_.GetInsertBlock();
    b_.CreateBr(block.done);
    b_.SetInsertPoint(block.done);
    for (size_t i : set.groups) {
      for (size_t w = 0; w < packed.size(); ++w) {
        llvm::PHINode* merged = b_.CreatePHI(words[i][w]->getType(), 2);
        merged->addIncoming(words[i][w], block.before);
        merged->addIncoming(mended[i][w], branch);
        words[i][w] = merged;
      }
    }
  }
}

void Lowering::store_cut_vectors(Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                 const std::vector<VectorGuard>& guards, const std::vector<Words>& words) {
  for (const CutSet& set : cut_sets(access, groups, guards)) {
    const CutBlock block = begin_cut(access, set, groups, guards);
    Words chosen = words[set.groups[0]];
    for (size_t i : set.groups) {
      for (size_t w = 0; w < chosen.size(); ++w) chosen[w] = b_.CreateSelect(guards[i].cut, words[i][w], chosen[w]);
    }
    const Registers elements = from_words(chosen, access.dtype, static_cast<size_t>(access.vector));
    for (int i = 0; i < access.vector; ++i) {
      const auto [address, mask] = cut_element(access, block, i);
      store_words(access, address, mask, memory_words({elements[static_cast<size_t>(i)]}, access.dtype),
                  access.element_bytes());
    }
    b_.CreateBr(block.done);
    b_.SetInsertPoint(block.done);
  }
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
      guards[i].full = guards[i].full == nullptr ? owner : b_.CreateAnd(guards[i].full, owner);
      if (guards[i].cut != nullptr) guards[i].cut = b_.CreateAnd(guards[i].cut, owner);
    }
    llvm::SmallVector<llvm::Value*, 16> elements;
    for (uint32_t reg : groups[i]) elements.push_back(value[reg]);
    words.push_back(memory_words(elements, access.dtype));
    store_words(access, access_address(access, groups[i][0]), guards[i].full, words.back(), bytes);
  }
  if (access.is_split) store_cut_vectors(access, groups, guards, words);
}

}  // namespace kaon::compiler::codegen
