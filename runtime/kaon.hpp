// Everything that a serving program needs of the C++ runtime. The typed functions of generated kernels include the parts
// that they use.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/launch/control.h"
#include "runtime/launch/kernel.h"
#include "runtime/launch/kernel_table.h"
#include "runtime/launch/log.h"
#include "runtime/launch/match.h"
#include "runtime/launch/tensor.h"
