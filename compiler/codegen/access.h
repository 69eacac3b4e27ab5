// How one load or store addresses its tensor, in terms of registers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <llvm/IR/Value.h>

#include "compiler/ir/ir.h"

namespace kaon::compiler::codegen {

/// Address of a register = base + variable part + constant part. The base has all that registers share, 64 bits wide;
/// the variable part is shared by the registers of one row; the constant part becomes the instruction's immediate
/// offset.
struct Access {
  const Op* op = nullptr;
  const TensorParam* param = nullptr;
  DType dtype = DType::kF32;
  std::vector<Indexer> index;
  Type type;  // of the tile that is loaded or stored
  const Layout* layout = nullptr;
  std::vector<int> dims;              // tile dimension of each kAxis indexer, else -1
  std::vector<llvm::Value*> strides;  // i64, in elements, per dimension of the tensor
  bool is_narrow = false;             // offsets in elements fit 32 bits
  llvm::Value* base = nullptr;        // i64
  std::map<std::vector<uintptr_t>, llvm::Value*> rows;

  int vector = 1;                      // elements per instruction
  int vector_dim = -1;                 // tile dimension they lie along
  bool is_split = false;               // a vector may be cut by the end (or shifted start) of its axis
  std::string modifiers;               // PTX qualifiers
  llvm::Value* turn_exists = nullptr;  // i1 of a load for a turn to come: there is such a turn

  /// Of a masked access, per register: i1 to take part, and what a load gives where not (empty: 0).
  std::vector<llvm::Value*> mask, other;

  unsigned element_bytes() const { return static_cast<unsigned>(dtype_bytes(dtype)); }
};

}  // namespace kaon::compiler::codegen
