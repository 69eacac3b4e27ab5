// What type the result of each op has, given its operands and attributes: one statement for builder and verifier.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// "f32[m, 1]": axes by name, "1" for a unit axis; a scalar is just "f32".
std::string type_text(const Kernel& kernel, const Type& type);
/// "%12".
inline std::string value_text(ValueId value) { return "%" + std::to_string(value); }
/// "[m, 1]".
std::string axes_text(const Kernel& kernel, const std::vector<AxisId>& axes);

/// The type that the one result of `op` must have. `declared` is the type that the result has or is asked to have; it
/// answers what operands leave open: the dtype of const and cast, the axes of const, broadcast and shared_load.
/// kInternal, with expected and got, when operands or attributes are illegal. Not for ops with regions.
/// Operands must be ids of values of `kernel`.
Result<Type> result_type(const Kernel& kernel, const Op& op, const Type& declared);

/// The axes of the tile that a load's or store's indexers address: dimension by dimension, an axis's own, or those of
/// an index tile; an axis that has come before does not come again. kInternal when an indexer is illegal.
Result<std::vector<AxisId>> indexed_axes(const Kernel& kernel, const Op& op);

/// What a store or atomic demands of its value and indexers.
Status check_store(const Kernel& kernel, const Op& op);

/// True for a name that prints without quotes: a letter or '_', then letters, digits, '_', '.' or '$'.
bool is_plain_name(const std::string& name);

}  // namespace kaon::compiler
