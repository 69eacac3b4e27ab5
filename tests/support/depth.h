// How many of their cases long tests take: all in a plain build, a part under a sanitizer, which makes each many times
// slower and looks for faults of a kind that the first cases show.
#pragma once

namespace kaon {

#ifdef KAON_SANITIZED
inline constexpr bool kAllCases = false;
#else
inline constexpr bool kAllCases = true;
#endif

/// `all`, or `few` under a sanitizer.
constexpr int depth(int all, int few) { return kAllCases ? all : few; }

}  // namespace kaon
