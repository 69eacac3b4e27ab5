// Whole files in and out.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace kaon::runner {

/// The whole of a file. kIo with path and errno.
Result<std::string> read_file(const std::string& path);
/// Writes beside the target and renames, so that a failure leaves the old file. kIo with path and errno.
Status write_file(const std::string& path, const std::string& bytes);

}  // namespace kaon::runner
