// Which table and which image serve which chip: tables of facts, without hardware.
#include "runtime/launch/lookup.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/launch/guard_program.h"
#include "tests/unit/runtime/sample_pack.h"

namespace kaon {
namespace {

DeviceFacts device(int sm, uint32_t shared_bytes = 232448) {
  DeviceFacts facts;
  facts.sm = sm;
  facts.hardware = sm == 0 ? "host" : "sm" + std::to_string(sm);
  facts.max_shared_bytes = shared_bytes;
  facts.registers_per_block = 65536;
  return facts;
}

std::string order_text(const std::vector<PackSource>& sources, int sm) {
  std::string text;
  for (const LookupEntry& entry : lookup_order(sources, device(sm))) {
    const PackSource& source = sources[entry.source];
    text += (text.empty() ? "" : " ") + source.hardware + (source.is_linked ? "" : "*");
    if (entry.fit == TableFit::kOlder) text += "(older)";
    if (entry.fit == TableFit::kGenericOnly) text += "(generic)";
  }
  return text;
}

TEST(Lookup, ExactThenOlderDescendingThenNewer) {
  std::vector<PackSource> linked;
  for (const char* hardware : {"sm80", "sm120", "host", "sm90", "sm86", "sm103", "sm89", "sm100"}) {
    linked.push_back({hardware, true, nullptr, {}, {}});
  }
  EXPECT_EQ(order_text(linked, 120), "sm120 sm103(older) sm100(older) sm90(older) sm89(older) sm86(older) sm80(older)");
  EXPECT_EQ(order_text(linked, 90),
            "sm90 sm89(older) sm86(older) sm80(older) sm100(generic) sm103(generic) sm120(generic)");
  EXPECT_EQ(order_text(linked, 130),
            "sm120(older) sm103(older) sm100(older) sm90(older) sm89(older) sm86(older) sm80(older)");
  EXPECT_EQ(order_text(linked, 75),
            "sm80(generic) sm86(generic) sm89(generic) sm90(generic) sm100(generic) "
            "sm103(generic) sm120(generic)");
  EXPECT_EQ(order_text(linked, 0), "host");
}

TEST(Lookup, PacksLoadedAtRunTimeComeBeforeLinkedOnesOfTheSameKind) {
  std::vector<PackSource> sources = {{"sm90", true, nullptr, {}, {}},
                                     {"sm80", false, nullptr, {}, {}},
                                     {"sm90", false, nullptr, {}, {}},
                                     {"sm80", true, nullptr, {}, {}}};
  EXPECT_EQ(order_text(sources, 90), "sm90* sm90 sm80*(older) sm80(older)");
}

TEST(Lookup, UnknownHardwareNamesServeNothing) {
  std::vector<PackSource> sources = {{"gfx942", true, nullptr, {}, {}}, {"sm", true, nullptr, {}, {}}};
  EXPECT_EQ(order_text(sources, 90), "");
}

TEST(ImageRules, BinaryCodeRunsOnItsMajorFromItsMinorUp) {
  struct Row {
    const char* target;
    ImageKind kind;
    int sm;
    bool runs;
  };
  const Row rows[] = {
      {"sm_90", ImageKind::kCubin, 90, true},    {"sm_90a", ImageKind::kCubin, 90, true},
      {"sm_90", ImageKind::kCubin, 100, false},  {"sm_90a", ImageKind::kCubin, 100, false},
      {"sm_80", ImageKind::kFatbin, 86, true},   {"sm_80", ImageKind::kFatbin, 89, true},
      {"sm_86", ImageKind::kFatbin, 80, false},  {"sm_89", ImageKind::kFatbin, 86, false},
      {"sm_100", ImageKind::kCubin, 103, true},  {"sm_100a", ImageKind::kCubin, 103, false},
      {"sm_100f", ImageKind::kCubin, 103, true}, {"sm_100f", ImageKind::kCubin, 120, false},
      {"sm_120", ImageKind::kCubin, 121, true},  {"sm_120", ImageKind::kCubin, 120, true},
      {"sm_100", ImageKind::kCubin, 120, false}, {"sm_75", ImageKind::kCubin, 75, true},
      {"host", ImageKind::kHostElf, 0, true},    {"host", ImageKind::kHostElf, 90, false},
      {"sm_90", ImageKind::kCubin, 0, false},    {"sm_90", ImageKind::kPtx, 90, false},
      {"sm_", ImageKind::kCubin, 90, false},     {"sm_9x", ImageKind::kCubin, 90, false},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(image_rank(row.target, row.kind, device(row.sm), PtxRule::kForbidden) > 0, row.runs)
        << row.target << " on " << row.sm;
  }
}

TEST(ImageRules, PtxRunsOnNewerChipsWhereAllowedAndOnlyWithoutABinary) {
  EXPECT_GT(image_rank("sm_90", ImageKind::kPtx, device(130), PtxRule::kAllowed), 0);
  EXPECT_EQ(image_rank("sm_90", ImageKind::kPtx, device(130), PtxRule::kForbidden), 0);
  EXPECT_EQ(image_rank("sm_90a", ImageKind::kPtx, device(100), PtxRule::kAllowed), 0);
  EXPECT_EQ(image_rank("sm_100", ImageKind::kPtx, device(90), PtxRule::kAllowed), 0);
  EXPECT_GT(image_rank("sm_80", ImageKind::kCubin, device(89), PtxRule::kAllowed),
            image_rank("sm_89", ImageKind::kPtx, device(89), PtxRule::kAllowed));
  EXPECT_GT(image_rank("sm_86", ImageKind::kCubin, device(89), PtxRule::kAllowed),
            image_rank("sm_80", ImageKind::kCubin, device(89), PtxRule::kAllowed));
  EXPECT_GT(image_rank("sm_90a", ImageKind::kCubin, device(90), PtxRule::kAllowed),
            image_rank("sm_90", ImageKind::kCubin, device(90), PtxRule::kAllowed));
}

TEST(ImageRules, MissingResourcesAreNamedWithBothNumbers) {
  PackTable table = testing::sample_table("k", DType::kF16);
  const VariantInfo& large = table.variants[1].info;
  EXPECT_EQ(missing_resource(large, device(90)), "");
  EXPECT_EQ(missing_resource(large, device(120, 101376)), "needs 147456 bytes of shared memory, the device has 101376");
  VariantInfo wide = large;
  wide.requirements = {0, 255, 512};
  wide.plan.threads = 512;
  EXPECT_EQ(missing_resource(wide, device(90)), "needs 130560 registers per block, the device has 65536");
  wide = large;
  wide.plan.cluster = 8;
  EXPECT_EQ(missing_resource(wide, device(89, 166912)), "needs clusters of 8 blocks, sm_89 has none");
}

// The chips of the design, each with its own shared-memory limit: nothing is kept that could not run there.
TEST(Lookup, NothingIsKeptThatCouldNotRun) {
  struct Chip {
    int sm;
    uint32_t shared;
    bool has_image;
  };
  const Chip chips[] = {{75, 65536, false},  {80, 166912, true},  {86, 101376, true},  {89, 101376, true},
                        {90, 232448, true},  {100, 232448, true}, {103, 232448, true}, {120, 101376, true},
                        {121, 101376, true}, {130, 232448, false}};
  testing::LinkedPack linked(testing::sample_pack("k", "sm90", {"sm_90", "sm_80", "sm_100", "sm_120"}), nullptr);
  size_t bytes = static_cast<size_t>(linked.tables()[0].pack_end - linked.bytes());
  std::shared_ptr<const Pack> pack = *Pack::borrow(linked.bytes(), bytes, "k");
  for (const Chip& chip : chips) {
    std::vector<VariantFit> fits =
        fit_variants(pack->tables()[0], *pack, device(chip.sm, chip.shared), PtxRule::kForbidden);
    for (size_t i = 0; i < fits.size(); ++i) {
      bool fits_shared = i != 1 || chip.shared >= 147456;
      EXPECT_EQ(fits[i].image >= 0, chip.has_image && fits_shared) << "sm_" << chip.sm << " variant " << i;
      EXPECT_EQ(fits[i].reason.empty(), fits[i].image >= 0);
    }
  }
  EXPECT_EQ(fit_variants(pack->tables()[0], *pack, device(130), PtxRule::kForbidden)[0].reason,
            "has no image that runs on sm130, only sm_90 cubin sm_80 cubin sm_100 cubin sm_120 cubin");
}

TEST(GuardProgram, AcceptsWhatTheGuardsAccept) {
  const Signature signature = testing::scale_rows_signature("k", DType::kF16);
  const int64_t values[] = {0, 1, 2, 3, 7, 8, 12, 16, 4095, 4096, 4097, -1, -8, INT64_MAX, INT64_MIN, INT64_MAX - 7};
  std::mt19937_64 random(11);
  auto any = [&] { return values[random() % std::size(values)]; };
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<Guard> guards(random() % 3);
    for (Guard& guard : guards) {
      guard.kind = static_cast<GuardKind>(random() % 6);
      const bool divides = guard.kind == GuardKind::kDivisible || guard.kind == GuardKind::kCongruent;
      const bool is_span = guard.kind == GuardKind::kSpanAtMost;
      guard.slot = static_cast<uint16_t>(random() % (is_span ? 3 : testing::kNumSlots));
      guard.other = static_cast<uint16_t>(random() % (is_span ? 3 : testing::kNumSlots));
      guard.value = any();
      if (divides && guard.value <= 0) guard.value = 1 + static_cast<int64_t>(random() % 16);
    }
    int64_t slots[testing::kNumSlots];
    for (int64_t& slot : slots) slot = any();
    // A difference of slots that leaves 64 bits is no difference of addresses.
    for (Guard& guard : guards) {
      int64_t difference;
      if (guard.kind == GuardKind::kCongruent &&
          __builtin_sub_overflow(slots[guard.slot], slots[guard.other], &difference)) {
        slots[guard.other] = 0;
      }
    }
    const bool is_accepted = GuardProgram(signature, guards).accepts(slots);
    accepted += is_accepted;
    EXPECT_EQ(is_accepted, first_refusing(signature, guards, slots) < 0)
        << "round " << round << ": " << guards_text(signature, guards);
  }
  EXPECT_GT(accepted, 5000);
  EXPECT_LT(accepted, 19000);
}

}  // namespace
}  // namespace kaon
