// Which variant serves on which chip, without any of the chips: the stub driver has one device of each.
#include <gtest/gtest.h>

#include <random>

#include "runtime/launch/counters.h"
#include "tests/unit/runtime/stub_launch.h"

namespace kaon {
namespace {

using testing::log_lines;
using testing::sample_pack;
using testing::stub;

struct ChipRow {
  int sm;
  int max_shared_bytes;
  const char*
      served;  // of a wide row on the tables of sm80 and sm90: variant, table, image and match; empty for refused
};

constexpr int kUnknown = 9;
const ChipRow kAllChips[] = {
    {75, 65536, ""},
    {80, 166912, "1 sm80 sm_80 tuned"},
    {86, 101376, "2 sm80 sm_80 older_table"},
    {89, 101376, "2 sm80 sm_80 older_table"},
    {90, 232448, "1 sm90 sm_90 tuned"},
    {100, 232448, "1 sm90 sm_100 older_table"},
    {103, 232448, "1 sm90 sm_100 older_table"},
    {120, 101376, "2 sm90 sm_120 older_table"},
    {121, 101376, "2 sm90 sm_120 older_table"},
    {130, 232448, ""},
};
constexpr int kNumAllChips = static_cast<int>(std::size(kAllChips));

class Fallback : public testing::StubLaunchTest {
 protected:
  void SetUp() override {
    StubLaunchTest::SetUp();
    StubDevice devices[kNumAllChips];
    for (int i = 0; i < kNumAllChips; ++i) devices[i] = {kAllChips[i].sm, kAllChips[i].max_shared_bytes, 100};
    stub().set_devices(devices, kNumAllChips);
  }
  void TearDown() override {
    unsetenv("KAON_ALLOW_PTX");
    StubLaunchTest::TearDown();
  }
  Kernel two_tables() {
    return Kernel(name_.c_str(), {link(sample_pack(name_, "sm80", {"sm_80"})),
                                  link(sample_pack(name_, "sm90", {"sm_90", "sm_100", "sm_120"}))});
  }
  Kernel ptx_kernel() { return Kernel(name_.c_str(), {link(sample_pack(name_, "sm90", {"sm_90"}, ImageKind::kPtx))}); }
  Status call_variant(const Kernel& kernel, uint64_t fingerprint, int64_t n, CallInfo* info = nullptr) {
    return with_tensors(64, n, DType::kF16, [&](const TensorView* const* tensors) {
      return kernel.call_variant(fingerprint, stream_, tensors, 3, nullptr, 0, info);
    });
  }
  static uint64_t fingerprint(const char* config) {
    Result<uint64_t> made = config_fingerprint(config);
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    return made.is_ok() ? *made : 0;
  }
  static int chip(int sm) {
    for (int i = 0; i < kNumAllChips; ++i) {
      if (kAllChips[i].sm == sm) return i;
    }
    return -1;
  }
};

TEST_F(Fallback, EveryChipIsServedByWhatRunsThere) {
  Kernel kernel = two_tables();
  for (int i = 0; i < kNumAllChips; ++i) {
    use(i);
    CallInfo info;
    Status status = call(kernel, 64, 8192, &info);
    if (*kAllChips[i].served == '\0') {
      const std::string hardware = "sm" + std::to_string(kAllChips[i].sm);
      EXPECT_EQ(status.code(), Code::kUnsupported) << status.to_string();
      EXPECT_NE(status.message().find("has no image that runs on " + hardware + ", only sm_80 cubin"),
                std::string::npos)
          << status.to_string();
      EXPECT_NE(status.message().find("only sm_90 cubin sm_100 cubin sm_120 cubin"), std::string::npos);
      continue;
    }
    ASSERT_TRUE(status.is_ok()) << "sm_" << kAllChips[i].sm << ": " << status.to_string();
    EXPECT_EQ(std::to_string(info.variant->index) + " " + info.variant->hardware + " " + info.variant->image_target +
                  " " + match_name(info.match),
              kAllChips[i].served)
        << "sm_" << kAllChips[i].sm;
  }
}

// The rule of binary compatibility again, in other words than the runtime's.
bool runs(const std::string& target, int sm) {
  const int image = std::stoi(target.substr(3));
  return image / 10 == sm / 10 && image % 10 <= sm % 10;
}

TEST_F(Fallback, NothingIsEverChosenThatCouldNotRun) {
  Kernel kernel = two_tables();
  std::mt19937_64 random(7);
  for (int i = 0; i < kNumAllChips; ++i) {
    if (*kAllChips[i].served == '\0') continue;
    use(i);
    for (int k = 0; k < 300; ++k) {
      CallInfo info;
      const int64_t m = 1 + static_cast<int64_t>(random() % 5000), n = 1 + static_cast<int64_t>(random() % 80000);
      Status status = call(kernel, m, n, &info, k % 2 == 0 ? DType::kF16 : DType::kF32);
      ASSERT_TRUE(status.is_ok()) << "sm_" << kAllChips[i].sm << ": " << status.to_string();
      EXPECT_LE(static_cast<int>(stub().last_launch().shared_bytes), kAllChips[i].max_shared_bytes);
      EXPECT_TRUE(runs(info.variant->image_target, kAllChips[i].sm)) << info.variant->image_target;
    }
  }
}

TEST_F(Fallback, PtxServesAnUnknownChipWhereAllowedAndNeverInsideACapture) {
  use(kUnknown);
  Kernel kernel = ptx_kernel();
  EXPECT_EQ(call(kernel, 64, 256).code(), Code::kUnsupported);
  setenv("KAON_ALLOW_PTX", "1", 1);
  stub().set_capturing(1);
  EXPECT_EQ(call(kernel, 64, 256).code(), Code::kNotPreloaded);
  EXPECT_EQ(stub().calls("cuLibraryLoadData"), 0u) << "the driver compiles PTX when it is loaded";
  stub().set_capturing(0);
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(info.match, Match::kOlderTable);
  EXPECT_EQ(stub().calls("cuLibraryLoadData"), 1u);
}

TEST_F(Fallback, ABinaryIsPreferredToPtxThatWouldRunAsWell) {
  use(chip(90));
  setenv("KAON_ALLOW_PTX", "1", 1);
  PackContents contents = sample_pack(name_, "sm90", {"sm_90"}, ImageKind::kPtx);
  PackContents binary = sample_pack(name_, "sm90", {"sm_90"});
  contents.images.push_back(binary.images[0]);
  for (PackTable& table : contents.records.tables) {
    for (PackVariant& variant : table.variants) variant.images.push_back({1, ImageTrust::kMeasured});
  }
  Kernel kernel(name_.c_str(), {link(contents)});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(std::string(info.variant->image_trust), "measured here") << "the second image";
}

TEST_F(Fallback, TheLogTellsEachReasonOnce) {
  use(chip(90));
  Kernel kernel = two_tables();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(call(kernel, 64, 256).is_ok());
    ASSERT_TRUE(call(kernel, 65, 256).is_ok());
    ASSERT_TRUE(call(kernel, 64, 100000).is_ok());
  }
  ASSERT_EQ(log_lines().size(), 2u) << "the table, and the shape outside its range";
  EXPECT_EQ(log_lines()[1],
            name_ +
                " f16 on Stub 90 (sm90), out_of_range: N = 100000 is not in 64..16384, the range that was "
                "measured; variant 1 (block.m=1) serves; add such shapes to the sweep and tune again");
  use(chip(120));
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  ASSERT_TRUE(call(kernel, 64, 100000).is_ok());
  ASSERT_EQ(log_lines().size(), 5u) << "another table, older_table, generic";
  EXPECT_EQ(log_lines()[3], name_ +
                                " f16 on Stub 120 (sm120), older_table: nothing was tuned for sm120, the table of sm90 "
                                "serves; run aot_runner tune on this device");
  EXPECT_EQ(
      log_lines()[4],
      name_ +
          " f16 on Stub 120 (sm120), generic: no tuned variant takes M = 64, N = 100000: variant 1: does not run on "
          "this device; variant 2: N <= 65536 does not hold, N is 100000; variant 3 (block.m=8) serves");
  use(chip(121));
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_EQ(log_lines().size(), 6u) << "only that this device has a table now";
}

TEST_F(Fallback, ANewerTableSaysThatOnlyItsGenericVariantServes) {
  use(chip(90));
  Kernel kernel(name_.c_str(), {link(sample_pack(name_, "sm100", {"sm_90"}))});
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  ASSERT_EQ(log_lines().size(), 2u);
  EXPECT_EQ(log_lines()[1], name_ +
                                " f16 on Stub 90 (sm90), generic: nothing was tuned for sm90 or older, the generic "
                                "variant of sm100 serves; run aot_runner tune on this device");
}

TEST_F(Fallback, AProgramMayRouteACallItself) {
  use(chip(90));
  Kernel kernel = two_tables();
  CallInfo info;
  Status status = call_variant(kernel, fingerprint("block.m=2"), 256, &info);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(info.variant->index, 2);
  EXPECT_EQ(info.match, Match::kForced);
  EXPECT_EQ(std::string(stub().last_launch().symbol), name_ + "_f16_v2");
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(info.variant->index, 0) << "other calls go on as before";
  EXPECT_EQ(kernel.counts()[Match::kForced], 1u);

  EXPECT_EQ(call_variant(kernel, fingerprint("block.m=2"), 100000).to_string(),
            "invalid_argument: " + name_ +
                " f16: variant 2 (block.m=2) does not accept the call: N <= 65536 does not hold, N is 100000");
  status = call_variant(kernel, 0xdead, 256);
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("no variant of table sm90 has fingerprint 0x000000000000dead, there are 0x"),
            std::string::npos)
      << status.to_string();
  EXPECT_EQ(config_fingerprint("banana").status().code(), Code::kInvalidArgument);
  use(chip(120));
  EXPECT_EQ(call_variant(kernel, fingerprint("block.m=1"), 8192).to_string(),
            "unsupported: " + name_ + " f16: variant 1 needs 147456 bytes of shared memory, the device has 101376");
}

TEST_F(Fallback, RoutedCallsAreLoadedByPreloadAndRefusedInACaptureBeforeIt) {
  use(chip(90));
  Kernel kernel = two_tables();
  stub().set_capturing(1);
  EXPECT_EQ(call_variant(kernel, fingerprint("block.m=8"), 256).code(), Code::kNotPreloaded);
  stub().set_capturing(0);
  ASSERT_TRUE(kernel.preload(Device::cuda(device_)).is_ok());
  stub().set_capturing(1);
  EXPECT_TRUE(call_variant(kernel, fingerprint("block.m=8"), 256).is_ok());
}

}  // namespace
}  // namespace kaon
