// Texts of atomic functions and orders, and the op's typing rule.
#include "compiler/ir/atomics.h"

#include <iterator>

#include "compiler/ir/bug.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

constexpr const char* kFnTexts[] = {"add", "min", "max", "and", "or", "xor", "xchg", "cas"};
constexpr const char* kOrderTexts[] = {"relaxed", "acquire", "release", "acq_rel"};

template <typename E, size_t N>
bool parse_text(const char* const (&texts)[N], const std::string& text, E* out) {
  for (size_t i = 0; i < N; ++i) {
    if (text == texts[i]) {
      *out = static_cast<E>(i);
      return true;
    }
  }
  return false;
}

}  // namespace

const char* atomic_text(AtomicFn fn) { return kFnTexts[static_cast<size_t>(fn)]; }
const char* order_text(MemoryOrder order) { return kOrderTexts[static_cast<size_t>(order)]; }
bool parse_atomic(const std::string& text, AtomicFn* out) { return parse_text(kFnTexts, text, out); }
bool parse_order(const std::string& text, MemoryOrder* out) { return parse_text(kOrderTexts, text, out); }

const char* why_illegal_operand(AtomicFn fn, DType dtype) {
  const bool is_bits = fn == AtomicFn::kAnd || fn == AtomicFn::kOr || fn == AtomicFn::kXor;
  if (is_bits && !dtype_is_int(dtype)) return "integers of 16 bits or more";
  if (dtype_bytes(dtype) < 2) return is_bits ? "integers of 16 bits or more" : "elements of 16 bits or more";
  return "";
}

Result<Type> atomic_type(const Kernel& kernel, const Op& op) {
  AtomicFn fn{};
  MemoryOrder order{};
  if (!parse_atomic(op.str_attr("fn"), &fn))
    return bug("attribute fn: no atomic is named \"" + op.str_attr("fn") + "\"");
  if (!parse_order(op.str_attr("order"), &order)) {
    return bug("attribute order: expected relaxed, acquire, release or acq_rel, got \"" + op.str_attr("order") + "\"");
  }
  if (op.operands.size() < (fn == AtomicFn::kCas ? 2u : 1u)) return bug("expected a value, got too few operands");
  KAON_RETURN_IF_ERROR(check_store(kernel, op));
  const Type& type = kernel.type(op.operands[0]);
  const std::string expected = why_illegal_operand(fn, type.dtype);
  if (!expected.empty()) {
    return bug(std::string(atomic_text(fn)) + ": expected " + expected + ", got " + dtype_name(type.dtype));
  }
  const ValueId compared = access_operands(op).expected;
  if (compared != kNoValue && kernel.type(compared) != type) {
    return bug("expected value: expected " + type_text(kernel, type) + ", got " +
               type_text(kernel, kernel.type(compared)));
  }
  return type;
}

}  // namespace kaon::compiler
