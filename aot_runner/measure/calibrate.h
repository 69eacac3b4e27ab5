// What a device can do and how well it can be measured, without any kernel of a user.
#pragma once

#include "aot_runner/measure/device.h"
#include "aot_runner/measure/protocol.h"
#include "runtime/base/status.h"

namespace kaon::runner {

/// Median time of an empty replay: the part of every figure that no kernel is to blame for.
Result<double> measure_empty(Device& device);

/// Copies of several sizes, each timed as two candidates in the same rounds. Takes a second or two on a GPU.
Result<Calibration> calibrate(Device& device);

}  // namespace kaon::runner
