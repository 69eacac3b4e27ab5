// Everything that a serving program needs of the C++ runtime.
#pragma once

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/launch/control.h"
#include "runtime/launch/kernel.h"
#include "runtime/launch/kernel_table.h"
#include "runtime/launch/log.h"
#include "runtime/launch/match.h"
#include "runtime/launch/tensor.h"
