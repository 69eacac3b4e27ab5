// The lookup chain as an order, and variants held against a device.
#include "runtime/launch/lookup.h"

#include <algorithm>
#include <cstdlib>

#include "runtime/base/text.h"

namespace kaon {

std::vector<LookupEntry> lookup_order(const std::vector<PackSource>& sources, const DeviceFacts& facts) {
  std::vector<LookupEntry> order;
  std::vector<int> distance(sources.size());
  auto is_before = [&](const LookupEntry& a, const LookupEntry& b) {
    if (a.fit != b.fit) return a.fit < b.fit;
    if (distance[a.source] != distance[b.source]) return distance[a.source] < distance[b.source];
    bool a_linked = sources[a.source].is_linked, b_linked = sources[b.source].is_linked;
    if (a_linked != b_linked) return b_linked;
    // The latest pack loaded at run time replaces earlier ones; linked ones keep the order of registration.
    return a_linked ? a.source < b.source : a.source > b.source;
  };
  for (size_t i = 0; i < sources.size(); ++i) {
    int sm = hardware_sm(sources[i].hardware);
    if (sm < 0 || (sm == 0) != (facts.sm == 0)) continue;
    TableFit fit = sm == facts.sm ? TableFit::kExact : sm < facts.sm ? TableFit::kOlder : TableFit::kGenericOnly;
    distance[i] = std::abs(sm - facts.sm);
    // They are few: putting each in its place takes less code than sorting.
    const LookupEntry entry = {static_cast<int>(i), fit};
    order.insert(std::upper_bound(order.begin(), order.end(), entry, is_before), entry);
  }
  return order;
}

std::vector<VariantFit> fit_variants(const PackTable& table, const Pack& pack, const DeviceFacts& facts, PtxRule ptx) {
  std::vector<VariantFit> fits;
  for (const PackVariant& variant : table.variants) {
    VariantFit fit;
    fit.reason = missing_resource(variant.info, facts);
    if (fit.reason.empty()) {
      fit.image = choose_image(variant, pack.images(), facts, ptx);
      if (fit.image < 0) {
        fit.reason = cat("has no image that runs on ", facts.hardware, ", only");
        for (const ImageRef& ref : variant.images) {
          const PackImageView& image = pack.images()[ref.image];
          append_to(&fit.reason, " ", image.target, " ", image_kind_name(image.kind));
        }
      }
    }
    fits.push_back(std::move(fit));
  }
  return fits;
}

const VariantFit* missing_generic(const PackTable& table, const std::vector<VariantFit>& variants) {
  for (const std::vector<uint16_t>& leaf : table.tree.leaves) {
    if (variants[leaf.back()].image < 0) return &variants[leaf.back()];
  }
  return nullptr;
}

}  // namespace kaon
