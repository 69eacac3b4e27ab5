// Elements as memory sees them: as 32-bit words of a vector, and as bits of their own size.
#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

llvm::Value* Lowering::to_memory(llvm::Value* element, DType dtype) {
  if (dtype == DType::kBool) return b_.CreateZExt(element, b_.getInt8Ty());
  return b_.CreateBitCast(element, b_.getIntNTy(static_cast<unsigned>(dtype_bytes(dtype)) * 8));
}

llvm::Value* Lowering::from_memory(llvm::Value* bits, DType dtype) {
  if (dtype == DType::kBool) return b_.CreateICmpNE(bits, b_.getInt8(0));
  return b_.CreateBitCast(bits, element_type(dtype));
}

/// Packs elements, first in the low bits; what does not fill the last word is zero.
Words Lowering::to_words(llvm::ArrayRef<llvm::Value*> elements, DType dtype) {
  const auto bytes = static_cast<unsigned>(dtype_bytes(dtype));
  Words words;
  for (size_t i = 0; i < elements.size(); ++i) {
    llvm::Value* bits = to_memory(elements[i], dtype);
    if (bytes == 8) {
      words.push_back(b_.CreateTrunc(bits, b_.getInt32Ty()));
      words.push_back(b_.CreateTrunc(b_.CreateLShr(bits, 32), b_.getInt32Ty()));
      continue;
    }
    const unsigned shift = static_cast<unsigned>(i) * bytes * 8 % 32;
    llvm::Value* word = b_.CreateZExt(bits, b_.getInt32Ty());
    if (shift == 0) {
      words.push_back(word);
    } else {
      words.back() = b_.CreateOr(words.back(), b_.CreateShl(word, shift));
    }
  }
  return words;
}

/// The same for an access of fewer than 32 bits in all: then one value of just so many.
Words Lowering::memory_words(llvm::ArrayRef<llvm::Value*> elements, DType dtype) {
  Words words = to_words(elements, dtype);
  const unsigned bits = static_cast<unsigned>(dtype_bytes(dtype)) * 8 * static_cast<unsigned>(elements.size());
  if (bits < 32) words[0] = b_.CreateTrunc(words[0], b_.getIntNTy(bits));
  return words;
}

/// `words` are 32 bits wide, or one narrower value that holds `count` elements exactly.
Registers Lowering::from_words(llvm::ArrayRef<llvm::Value*> words, DType dtype, size_t count) {
  const auto bytes = static_cast<unsigned>(dtype_bytes(dtype));
  Registers elements;
  for (size_t i = 0; i < count; ++i) {
    llvm::Value* bits = nullptr;
    if (bytes == 8) {
      llvm::Value* high = b_.CreateShl(b_.CreateZExt(words[2 * i + 1], b_.getInt64Ty()), 32);
      bits = b_.CreateOr(high, b_.CreateZExt(words[2 * i], b_.getInt64Ty()));
    } else {
      const auto bit = static_cast<unsigned>(i) * bytes * 8;
      llvm::Value* word = words[bit / 32];
      bits = b_.CreateTrunc(bit % 32 == 0 ? word : b_.CreateLShr(word, bit % 32), b_.getIntNTy(bytes * 8));
    }
    elements.push_back(from_memory(bits, dtype));
  }
  return elements;
}

/// Packed words combined with a zero that only the guard knows to be one: an operand from the constant bank, no
/// register. What is computed from here on cannot be merged with the same computation elsewhere, by LLVM or by ptxas.
void Lowering::lower_reuse(const Op& op) {
  const ValueId operand = op.operands[0];
  const DType dtype = kernel_.type(operand).dtype;
  const auto round = static_cast<uint64_t>(op.int_attr("round"));
  llvm::Value* high = b_.CreateLShr(slot(static_cast<int>(op.int_attr("slot"))), 32);
  llvm::Value* zero = b_.CreateTrunc(high, b_.getInt32Ty());
  Words words = to_words(registers(operand), dtype);
  for (llvm::Value*& word : words) {
    // Two kinds by turns: a round undoes the one before in no way that a compiler may see.
    word = round % 2 == 0 ? b_.CreateXor(word, zero) : b_.CreateAdd(word, zero);
  }
  define(op.result(), from_words(words, dtype, registers(operand).size()));
}

}  // namespace kaon::compiler::codegen
