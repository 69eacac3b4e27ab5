// Which compiled image runs on which device, and which variant fits it: facts in, answer out, no hardware needed.
#pragma once

#include <string>

#include "runtime/base/variant.h"
#include "runtime/launch/backend.h"
#include "runtime/launch/pack.h"

namespace kaon {

/// A target's name taken apart: "sm_90a" is sm 90 and exact, "sm_100f" sm 100 and the whole family, "host" is_host.
struct TargetName {
  bool is_host = false;
  int sm = 0;
  char suffix = '\0';  // '\0', 'a' or 'f'
};
bool parse_target(const std::string& target, TargetName* out);

enum class PtxRule : uint8_t { kForbidden, kAllowed };

/// A number that ranks images which run on the device, higher is better; 0 when this one does not run.
///   host images run on host; cubin and fatbin for sm_XY on the same major and an equal or higher minor, for sm_XYa
///   only on XY; PTX for sm_XY on XY and everything newer, if allowed, because the driver compiles it on first use.
int image_rank(const std::string& target, ImageKind kind, const DeviceFacts& facts, PtxRule ptx);

/// The best image of `variant` that runs on the device, or -1.
int choose_image(const PackVariant& variant, const std::vector<PackImageView>& images, const DeviceFacts& facts,
                 PtxRule ptx);

/// Empty when the device has what the variant needs, else what it lacks with both numbers.
std::string missing_resource(const VariantInfo& variant, const DeviceFacts& facts);

/// The compute capability in a table's hardware name: "sm90" is 90; 0 for "host"; -1 for anything else.
int hardware_sm(const std::string& hardware);

}  // namespace kaon
