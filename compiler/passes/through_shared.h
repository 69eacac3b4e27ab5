// How a tile reaches other threads: a shared buffer of its own, written by owners and read in another layout.
#pragma once

#include "compiler/ir/builder.h"
#include "compiler/passes/partials.h"

namespace kaon::compiler {

/// Appends shared_store and shared_load; gives `value` in type and layout of `to`. `what` begins the buffer's name.
ValueId through_shared(Builder& builder, ValueId value, const PartialTile& to, const char* what);

}  // namespace kaon::compiler
