// Loads and stores: 16 bytes an instruction under a predicate, without a branch; vectors cut by an edge are mended apart.
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
    for (int i = 0; i < access.vector; ++i, ++along) group.push_back(static_cast<uint32_t>(std::max(0, map.find(parts))));
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
Words Lowering::load_words(const Access& access, llvm::Value* address, llvm::Value* mask,
                                                        unsigned bytes, llvm::Constant* fill) {
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

/// At most the first and the last vector of a row are cut: one branch that few warps take reads their elements singly.
void Lowering::load_cut_vectors(Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                const std::vector<VectorGuard>& guards,
                                std::vector<Words>& words) {
  llvm::BasicBlock* before = nullptr;
  llvm::BasicBlock* done = begin_cut(guards, &before);
  if (done == nullptr) return;
  const Registers masks = access_masks(access, -1);
  const unsigned bytes = access.element_bytes();
  llvm::Constant* fill = fill_bits(access.op->result(), std::min(bytes, 4u));
  std::vector<Registers> elements(groups.size());
  for (size_t i = 0; i < groups.size(); ++i) {
    if (guards[i].cut == nullptr) continue;
    for (uint32_t reg : groups[i]) {
      llvm::Value* mask = masks[reg] == nullptr ? guards[i].cut : b_.CreateAnd(guards[i].cut, masks[reg]);
      const Words single = load_words(access, access_address(access, reg), mask, bytes, fill);
      elements[i].push_back(from_words(single, access.dtype, 1)[0]);
    }
  }
  std::vector<Words> mended = words;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (guards[i].cut == nullptr) continue;
    const auto packed = to_words(elements[i], access.dtype);
    for (size_t w = 0; w < packed.size(); ++w) {
      llvm::Value* single = b_.CreateIntCast(packed[w], words[i][w]->getType(), false);
      mended[i][w] = b_.CreateSelect(guards[i].cut, single, words[i][w]);
    }
  }
  llvm::BasicBlock* branch = b_.GetInsertBlock();
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
  for (size_t i = 0; i < groups.size(); ++i) {
    for (size_t w = 0; w < words[i].size(); ++w) {
      llvm::PHINode* merged = b_.CreatePHI(words[i][w]->getType(), 2);
      merged->addIncoming(words[i][w], before);
      merged->addIncoming(mended[i][w], branch);
      words[i][w] = merged;
    }
  }
}

/// Opens the block that runs when some vector of the thread is cut, and returns the one behind it; null: none can be.
llvm::BasicBlock* Lowering::begin_cut(const std::vector<VectorGuard>& guards, llvm::BasicBlock** before) {
  llvm::Value* any = nullptr;
  for (const VectorGuard& guard : guards) {
    if (guard.cut != nullptr) any = any == nullptr ? guard.cut : b_.CreateOr(any, guard.cut);
  }
  if (any == nullptr) return nullptr;
  llvm::BasicBlock* branch = llvm::BasicBlock::Create(context_, "cut", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "cut.done", function_);
  b_.CreateCondBr(any, branch, done);
  *before = b_.GetInsertBlock();
  b_.SetInsertPoint(branch);
  return done;
}

void Lowering::lower_store(const Op& op) {
  Access access;
  if (!analyse_access(op, access)) return;
  const auto groups = vector_groups(access);
  std::vector<VectorGuard> guards = vector_guards(access, groups);
  const Registers& value = registers(op.operands[0]);
  llvm::Value* owner = owner_condition(*access.layout);
  const unsigned bytes = access.element_bytes() * static_cast<unsigned>(access.vector);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (owner != nullptr) {
      guards[i].full = guards[i].full == nullptr ? owner : b_.CreateAnd(guards[i].full, owner);
      if (guards[i].cut != nullptr) guards[i].cut = b_.CreateAnd(guards[i].cut, owner);
    }
    llvm::SmallVector<llvm::Value*, 16> elements;
    for (uint32_t reg : groups[i]) elements.push_back(value[reg]);
    store_words(access, access_address(access, groups[i][0]), guards[i].full, memory_words(elements, access.dtype), bytes);
  }
  llvm::BasicBlock* before = nullptr;
  llvm::BasicBlock* done = access.is_split ? begin_cut(guards, &before) : nullptr;
  if (done == nullptr) return;
  const Registers masks = access_masks(access, -1);
  for (size_t i = 0; i < groups.size(); ++i) {
    for (uint32_t reg : groups[i]) {
      llvm::Value* mask = masks[reg] == nullptr ? guards[i].cut : b_.CreateAnd(guards[i].cut, masks[reg]);
      store_words(access, access_address(access, reg), mask, memory_words({value[reg]}, access.dtype), access.element_bytes());
    }
  }
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

}  // namespace kaon::compiler::codegen
