// What folds and scans share: tuples of tiles, and the region that combines two tuples of scalars into one.
#pragma once

#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// fold, scan and their steps: ops whose region combines tuples and sees nothing outside.
bool is_combining(OpKind kind);
/// fold, fold_thread, fold_lanes.
bool is_folding(OpKind kind);

/// Members of the tuples that a combining op's region takes two of.
size_t tuple_size(const Op& op);

/// What a region may be made of: ops that act on each element by itself.
bool may_combine(OpKind kind);

/// The typing rule of a combining op and of its region. kInternal, with expected and got.
Status check_combining(const Kernel& kernel, const Op& op);

/// The same region with values of its own, so that it can stand in one more op.
Region copy_combine(Kernel& kernel, const Region& region);

/// Does to tiles, element by element, what the region does to scalars. All tiles have the same axes and, from the
/// laid-out stage on, the same layout, which results get too.
std::vector<ValueId> combine_tiles(Builder& builder, const Region& combine, const std::vector<ValueId>& left,
                                   const std::vector<ValueId>& right);

/// The same where `left_valid` and `right_valid` (bool tiles of the same axes) say which side there is: of one alone
/// the result is that one. The last value of the result says where there is either.
std::vector<ValueId> combine_valid_tiles(Builder& builder, const Region& combine, const std::vector<ValueId>& left,
                                         ValueId left_valid, const std::vector<ValueId>& right, ValueId right_valid);

}  // namespace kaon::compiler
