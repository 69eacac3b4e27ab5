// Recorded traffic: the calls that a program made, one JSON object a line.
//
//   {"kernel": "softmax", "dtypes": "f16", "dims": {"M": 4096, "N": 1024}, "count": 17}
//
// Lines of equal kernel, dtypes and dims add up, so that several processes may append to one file. A last line without
// its newline is a write that was cut off and is ignored.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aot_runner/spec/shapes_file.h"
#include "runtime/base/status.h"

namespace kaon::runner {

/// The calls of `kernel` in a recording; `dims` is the kernel's order. kInvalidArgument with the line for a line that
/// does not follow the format; kNotFound with the kernels that were recorded when `kernel` is not among them.
Result<RecordedShapes> parse_recording(std::string_view text, const std::string& name, const std::string& kernel,
                                       const std::vector<std::string>& dims);

/// True when the text starts like a recording and not like a shapes file.
bool looks_like_recording(std::string_view text);

}  // namespace kaon::runner
