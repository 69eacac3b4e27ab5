// The generated tables of this folder, one list per kernel and kind of hardware; defined in the .gen.cpp files.
#pragma once

#include "runtime/launch/kernel_table.h"

namespace kaon::tables {

extern const KernelTableList softmax_host_list;
extern const KernelTableList softmax_sm90_list;
extern const KernelTableList vector_add_host_list;
extern const KernelTableList vector_add_sm90_list;

}  // namespace kaon::tables
