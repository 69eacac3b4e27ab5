// Which functions the element-wise ops and reductions know: enums of functions.inc and their texts.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/dtype.h"

namespace kaon::compiler {

#define KAON_FN_ENUMERATOR(enumerator, text) enumerator,
enum class UnaryFn : uint8_t {
#define KAON_UNARY KAON_FN_ENUMERATOR
#include "compiler/ir/functions.inc"
#undef KAON_UNARY
};
enum class BinaryFn : uint8_t {
#define KAON_BINARY KAON_FN_ENUMERATOR
#include "compiler/ir/functions.inc"
#undef KAON_BINARY
};
enum class CompareFn : uint8_t {
#define KAON_COMPARE KAON_FN_ENUMERATOR
#include "compiler/ir/functions.inc"
#undef KAON_COMPARE
};
enum class ReduceFn : uint8_t {
#define KAON_REDUCE KAON_FN_ENUMERATOR
#include "compiler/ir/functions.inc"
#undef KAON_REDUCE
};
#undef KAON_FN_ENUMERATOR

/// The text of a function: the `fn` attribute of its op and its name in .tile files.
const char* fn_text(UnaryFn fn);
const char* fn_text(BinaryFn fn);
const char* fn_text(CompareFn fn);
const char* fn_text(ReduceFn fn);

/// False when no function of that kind has the text.
bool parse_fn(std::string_view text, UnaryFn* out);
bool parse_fn(std::string_view text, BinaryFn* out);
bool parse_fn(std::string_view text, CompareFn* out);
bool parse_fn(std::string_view text, ReduceFn* out);

/// Empty when the function takes elements of `dtype`, else which it takes: "floats", "integers", "integers or bool".
const char* why_illegal_operand(UnaryFn fn, DType dtype);
const char* why_illegal_operand(BinaryFn fn, DType dtype);
const char* why_illegal_operand(CompareFn fn, DType dtype);
const char* why_illegal_operand(ReduceFn fn, DType dtype);

/// Element type of the result of a unary function: bool for isnan, else the operand's.
inline DType unary_result_dtype(UnaryFn fn, DType operand) { return fn == UnaryFn::kIsNan ? DType::kBool : operand; }

}  // namespace kaon::compiler
