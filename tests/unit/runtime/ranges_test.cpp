// Launches as ranges of a profiler: off at first, one range for each launch, balanced, from many threads.
#include <dlfcn.h>

#include <thread>

#include "tests/support/nvtx_tool.h"
#include "tests/unit/runtime/stub_launch.h"

namespace kaon::testing {
namespace {

NvtxToolState profiler_state() {
  void* library = dlopen(KAON_NVTX_TOOL, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) __builtin_trap();
  return reinterpret_cast<decltype(&nvtx_tool_state)>(dlsym(library, "nvtx_tool_state"))();
}

class RangesTest : public StubLaunchTest {
 protected:
  void TearDown() override {
    stop_ranges();
    unsetenv("NVTX_INJECTION64_PATH");
    StubLaunchTest::TearDown();
  }
};

// The order matters: what a process once found it keeps.
TEST_F(RangesTest, WithoutAProfilerTheMendIsNamed) {
  const Status status = start_ranges();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("NVTX_INJECTION64_PATH is not set"), std::string::npos) << status.message();
}

TEST_F(RangesTest, WhatIsNoProfilerIsRefused) {
  setenv("NVTX_INJECTION64_PATH", "/nonexistent/profiler.so", 1);
  EXPECT_EQ(start_ranges().code(), Code::kNotFound);
  setenv("NVTX_INJECTION64_PATH", KAON_STUB_DRIVER, 1);
  const Status status = start_ranges();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("no InitializeInjectionNvtx2"), std::string::npos) << status.message();
}

TEST_F(RangesTest, EveryLaunchIsARangeWhileTheyAreOn) {
  setenv("NVTX_INJECTION64_PATH", KAON_NVTX_TOOL, 1);
  const Kernel kernel = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_EQ(profiler_state().starts, 0) << "ranges are off until somebody asks";

  ASSERT_TRUE(start_ranges().is_ok());
  CallInfo info;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(call(kernel, 64, 256, &info).is_ok());
  NvtxToolState seen = profiler_state();
  EXPECT_EQ(seen.starts, 1);
  EXPECT_STREQ(seen.domain, "kaon");
  EXPECT_STREQ(seen.range, name_.c_str());
  EXPECT_EQ(seen.registered_strings, 1);
  EXPECT_EQ(seen.pushes, 3);
  EXPECT_EQ(seen.last_payload, info.variant->index);

  // A call that fails ends its range, one that launches nothing begins none.
  stub().fail("cuLaunchKernel", 719);
  EXPECT_FALSE(call(kernel, 64, 256).is_ok());
  stub().fail("cuLaunchKernel", 0);
  ASSERT_TRUE(call(kernel, 0, 256).is_ok());
  stop_ranges();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  seen = profiler_state();
  EXPECT_EQ(seen.pushes, 4);
  EXPECT_EQ(seen.open_ranges, 0);
  EXPECT_EQ(seen.faults, 0);
}

TEST_F(RangesTest, ManyThreadsPushAndPopTheirOwn) {
  setenv("NVTX_INJECTION64_PATH", KAON_NVTX_TOOL, 1);
  const Kernel kernel = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  ASSERT_TRUE(start_ranges().is_ok());
  const int before = profiler_state().pushes;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      stub().set_context(0);
      for (int i = 0; i < 200; ++i) EXPECT_TRUE(call(kernel, 64, 256).is_ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const NvtxToolState seen = profiler_state();
  EXPECT_EQ(seen.pushes - before, 8 * 200);
  EXPECT_EQ(seen.open_ranges, 0);
  EXPECT_EQ(seen.faults, 0);
}

}  // namespace
}  // namespace kaon::testing
