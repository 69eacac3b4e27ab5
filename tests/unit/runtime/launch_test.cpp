// Whole calls on the stub driver: what is chosen, what is launched, and what is said when something is wrong.
#include "runtime/launch/kernel.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/runtime/stub_launch.h"

namespace kaon {
namespace {

using testing::LinkedPack;
using testing::log_lines;
using testing::sample_pack;
using testing::stub;

// Facts of a device are asked once per process, so each kind of chip has its own ordinal.
enum Chip { kHopper, kBlackwellRtx, kAda, kTuring, kNumChips };
constexpr StubDevice kChips[kNumChips] = {{90, 232448, 132}, {120, 101376, 170}, {89, 101376, 142}, {75, 65536, 40}};

class Launch : public testing::StubLaunchTest {
 protected:
  void SetUp() override {
    StubLaunchTest::SetUp();
    stub().set_devices(kChips, kNumChips);
  }
};

TEST_F(Launch, TheSlotsReachTheKernelThatTheLeafRanksFirst) {
  Kernel kernel = sm90_kernel();
  CallInfo info;
  Status status = call(kernel, 64, 256, &info);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  StubLaunch launch = stub().last_launch();
  EXPECT_EQ(launch.count, 1u);
  EXPECT_EQ(std::string(launch.symbol), name_ + "_f16_v0");
  EXPECT_EQ(launch.grid, 16u);
  EXPECT_EQ(launch.threads, 128u);
  EXPECT_EQ(launch.shared_bytes, 1024u);
  EXPECT_EQ(launch.stream, stream_);
  std::vector<int64_t> expected = {kFar, 2 * kFar, 3 * kFar, 64, 256, 256, 1, 1, 256, 1};
  EXPECT_EQ(std::vector<int64_t>(launch.slots, launch.slots + launch.num_slots), expected);
  EXPECT_EQ(info.match, Match::kTuned);
  EXPECT_EQ(info.programs, 16);
  EXPECT_EQ(info.leaf, 0);
  EXPECT_EQ(std::string(info.variant->config), "block.m=4");
  EXPECT_EQ(std::string(info.variant->hardware), "sm90");
  EXPECT_EQ(std::string(info.variant->image_trust), "measured here");
}

TEST_F(Launch, MatchSaysHowWellTheShapeWasKnown) {
  Kernel kernel = sm90_kernel();
  auto match = [&](int64_t m, int64_t n) {
    CallInfo info;
    Status status = call(kernel, m, n, &info);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    return std::string(match_name(info.match)) + " " + std::to_string(info.variant->index);
  };
  EXPECT_EQ(match(64, 256), "tuned 0");
  EXPECT_EQ(match(64, 8192), "tuned 1");
  EXPECT_EQ(match(65, 256), "interpolated 0");
  EXPECT_EQ(match(5000, 256), "out_of_range 0");
  EXPECT_EQ(match(64, 16), "out_of_range 0");
  EXPECT_EQ(match(64, 255), "interpolated 2") << "255 is no multiple of 8";
  EXPECT_EQ(match(64, 100000), "out_of_range 1");
}

TEST_F(Launch, GenericServesWhatNoTunedVariantAccepts) {
  PackContents contents = sample_pack(name_, "sm90", {"sm_90"});
  contents.records.tables[0].variants[1].info.guards.push_back({GuardKind::kDivisible, testing::kN, 0, 7});
  Kernel kernel(name_.c_str(), {link(contents)});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 100000, &info).is_ok());
  EXPECT_EQ(info.match, Match::kGeneric);
  EXPECT_EQ(info.variant->index, 3);
}

/// Variants 0 and 2 for N == 64, 2 its generic one; 1 and 3 for N == 128.
PackContents specialised_pack(const std::string& name) {
  PackContents contents = sample_pack(name, "sm90", {"sm_90"});
  for (PackTable& table : contents.records.tables) {
    for (size_t v = 0; v < 4; ++v)
      table.variants[v].info.guards = {{GuardKind::kEqual, testing::kN, 0, v % 2 ? 128 : 64}};
    table.variants[0].info.guards.push_back({GuardKind::kAtMost, testing::kM, 0, 100});
    table.generic_variant = 2;
    table.tree.nodes[0].threshold = 64;
    table.tree.leaves = {{0, 2}, {1, 3}};
  }
  return contents;
}

TEST_F(Launch, AValueThatNothingWasCompiledForIsRefusedWithThoseThatAre) {
  Kernel kernel(name_.c_str(), {link(specialised_pack(name_), nullptr)});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 32, 64, &info).is_ok());
  EXPECT_EQ(info.variant->index, 0);
  ASSERT_TRUE(call(kernel, 200, 64, &info).is_ok());
  EXPECT_EQ(info.variant->index, 2);
  EXPECT_EQ(info.match, Match::kGeneric);
  ASSERT_TRUE(call(kernel, 32, 128, &info).is_ok());
  EXPECT_EQ(info.variant->index, 1);
  const uint32_t launches = stub().last_launch().count;
  for (int64_t n : {0, 63, 96, 256}) {
    const Status status = call(kernel, 32, n);
    EXPECT_EQ(status.code(), Code::kValueNotCompiled);
    EXPECT_EQ(status.message(), name_ + " f16: N is " + std::to_string(n) +
                                    ", compiled for 64, 128; add the value to `specialize` in the kernel's source and "
                                    "to its shapes, and run `aot_runner tune " +
                                    name_ + ".tile` again");
  }
  EXPECT_EQ(stub().last_launch().count, launches) << "nothing is launched";
}

TEST_F(Launch, OfASpecialisedTableForOtherHardwareTheGenericVariantsServe) {
  PackContents contents = specialised_pack(name_);
  contents.records.hardware = "sm100";
  Kernel kernel(name_.c_str(), {link(contents, nullptr)});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 32, 64, &info).is_ok());
  EXPECT_EQ(info.variant->index, 2);
  ASSERT_TRUE(call(kernel, 32, 128, &info).is_ok());
  EXPECT_EQ(info.variant->index, 3);
  EXPECT_EQ(call(kernel, 32, 96).code(), Code::kValueNotCompiled);
}

TEST_F(Launch, AConfigTooLargeForTheChipIsSkippedForTheNextOfItsLeaf) {
  use(kBlackwellRtx);
  Kernel kernel = sm90_kernel();
  CallInfo info;
  Status status = call(kernel, 64, 8192, &info);
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(info.variant->index, 2);
  EXPECT_EQ(info.match, Match::kOlderTable);
  EXPECT_EQ(std::string(info.variant->image_target), "sm_120");
  EXPECT_EQ(std::string(info.variant->image_trust), "cross-compiled, not run");
  ASSERT_EQ(log_lines().size(), 2u) << "which table serves, and why not a better one";
  EXPECT_EQ(log_lines()[0], name_ +
                                " f16 on Stub 120 (sm120, device 1): table sm90 of older hardware, 3 of 4 variants "
                                "run here; variant 1 needs 147456 bytes of shared memory, the device has 101376");
}

TEST_F(Launch, TheExactTableIsPreferredToOlderAndNewerOnes) {
  Kernel kernel(name_.c_str(),
                {link(sample_pack(name_, "sm80", {"sm_80", "sm_90"})),
                 link(sample_pack(name_, "sm100", {"sm_100", "sm_90"})), link(sample_pack(name_, "sm90", {"sm_90"}))});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(std::string(info.variant->hardware), "sm90");
  EXPECT_EQ(info.match, Match::kTuned);
}

TEST_F(Launch, ANewerTableGivesOnlyItsGenericVariant) {
  Kernel kernel(name_.c_str(), {link(sample_pack(name_, "sm100", {"sm_100", "sm_90"}))});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(info.variant->index, 3);
  EXPECT_EQ(info.match, Match::kGeneric);
}

TEST_F(Launch, ATableWithoutAnImageForTheChipIsPassedOver) {
  use(kAda);
  Kernel kernel(name_.c_str(),
                {link(sample_pack(name_, "sm86", {"sm_90"})), link(sample_pack(name_, "sm80", {"sm_80"}))});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(std::string(info.variant->hardware), "sm80");
}

TEST_F(Launch, NoImageAtAllSaysWhichThereAre) {
  use(kTuring);
  Status status = call(sm90_kernel(), 64, 256);
  EXPECT_EQ(status.to_string(), "unsupported: " + name_ +
                                    " cannot run on sm75: table sm90: the generic variant has no image that runs on "
                                    "sm75, only sm_90 cubin sm_80 cubin sm_120 cubin");
}

TEST_F(Launch, WithoutALinkedSelectThePacksTreeIsWalked) {
  Kernel kernel(name_.c_str(), {link(sample_pack(name_, "sm90", {"sm_90"}), nullptr)});
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 8192, &info).is_ok());
  EXPECT_EQ(info.variant->index, 1);
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(info.variant->index, 0);
}

TEST_F(Launch, ASelectThatAnswersNoLeafIsAnInternalError) {
  Kernel kernel(name_.c_str(), {link(sample_pack(name_, "sm90", {"sm_90"}), [](const int64_t*) { return 2; })});
  EXPECT_EQ(call(kernel, 64, 256).to_string(),
            "internal: " + name_ + " f16: select() of table sm90 answered leaf 2 of 2");
}

TEST_F(Launch, ForcedVariantsServeEverythingThatTheirGuardsAllow) {
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(force_variant("other=0," + name_ + "=2").is_ok());
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(info.match, Match::kForced);
  EXPECT_EQ(info.variant->index, 2);
  EXPECT_EQ(info.leaf, -1);
  EXPECT_EQ(call(kernel, 64, 100000).message().substr(0, (name_ + " f16: forced variant 2 (0x").size()),
            name_ + " f16: forced variant 2 (0x");
  EXPECT_NE(call(kernel, 64, 100000).message().find("N <= 65536 does not hold, N is 100000"), std::string::npos);

  char text[32];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(info.variant->fingerprint));
  ASSERT_TRUE(force_variant(text).is_ok());
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(info.variant->index, 2);
  ASSERT_TRUE(force_variant("0xdead").is_ok()) << "a fingerprint of another kernel";
  ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  EXPECT_EQ(info.match, Match::kTuned);
  ASSERT_TRUE(force_variant("9").is_ok());
  EXPECT_EQ(call(kernel, 64, 256).to_string(),
            "not_found: " + name_ + " f16: forced variant 9 does not exist, the table has 4");
  EXPECT_EQ(
      force_variant("x=").to_string(),
      "invalid_argument: forced variant 'x=': expected an index or 0x and a fingerprint, with kernel= before it or "
      "not");
}

TEST_F(Launch, AForcedVariantThatCannotRunHereSaysWhy) {
  use(kBlackwellRtx);
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(force_variant("1").is_ok());
  EXPECT_EQ(
      call(kernel, 64, 8192).to_string(),
      "unsupported: " + name_ + " f16: forced variant 1 needs 147456 bytes of shared memory, the device has 101376");
}

TEST_F(Launch, NothingIsLaunchedForAnEmptyGrid) {
  CallInfo info;
  ASSERT_TRUE(call(sm90_kernel(), 0, 256, &info).is_ok());
  EXPECT_EQ(stub().last_launch().count, 0u);
  EXPECT_EQ(info.programs, 0);
}

TEST_F(Launch, GridsBeyondTheHardwareAreRefusedWithTheNumber) {
  Kernel kernel = sm90_kernel();
  Status status = call(kernel, int64_t{1} << 34, 256);
  EXPECT_EQ(status.to_string(), "unsupported: " + name_ +
                                    " variant 0 (block.m=4) needs a grid of 4294967296 blocks, at "
                                    "most 2147483647");
  ASSERT_TRUE(call(kernel, int64_t{4} * 2147483647, 256).is_ok());
  EXPECT_EQ(stub().last_launch().grid, 2147483647u);
}

TEST_F(Launch, ZeroStepsClearTheTensorAndNothingBetweenItsRows) {
  PackContents contents = sample_pack(name_, "sm90", {"sm_90"});
  for (PackVariant& variant : contents.records.tables[1].variants) {
    variant.info.plan.steps = {{StepKind::kZero, 2}, {StepKind::kKernel, 0}};
  }
  Kernel kernel(name_.c_str(), {link(contents)});
  std::vector<float> x(4 * 8), w(8), memory(6 * 10);
  std::iota(memory.begin(), memory.end(), 1.0f);
  TensorView views[] = {TensorView::contiguous(x.data(), DType::kF32, {4, 8}),
                        TensorView::contiguous(w.data(), DType::kF32, {8}),
                        TensorView::contiguous(memory.data() + 11, DType::kF32, {4, 8})};
  views[2].strides[0] = 10;
  const TensorView* tensors[] = {&views[0], &views[1], &views[2]};
  ASSERT_TRUE(kernel.call(stream_, tensors, 3).is_ok());
  for (int i = 0; i < 60; ++i) {
    int row = (i - 11) / 10, column = (i - 11) % 10;
    bool inside = i >= 11 && row < 4 && column < 8;
    EXPECT_EQ(memory[i], inside ? 0.0f : static_cast<float>(i + 1)) << i;
  }
  EXPECT_EQ(stub().last_launch().zeros, 4u);
  views[2] = TensorView::contiguous(memory.data(), DType::kF32, {4, 8});
  ASSERT_TRUE(kernel.call(stream_, tensors, 3).is_ok());
  EXPECT_EQ(stub().last_launch().zeros, 5u) << "one memset for a dense tensor";
  std::iota(memory.begin(), memory.end(), 1.0f);
  views[2].data = memory.data() + 31;
  views[2].strides[0] = -8;
  ASSERT_TRUE(kernel.call(stream_, tensors, 3).is_ok());
  EXPECT_EQ(memory[6], 7.0f);
  EXPECT_EQ(std::accumulate(memory.begin() + 7, memory.begin() + 39, 0.0f), 0.0f);
  EXPECT_EQ(memory[39], 40.0f);
}

TEST_F(Launch, ClustersGoThroughTheExtendedLaunch) {
  PackContents contents = sample_pack(name_, "sm90", {"sm_90"});
  for (PackVariant& variant : contents.records.tables[0].variants) variant.info.plan.cluster = 2;
  Kernel kernel(name_.c_str(), {link(contents)});
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_EQ(stub().last_launch().cluster, 2u);
  EXPECT_EQ(stub().calls("cuLaunchKernelEx"), 1u);
}

TEST_F(Launch, FirstUseInsideACaptureIsRefusedAndWorksAfterPreload) {
  Kernel kernel = sm90_kernel();
  stub().set_capturing(1);
  Status status = call(kernel, 64, 256);
  EXPECT_EQ(status.to_string(),
            "not_preloaded: " + name_ +
                " variant 0 (block.m=4) is first used inside a stream capture; call preload() before "
                "capturing");
  EXPECT_EQ(stub().calls("cuLibraryLoadData"), 0u);
  stub().set_capturing(0);
  ASSERT_TRUE(kernel.preload(Device::cuda(0)).is_ok());
  EXPECT_EQ(stub().calls("cuFuncLoad"), 8u) << "4 variants of each of 2 dtypes";
  EXPECT_EQ(stub().calls("cuLibraryLoadData"), 1u) << "all in one image";
  stub().set_capturing(1);
  uint64_t asked = stub().calls("cuStreamIsCapturing");
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  ASSERT_TRUE(call(kernel, 64, 8192, nullptr, DType::kF32).is_ok());
  EXPECT_EQ(stub().calls("cuStreamIsCapturing"), asked);
}

TEST_F(Launch, OneContextQueryAndOneLaunchPerCallAfterTheFirst) {
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  const char* const watched[] = {"cuCtxGetId",     "cuLaunchKernel",      "cuDeviceGetAttribute", "cuLibraryGetKernel",
                                 "cuCtxGetDevice", "cuStreamIsCapturing", "cuLibraryLoadData",    "cuFuncSetAttribute"};
  std::vector<uint64_t> before;
  for (const char* symbol : watched) before.push_back(stub().calls(symbol));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(stub().calls(watched[i]) - before[i], i < 2 ? 10u : 0u) << watched[i];
  }
}

TEST_F(Launch, EachDeviceGetsItsOwnTableAndFunctions) {
  Kernel kernel = sm90_kernel();
  CallInfo first, second;
  ASSERT_TRUE(call(kernel, 64, 8192, &first).is_ok());
  StubLaunch on_first = stub().last_launch();
  device_ = kBlackwellRtx;
  EXPECT_EQ(call(kernel, 64, 8192).to_string(),
            "invalid_argument: the tensors lie on cuda:1, the calling thread's context is of cuda:0");
  use(kBlackwellRtx);
  ASSERT_TRUE(call(kernel, 64, 8192, &second).is_ok());
  EXPECT_EQ(first.variant->index, 1);
  EXPECT_EQ(second.variant->index, 2);
  EXPECT_NE(stub().last_launch().function, on_first.function);
  device_ = kNumChips;
  EXPECT_EQ(call(kernel, 64, 256).to_string(), "no_device: device cuda:4 does not exist, the driver shows 4");
}

TEST_F(Launch, AThreadWithoutAContextGetsThePrimaryOne) {
  stub().set_context(-1);
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_EQ(stub().calls("cuCtxSetCurrent"), 1u);
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_EQ(stub().calls("cuCtxSetCurrent"), 1u);
}

TEST_F(Launch, DriverErrorsCarryTheVariantAndTheDriversName) {
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  stub().fail("cuLaunchKernel", 700);
  EXPECT_EQ(call(kernel, 64, 256).to_string(), "driver: " + name_ +
                                                   " variant 0 (block.m=4), 16 blocks of 128 threads: cuLaunchKernel: "
                                                   "CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  stub().fail("cuLaunchKernel", 0);
  EXPECT_TRUE(call(kernel, 64, 256).is_ok());
}

TEST_F(Launch, EveryFailingDriverCallIsReportedAndTheNextCallWorks) {
  struct Row {
    const char* symbol;
    int error;
    Code code;
  };
  const Row rows[] = {{"cuCtxGetId", 1, Code::kDriver},
                      {"cuCtxGetDevice", 1, Code::kDriver},
                      {"cuStreamIsCapturing", 1, Code::kDriver},
                      {"cuLibraryLoadData", 209, Code::kUnsupported},
                      {"cuLibraryGetKernel", 500, Code::kNotFound},
                      {"cuKernelGetFunction", 2, Code::kOutOfMemory},
                      {"cuFuncLoad", 2, Code::kOutOfMemory},
                      {"cuFuncSetAttribute", 1, Code::kDriver},
                      {"cuLaunchKernel", 1, Code::kDriver},
                      {"cuLaunchKernel", 777, Code::kDriver}};
  for (const Row& row : rows) {
    name_ += "x";
    Kernel kernel = sm90_kernel();
    stub().fail(row.symbol, row.error);
    Status status = call(kernel, 64, 256);
    EXPECT_EQ(status.code(), row.code) << row.symbol << ": " << status.to_string();
    EXPECT_NE(status.message().find(row.symbol), std::string::npos) << status.to_string();
    stub().fail(row.symbol, 0);
    EXPECT_TRUE(call(kernel, 64, 256).is_ok()) << row.symbol;
  }
}

TEST_F(Launch, WrongTypesSayWhatIsCompiled) {
  Kernel kernel = sm90_kernel();
  EXPECT_EQ(call(kernel, 64, 256, nullptr, DType::kF64).to_string(),
            "invalid_argument: " + name_ + ": no table for dtypes (f64, f64, f64), compiled for f16, f32");
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x1000), DType::kF16, {64, 256});
  const TensorView* tensors[] = {&x, &x};
  EXPECT_EQ(kernel.call(nullptr, tensors, 2).to_string(), "invalid_argument: " + name_ + ": got 2 tensors, expected 3");
  EXPECT_EQ(kernel.call(nullptr, tensors, 0).code(), Code::kInvalidArgument);
  x.device = Device::cpu();
  EXPECT_EQ(kernel.call(nullptr, tensors, 1).to_string(),
            "unsupported: " + name_ +
                ": the tensors lie on the CPU, and no host backend is installed; link kaon::host "
                "and call kaon::host::install()");
}

TEST_F(Launch, QueryTellsWithoutLoadingOrLaunching) {
  Kernel kernel = sm90_kernel();
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x1000000), DType::kF16, {64, 256});
  TensorView w = TensorView::contiguous(reinterpret_cast<void*>(0x2000000), DType::kF16, {256});
  TensorView out = TensorView::contiguous(reinterpret_cast<void*>(0x3000000), DType::kF16, {64, 256});
  const TensorView* tensors[] = {&x, &w, &out};
  CallInfo info;
  ASSERT_TRUE(kernel.query(tensors, 3, nullptr, 0, &info).is_ok());
  EXPECT_EQ(info.variant->index, 0);
  EXPECT_EQ(stub().calls("cuLibraryLoadData"), 0u);
  EXPECT_EQ(stub().last_launch().count, 0u);
}

TEST_F(Launch, UnusableTablesAreReportedByTheCall) {
  LinkedPack* broken = keep(sample_pack(name_, "sm90", {"sm_90"}), nullptr);
  broken->bytes()[200] ^= 1;
  EXPECT_EQ(call(Kernel(name_.c_str(), {broken->list()}), 64, 256).to_string(),
            "corrupt: linked pack " + name_ + "_sm90: section records: checksum does not match");
  name_ += "y";
  LinkedPack* stale = keep(sample_pack(name_, "sm90", {"sm_90"}), nullptr);
  stale->tables()[0].pack_hash ^= 1;
  EXPECT_EQ(call(Kernel(name_.c_str(), {stale->list()}), 64, 256).code(), Code::kStale);
  name_ += "y";
  LinkedPack* other_abi = keep(sample_pack(name_, "sm90", {"sm_90"}), nullptr);
  other_abi->tables()[0].abi_version = 9;
  EXPECT_EQ(call(Kernel(name_.c_str(), {other_abi->list()}), 64, 256).to_string(),
            "unsupported: " + name_ + ": table sm90 has ABI version 9, this runtime has 1; generate it again");
  name_ += "y";
  EXPECT_EQ(call(Kernel(name_.c_str(), {}), 64, 256).to_string(),
            "not_found: " + name_ +
                ": no table serves sm90, there are none; link a generated table, load a pack or set "
                "KAON_HEURISTIC_DIR");
  EXPECT_EQ(Kernel::find("nobody").status().to_string(),
            "not_found: no kernel nobody is registered; register its tables or load its pack first");
}

}  // namespace
}  // namespace kaon
