// The rules of binary compatibility between images and devices.
#include "runtime/launch/image_rules.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/text.h"

namespace kaon {
namespace {

bool parse_digits(std::string_view text, int* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out > 0;
}

std::string needs(const char* what, uint32_t needed, uint32_t has) {
  return cat("needs ", needed, " ", what, ", the device has ", has);
}

// Any binary is preferred to PTX, which the driver would have to compile.
constexpr int kBinaryRank = 1000;
constexpr int kPtxRank = 1;

// The chips, by compute capability, on which an image for one of them runs.
enum class Reach : uint8_t {
  kExact,  // that one
  kMajor,  // the same major, and an equal or higher minor
  kNewer,  // that one and all that came after it
};

struct ImageRule {
  bool is_ptx;  // else cubin or fatbin
  char suffix;  // of the target: sm_90a, sm_100f
  Reach reach;
};

constexpr ImageRule kImageRules[] = {
    {false, '\0', Reach::kMajor}, {false, 'a', Reach::kExact}, {false, 'f', Reach::kMajor},
    {true, '\0', Reach::kNewer},  {true, 'a', Reach::kExact},  {true, 'f', Reach::kMajor},
};

bool reaches(Reach reach, int image_sm, int device_sm) {
  switch (reach) {
    case Reach::kExact: return image_sm == device_sm;
    case Reach::kMajor: return image_sm / 10 == device_sm / 10 && image_sm <= device_sm;
    case Reach::kNewer: return image_sm <= device_sm;
  }
  return false;
}

}  // namespace

bool parse_target(const std::string& target, TargetName* out) {
  *out = {};
  if (target == "host") {
    out->is_host = true;
    return true;
  }
  if (target.rfind("sm_", 0) != 0) return false;
  std::string_view digits = std::string_view(target).substr(3);
  if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) {
    out->suffix = digits.back();
    digits.remove_suffix(1);
  }
  return parse_digits(digits, &out->sm);
}

int hardware_sm(const std::string& hardware) {
  if (hardware == "host") return 0;
  int sm = 0;
  if (hardware.rfind("sm", 0) != 0 || !parse_digits(std::string_view(hardware).substr(2), &sm)) return -1;
  return sm;
}

int image_rank(const std::string& target, ImageKind kind, const DeviceFacts& facts, PtxRule ptx) {
  TargetName name;
  if (!parse_target(target, &name)) return 0;
  if (name.is_host || facts.sm == 0 || kind == ImageKind::kHostElf) {
    return name.is_host && facts.sm == 0 && kind == ImageKind::kHostElf ? kBinaryRank : 0;
  }
  const bool is_ptx = kind == ImageKind::kPtx;
  for (const ImageRule& rule : kImageRules) {
    if (rule.is_ptx != is_ptx || rule.suffix != name.suffix || !reaches(rule.reach, name.sm, facts.sm)) continue;
    if (is_ptx) return ptx == PtxRule::kAllowed ? kPtxRank + std::min(name.sm, 500) : 0;
    // A nearer minor is worth more, and code for this very architecture more than plain code.
    return kBinaryRank + (name.sm % 10) * 2 + (name.suffix != '\0' ? 1 : 0);
  }
  return 0;
}

int choose_image(const PackVariant& variant, const std::vector<PackImageView>& images, const DeviceFacts& facts,
                 PtxRule ptx) {
  int best = -1, best_rank = 0;
  for (const ImageRef& ref : variant.images) {
    const PackImageView& image = images[ref.image];
    int rank = image_rank(image.target, image.kind, facts, ptx);
    if (rank > best_rank) {
      best = static_cast<int>(ref.image);
      best_rank = rank;
    }
  }
  return best;
}

std::string missing_resource(const VariantInfo& variant, const DeviceFacts& facts) {
  uint32_t shared = std::max(variant.requirements.shared_bytes, variant.plan.shared_bytes);
  uint32_t threads = std::max(variant.requirements.threads, variant.plan.threads);
  if (shared > facts.max_shared_bytes) return needs("bytes of shared memory", shared, facts.max_shared_bytes);
  if (threads > facts.max_threads) return needs("threads per block", threads, facts.max_threads);
  uint32_t registers = variant.requirements.registers_per_thread * threads;
  if (facts.registers_per_block != 0 && registers > facts.registers_per_block) {
    return needs("registers per block", registers, facts.registers_per_block);
  }
  // Clusters came with sm_90.
  if (variant.plan.cluster > 1 && facts.sm != 0 && facts.sm < 90) {
    return cat("needs clusters of ", variant.plan.cluster, " blocks, sm_", facts.sm, " has none");
  }
  return "";
}

}  // namespace kaon
