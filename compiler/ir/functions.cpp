// Texts of the functions in functions.inc, and which element types each of them takes.
#include "compiler/ir/functions.h"

#include <cstddef>

namespace kaon::compiler {
namespace {

#define KAON_FN_TEXT(enumerator, text) text,
constexpr const char* kUnaryTexts[] = {
#define KAON_UNARY KAON_FN_TEXT
#include "compiler/ir/functions.inc"
#undef KAON_UNARY
};
constexpr const char* kBinaryTexts[] = {
#define KAON_BINARY KAON_FN_TEXT
#include "compiler/ir/functions.inc"
#undef KAON_BINARY
};
constexpr const char* kCompareTexts[] = {
#define KAON_COMPARE KAON_FN_TEXT
#include "compiler/ir/functions.inc"
#undef KAON_COMPARE
};
constexpr const char* kReduceTexts[] = {
#define KAON_REDUCE KAON_FN_TEXT
#include "compiler/ir/functions.inc"
#undef KAON_REDUCE
};
#undef KAON_FN_TEXT

template <typename Fn, size_t kCount>
bool find_text(const char* const (&texts)[kCount], std::string_view text, Fn* out) {
  for (size_t i = 0; i < kCount; ++i) {
    if (text == texts[i]) {
      *out = static_cast<Fn>(i);
      return true;
    }
  }
  return false;
}

const char* unless(bool legal, const char* expected) { return legal ? "" : expected; }

}  // namespace

const char* fn_text(UnaryFn fn) { return kUnaryTexts[static_cast<size_t>(fn)]; }
const char* fn_text(BinaryFn fn) { return kBinaryTexts[static_cast<size_t>(fn)]; }
const char* fn_text(CompareFn fn) { return kCompareTexts[static_cast<size_t>(fn)]; }
const char* fn_text(ReduceFn fn) { return kReduceTexts[static_cast<size_t>(fn)]; }

bool parse_fn(std::string_view text, UnaryFn* out) { return find_text(kUnaryTexts, text, out); }
bool parse_fn(std::string_view text, BinaryFn* out) { return find_text(kBinaryTexts, text, out); }
bool parse_fn(std::string_view text, CompareFn* out) { return find_text(kCompareTexts, text, out); }
bool parse_fn(std::string_view text, ReduceFn* out) { return find_text(kReduceTexts, text, out); }

const char* why_illegal_operand(UnaryFn fn, DType dtype) {
  switch (fn) {
    case UnaryFn::kNot: return unless(!dtype_is_float(dtype), "integers or bool");
    case UnaryFn::kNeg:
    case UnaryFn::kAbs: return unless(dtype != DType::kBool, "floats or integers");
    default: return unless(dtype_is_float(dtype), "floats");
  }
}

const char* why_illegal_operand(BinaryFn fn, DType dtype) {
  switch (fn) {
    case BinaryFn::kDiv:
    case BinaryFn::kPow: return unless(dtype_is_float(dtype), "floats");
    case BinaryFn::kFloorDiv:
    case BinaryFn::kMod:
    case BinaryFn::kShl:
    case BinaryFn::kShr: return unless(dtype_is_int(dtype), "integers");
    case BinaryFn::kAnd:
    case BinaryFn::kOr:
    case BinaryFn::kXor: return unless(!dtype_is_float(dtype), "integers or bool");
    default: return unless(dtype != DType::kBool, "floats or integers");
  }
}

const char* why_illegal_operand(CompareFn, DType) { return ""; }

const char* why_illegal_operand(ReduceFn, DType dtype) { return unless(dtype != DType::kBool, "floats or integers"); }

}  // namespace kaon::compiler
