// What is done with each fuzzed pack.
#pragma once

#include <cstddef>

namespace kaon::testing {

/// Reads the bytes as a pack, with the checksums mended, and does on several chips with its tables what calls do. Whether
/// the reader took it.
bool read_and_serve(const unsigned char* data, size_t bytes);

}  // namespace kaon::testing
