// The rules of binary compatibility between images and devices.
#include "runtime/launch/image_rules.h"

#include <algorithm>
#include <charconv>

namespace kaon {
namespace {

bool parse_digits(std::string_view text, int* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && *out > 0;
}

std::string needs(const char* what, uint32_t needed, uint32_t has) {
  return "needs " + std::to_string(needed) + " " + what + ", the device has " + std::to_string(has);
}

// Binary code runs on the same major; an older minor is worth less than a nearer one.
constexpr int kBinaryRank = 1000;
constexpr int kPtxRank = 1;

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
  bool is_host_device = facts.sm == 0;
  if (name.is_host || is_host_device || kind == ImageKind::kHostElf) {
    return name.is_host && is_host_device && kind == ImageKind::kHostElf ? kBinaryRank : 0;
  }
  if (name.suffix == 'a' && name.sm != facts.sm) return 0;
  if (kind == ImageKind::kPtx) {
    bool runs = name.suffix == 'f' ? name.sm / 10 == facts.sm / 10 && name.sm <= facts.sm : name.sm <= facts.sm;
    return runs && ptx == PtxRule::kAllowed ? kPtxRank + std::min(name.sm, 500) : 0;
  }
  if (name.sm / 10 != facts.sm / 10 || name.sm > facts.sm) return 0;
  // An architecture-specific image is preferred to the plain one for the same chip.
  return kBinaryRank + (name.sm % 10) * 2 + (name.suffix != '\0' ? 1 : 0);
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
    return "needs clusters of " + std::to_string(variant.plan.cluster) + " blocks, sm_" + std::to_string(facts.sm) +
           " has none";
  }
  return "";
}

}  // namespace kaon
