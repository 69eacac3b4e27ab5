// Vectors that reach beyond what exists of their axis: which do, and how loads and stores deal with the one that is
// cut. An aligned vector with one element in memory is in memory as a whole, so a load reads it whole and a rare branch
// puts the fill in place of what does not exist. A store writes the elements of a cut vector one by one, in a rare
// branch.
#include <algorithm>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/access.h"
#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

/// Position of the thread's first element along the vectors' dimension, counted from the lowest that exists: an element
/// exists iff this plus its part is in [0, limit). Never below 1 - the width that windows are shifted by.
llvm::Value* Lowering::vector_start(const Access& access, uint32_t reg) {
  llvm::Value* position = thread_position(*access.layout, access.vector_dim);
  llvm::Value* origin = origin_of(access.type, *access.layout, access.vector_dim, reg);
  if (origin != nullptr) position = b_.CreateSub(position, origin);
  const AxisState state = axis_state(access.type.axes[static_cast<size_t>(access.vector_dim)]);
  return state.lowest == nullptr ? position : b_.CreateSub(position, state.lowest);
}

/// Whether a shifted window may start within or behind the vector at `part`: those before the first whole width.
static bool can_be_head(const Kernel& kernel, AxisId axis, int64_t part) {
  return kernel.axis(axis).origin != kNoValue && part < kernel.config.get_int("vec", 1);
}

std::vector<VectorGuard> Lowering::vector_guards(Access& access, const std::vector<std::vector<uint32_t>>& groups) {
  std::vector<VectorGuard> guards;
  const bool can_be_cut = access.is_split && access.vector > 1 &&
                          !axis_is_whole(access.type.axes[static_cast<size_t>(access.vector_dim)],
                                         access.layout->capacity(access.vector_dim));
  const Registers others = access_masks(access, can_be_cut ? access.vector_dim : -1);
  if (!can_be_cut) {
    for (const auto& group : groups) guards.push_back({others[group[0]], others[group[0]]});
    return guards;
  }
  const AxisId axis = access.type.axes[static_cast<size_t>(access.vector_dim)];
  for (const auto& group : groups) {
    llvm::Value* limit = limit_of(access.type, *access.layout, access.vector_dim, group[0]);
    const auto part = static_cast<int64_t>(access.layout->register_part(access.vector_dim, group[0]));
    llvm::Value* start = vector_start(access, group[0]);
    // One comparison a vector, with a number that all threads share (but for jagged rows).
    auto starts_below = [&](llvm::Value* position, int64_t distance) {
      return b_.CreateICmpSLT(position, b_.CreateSub(limit, b_.getInt32(static_cast<uint32_t>(distance))));
    };
    llvm::Value* full = starts_below(start, part + access.vector - 1);
    llvm::Value* some = nullptr;
    if (can_be_head(kernel_, axis, part)) {
      const auto at_least = [&](int64_t least) {
        return b_.CreateICmpSGE(start, b_.getInt32(static_cast<uint32_t>(least)));
      };
      full = b_.CreateAnd(full, at_least(-part));
      llvm::Value* first =
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, start, b_.getInt32(static_cast<uint32_t>(-part)));
      some = starts_below(first, part);
      // A vector as wide as the shift has elements behind the window's start always.
      if (access.vector < kernel_.config.get_int("vec", 1))
        some = b_.CreateAnd(some, at_least(1 - part - access.vector));
    } else {
      some = starts_below(start, part);
    }
    if (llvm::Value* other = others[group[0]]) {
      full = b_.CreateAnd(full, other);
      some = b_.CreateAnd(some, other);
    }
    guards.push_back({some, full});
  }
  return guards;
}

/// Vectors of one row that can be cut, of which at most one is: each of the first, by the shift of the window or the
/// end, and one of the others, by the end.
std::vector<CutSet> Lowering::cut_sets(const Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                       const std::vector<VectorGuard>& guards) {
  if (access.vector == 1) return {};  // one element is wholly in or out
  const AxisId axis = access.type.axes[static_cast<size_t>(access.vector_dim)];
  std::vector<int> others;
  for (int dim = 0; dim < access.type.rank(); ++dim) {
    if (dim != access.vector_dim) others.push_back(dim);
  }
  std::map<std::pair<std::vector<uint64_t>, int64_t>, CutSet> rows;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (!guards[i].can_be_cut()) continue;
    const auto part = static_cast<int64_t>(access.layout->register_part(access.vector_dim, groups[i][0]));
    const int64_t head = can_be_head(kernel_, axis, part) ? part : -1;
    rows[{RegisterMap::parts_of(*access.layout, others, groups[i][0]), head}].groups.push_back(i);
  }
  std::vector<CutSet> sets;
  for (auto& [key, set] : rows) sets.push_back(std::move(set));
  return sets;
}

llvm::Value* Lowering::is_cut(const VectorGuard& guard) { return b_.CreateAnd(guard.some, b_.CreateNot(guard.full)); }

/// Opens the block that a thread runs when any of its vectors is cut.
CutBlock Lowering::begin_cut(const std::vector<VectorGuard>& guards) {
  llvm::Value* any = nullptr;
  for (const VectorGuard& guard : guards) {
    if (!guard.can_be_cut()) continue;
    any = any == nullptr ? is_cut(guard) : b_.CreateOr(any, is_cut(guard));
  }
  CutBlock block;
  block.before = b_.GetInsertBlock();
  llvm::BasicBlock* branch = llvm::BasicBlock::Create(context_, "cut", function_);
  block.done = llvm::BasicBlock::Create(context_, "cut.done", function_);
  b_.CreateCondBr(any, branch, block.done);
  b_.SetInsertPoint(branch);
  return block;
}

/// Whether each element of the vector of the set that is cut exists.
Registers Lowering::cut_elements(const Access& access, const CutSet& set,
                                 const std::vector<std::vector<uint32_t>>& groups,
                                 const std::vector<VectorGuard>& guards) {
  llvm::Value* position = nullptr;
  for (size_t i : set.groups) {
    const auto part = static_cast<uint32_t>(access.layout->register_part(access.vector_dim, groups[i][0]));
    llvm::Value* own = b_.CreateAdd(vector_start(access, groups[i][0]), b_.getInt32(part));
    position = position == nullptr ? own : b_.CreateSelect(is_cut(guards[i]), own, position);
  }
  const uint32_t any_of_row = groups[set.groups[0]][0];
  llvm::Value* limit = limit_of(access.type, *access.layout, access.vector_dim, any_of_row);
  Registers exist;
  for (uint32_t i = 0; i < static_cast<uint32_t>(access.vector); ++i) {
    exist.push_back(b_.CreateICmpULT(b_.CreateAdd(position, b_.getInt32(i)), limit));
  }
  return exist;
}

/// `words` of loaded vectors, with the fill where the elements of a cut one do not exist.
void Lowering::mend_cut_vectors(const Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                const std::vector<VectorGuard>& guards, llvm::Constant* fill,
                                std::vector<Words>& words) {
  const std::vector<CutSet> sets = cut_sets(access, groups, guards);
  if (sets.empty()) return;
  const CutBlock block = begin_cut(guards);
  std::vector<Words> mended = words;
  llvm::Type* type = words[0][0]->getType();
  const unsigned word_bits = type->getIntegerBitWidth();
  const unsigned bits = access.element_bytes() * 8;
  for (const CutSet& set : sets) {
    const Registers exist = cut_elements(access, set, groups, guards);
    for (unsigned w = 0; w < words[0].size(); ++w) {
      llvm::Value* kept = llvm::ConstantInt::get(type, 0);
      for (unsigned e = 0; e < exist.size(); ++e) {
        const unsigned begin = std::max(e * bits, w * word_bits);
        const unsigned end = std::min((e + 1) * bits, (w + 1) * word_bits);
        if (begin >= end) continue;
        const llvm::APInt field = llvm::APInt::getBitsSet(word_bits, begin - w * word_bits, end - w * word_bits);
        kept = b_.CreateOr(
            kept, b_.CreateSelect(exist[e], llvm::ConstantInt::get(context_, field), llvm::ConstantInt::get(type, 0)));
      }
      llvm::Value* filled = b_.CreateAnd(fill, b_.CreateNot(kept));
      for (size_t i : set.groups) {
        llvm::Value* whole = b_.CreateOr(b_.CreateAnd(words[i][w], kept), filled);
        mended[i][w] = b_.CreateSelect(is_cut(guards[i]), whole, words[i][w]);
      }
    }
  }
  llvm::BasicBlock* branch = b_.GetInsertBlock();
  b_.CreateBr(block.done);
  b_.SetInsertPoint(block.done);
  for (const CutSet& set : sets) {
    for (size_t i : set.groups) {
      for (size_t w = 0; w < words[i].size(); ++w) {
        llvm::PHINode* merged = b_.CreatePHI(type, 2);
        merged->addIncoming(words[i][w], block.before);
        merged->addIncoming(mended[i][w], branch);
        words[i][w] = merged;
      }
    }
  }
}

void Lowering::store_cut_vectors(Access& access, const std::vector<std::vector<uint32_t>>& groups,
                                 const std::vector<VectorGuard>& guards, const std::vector<Words>& words) {
  const std::vector<CutSet> sets = cut_sets(access, groups, guards);
  if (sets.empty()) return;
  const CutBlock block = begin_cut(guards);
  for (const CutSet& set : sets) {
    llvm::Value* address = nullptr;
    llvm::Value* any = nullptr;
    Words chosen = words[set.groups[0]];
    for (size_t i : set.groups) {
      llvm::Value* cut = is_cut(guards[i]);
      llvm::Value* own = access_address(access, groups[i][0]);
      address = address == nullptr ? own : b_.CreateSelect(cut, own, address);
      any = any == nullptr ? cut : b_.CreateOr(any, cut);
      for (size_t w = 0; w < chosen.size(); ++w) chosen[w] = b_.CreateSelect(cut, words[i][w], chosen[w]);
    }
    const Registers exist = cut_elements(access, set, groups, guards);
    const Registers elements = from_words(chosen, access.dtype, exist.size());
    for (size_t e = 0; e < exist.size(); ++e) {
      llvm::Value* own = b_.CreateAdd(address, b_.getInt64(e * access.element_bytes()));
      store_words(access, own, b_.CreateAnd(exist[e], any), memory_words({elements[e]}, access.dtype),
                  access.element_bytes());
    }
  }
  access.rows.clear();  // what was computed here does not reach code behind
  b_.CreateBr(block.done);
  b_.SetInsertPoint(block.done);
}

}  // namespace kaon::compiler::codegen
