// What a checked build checks, and what any other forgets.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/support/source.h"

namespace kaon::compiler {

/// Puts an assert before each access whose index comes from data, or of which a slice's or loop's bounds do: it is
/// inside its dimension wherever the access takes part. Messages of all asserts then begin with their place in `source`
/// (null: in no file). For all bodies that a config may choose. Stage kLogical; once.
Status insert_checks(Kernel& kernel, const SourceFile* source);

/// Removes every assert.
void erase_asserts(Kernel& kernel);

}  // namespace kaon::compiler
