// Makes a failing list of choices smaller while it fails in the same way.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace kaon::compiler {

/// Tries lists that are shorter, and numbers that are smaller, as long as `still_fails` says so; at most `tries` times.
std::vector<uint32_t> shrink(std::vector<uint32_t> choices, int tries,
                             const std::function<bool(const std::vector<uint32_t>&)>& still_fails);

}  // namespace kaon::compiler
