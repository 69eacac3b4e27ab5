// Needs: layouts; rolled axes already loops.
// Gives: on each load and store
//          vector  elements per access, at most 16 bytes; 1 needs no guard, more is justified by guards on unit stride,
//                  alignment of pointer and other strides
//          edge    "none": no vector is ever cut or missing; "whole": vectors are wholly in or out; "split": a vector
//                  may be cut at the head or tail of its axis
//          evict   "stream" where the knob says so
//        guards for knobs div.* and index = 32; for shift.<axis> = 1 the axis's origin, computed at the start of a
//        program, and `extra` on the loops over it.
// Why here: what can be a vector follows from the layouts; guards must be known before code is made.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status plan_access(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
