// Which table serves a device, and which of its variants can run there: the rules, on plain facts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/launch/backend.h"
#include "runtime/launch/image_rules.h"
#include "runtime/launch/kernel_table.h"
#include "runtime/launch/pack.h"

namespace kaon {

/// One pack that may serve a kernel. A linked pack is read when it is first needed.
struct PackSource {
  std::string hardware;
  bool is_linked = false;                  // else loaded at run time, and preferred to a linked one
  std::shared_ptr<const Pack> pack;        // null until read
  std::vector<const KernelTable*> tables;  // linked only: the tables that share the pack
  std::vector<void*> image_handles;        // per image; null until loaded
};

enum class TableFit : uint8_t {
  kExact,        // tuned for this hardware
  kOlder,        // tuned for an older one
  kGenericOnly,  // tuned for a newer or unrelated one: only its generic variant says anything here
};

struct LookupEntry {
  int source = 0;  // index into the sources
  TableFit fit = TableFit::kExact;
};

/// The order in which sources are asked: exact hardware, then older ones from the nearest down, then newer ones from
/// the nearest up; at each step packs loaded at run time (the latest first) before linked ones. CUDA tables never serve
/// host and the other way round.
std::vector<LookupEntry> lookup_order(const std::vector<PackSource>& sources, const DeviceFacts& facts);

/// What one variant can do on a device: the image that runs, or why none does.
struct VariantFit {
  int image = -1;
  std::string reason;  // when image is -1
};

/// One entry per variant of `table`.
std::vector<VariantFit> fit_variants(const PackTable& table, const Pack& pack, const DeviceFacts& facts, PtxRule ptx);
/// Of those, that of a generic variant that ends some leaf and cannot run, or null: a table serves all its calls or
/// none.
const VariantFit* missing_generic(const PackTable& table, const std::vector<VariantFit>& variants);

}  // namespace kaon
