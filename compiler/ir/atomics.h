// What the atomic op knows: its functions, memory orders, and the element types that each function takes.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

enum class AtomicFn : uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kXchg, kCas };
enum class MemoryOrder : uint8_t { kRelaxed, kAcquire, kRelease, kAcqRel };

/// "add", "acq_rel": the attributes `fn` and `order`, and the names in .tile files.
const char* atomic_text(AtomicFn fn);
const char* order_text(MemoryOrder order);
bool parse_atomic(const std::string& text, AtomicFn* out);
bool parse_order(const std::string& text, MemoryOrder* out);

/// Empty when the function works on elements of `dtype`, else which it takes.
const char* why_illegal_operand(AtomicFn fn, DType dtype);

/// The type of the old values. kInternal, with expected and got, when operands or attributes are illegal.
Result<Type> atomic_type(const Kernel& kernel, const Op& op);

}  // namespace kaon::compiler
