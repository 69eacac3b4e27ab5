// The SHA-256 digest of a text: what identifies a kernel's source in packs, caches and staleness checks.
#pragma once

#include <string>
#include <string_view>

namespace kaon::compiler {

/// FIPS 180-4 SHA-256 of `bytes`, as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

}  // namespace kaon::compiler
