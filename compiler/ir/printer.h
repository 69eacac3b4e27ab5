// The textual form of a kernel, which parser.h reads back.
//
//   kernel softmax {
//     stage logical
//     dim M
//     dim N
//     tensor x: f16[M, N] generic T
//     tensor out: f16[M, N] generic T, output
//     axis m: tile begin 0, end M
//     axis N: full extent N
//     tile {axes = [m]} {
//       %0:f16[m, N] = load x[m, N]
//       %1:f32[m, N] = cast %0  # row
//       %2:f32[m, 1] = reduce %1 {fn = "max", dims = [1], keepdim = 1}
//       ...
//     }
//   }
//
// Value numbers are the kernel's ValueIds; the source names of an op's results and region arguments follow '#'; '//'
// starts a comment. Layouts follow the type: `%0:f16[m, N] @ [4w1 | 8r1 32l1] warps 4`. Places in the source are not
// printed. Equal kernels have equal texts, and print(parse_kernel(text)) == text for every text that print wrote.
#pragma once

#include <string>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// "logical", "laid_out", "staged".
const char* stage_name(Stage stage);
const char* axis_kind_name(AxisKind kind);    // "tile", "full", "static"
const char* guard_kind_name(GuardKind kind);  // "divisible", "span_at_most", ...

std::string print(const Kernel& kernel);
/// The first line of one op, for messages. Never fails, also for an op that does not verify.
std::string print_op(const Kernel& kernel, const Op& op);

}  // namespace kaon::compiler
