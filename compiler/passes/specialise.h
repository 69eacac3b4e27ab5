// Needs: a logical kernel with a legal config.
// Gives: num_warps, the tile size or capacity of every axis, guards that each resident row fits its capacity;
//        no dead ops.
// Why here: everything after reads sizes from the axes, not from knobs.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status specialise(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
