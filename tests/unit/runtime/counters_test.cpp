// Calls counted by how they were served: by many threads, after they ended, from zero after a reset and in a child.
#include "runtime/launch/counters.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "runtime/kaon.h"
#include "tests/unit/runtime/stub_launch.h"

namespace kaon {
namespace {

using testing::stub;

std::string text(const CallCounts& counts) {
  std::string text;
  for (int match = 0; match < kNumMatches; ++match) {
    const uint64_t count = counts[static_cast<Match>(match)];
    if (count > 0)
      text +=
          (text.empty() ? "" : " ") + std::string(match_name(static_cast<Match>(match))) + "=" + std::to_string(count);
  }
  return text;
}

class Counters : public testing::StubLaunchTest {};

TEST_F(Counters, CountHowEachCallWasServed) {
  Kernel kernel = sm90_kernel();
  EXPECT_EQ(text(kernel.counts()), "");
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  ASSERT_TRUE(call(kernel, 65, 256).is_ok());
  ASSERT_TRUE(call(kernel, 64, 100000).is_ok());
  ASSERT_TRUE(call(kernel, 0, 256).is_ok());
  CallInfo info;
  ASSERT_TRUE(with_tensors(64, 256, DType::kF16, [&](const TensorView* const* tensors) {
                return kernel.query(tensors, 3, nullptr, 0, &info);
              }).is_ok());
  EXPECT_EQ(text(kernel.counts()), "tuned=3 interpolated=1 out_of_range=1") << "neither empty grids nor queries";
  ASSERT_TRUE(force_variant("3").is_ok());
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_EQ(text(kernel.counts()), "tuned=3 interpolated=1 out_of_range=1 forced=1");
}

TEST_F(Counters, FailedCallsAreCountedByTheirCodeAlone) {
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  const uint64_t before = read_errors(Code::kDriver);
  stub().fail("cuLaunchKernel", 1);
  EXPECT_FALSE(call(kernel, 64, 256).is_ok());
  stub().fail("cuLaunchKernel", 0);
  EXPECT_EQ(read_errors(Code::kDriver) - before, 1u);
  EXPECT_EQ(text(kernel.counts()), "tuned=1");
}

TEST_F(Counters, ThreadsAddUpAndKeepTheirCountsWhenTheyEnd) {
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(kernel.preload(Device::cuda(0)).is_ok());
  std::atomic<bool> is_done{false};
  std::thread reader([&] {
    for (uint64_t last = 0; !is_done;) {
      const uint64_t now = kernel.counts().total();
      EXPECT_GE(now, last);
      last = now;
    }
  });
  constexpr int kThreads = 16, kCalls = 500;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) EXPECT_TRUE(call(kernel, 64, i % 2 == 0 ? 256 : 8192).is_ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  is_done = true;
  reader.join();
  EXPECT_EQ(text(kernel.counts()), "tuned=" + std::to_string(kThreads * kCalls));
}

TEST_F(Counters, AResetIsForOneKernelAndLosesNoLaterCall) {
  Kernel kernel = sm90_kernel();
  name_ += "_other";
  Kernel other = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  ASSERT_TRUE(call(other, 64, 256).is_ok());
  kernel.reset_counts();
  EXPECT_EQ(text(kernel.counts()), "");
  EXPECT_EQ(text(other.counts()), "tuned=1");
  std::thread([&] { EXPECT_TRUE(call(kernel, 64, 256).is_ok()); }).join();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_EQ(text(kernel.counts()), "tuned=2");
}

TEST_F(Counters, ManyKernelsHaveTheirOwn) {
  std::vector<Kernel> kernels;
  const std::string stem = name_;
  for (int i = 0; i < 40; ++i) {
    name_ = stem + "_" + std::to_string(i);
    kernels.push_back(sm90_kernel());
  }
  for (int i = 39; i >= 0; --i) {
    for (int k = 0; k <= i; ++k) ASSERT_TRUE(call(kernels[i], 64, 256).is_ok());
  }
  for (int i = 0; i < 40; ++i) EXPECT_EQ(text(kernels[i].counts()), "tuned=" + std::to_string(i + 1));
}

TEST_F(Counters, AChildCountsItsOwn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer knows no threads in the child of a process that had some";
#endif
  for (int i = 0; i < 5; ++i) count_call(0, Match::kTuned);
  std::thread([] { count_call(0, Match::kTuned); }).join();
  std::atomic<bool> is_done{false};
  std::atomic<bool> is_counted{false};
  std::thread living([&] {
    count_call(0, Match::kTuned);
    is_counted = true;
    while (!is_done) std::this_thread::yield();
  });
  while (!is_counted) std::this_thread::yield();
  pid_t child = fork();
  if (child == 0) {
    bool good = read_counts(0).total() == 0;
    count_call(0, Match::kTuned);
    std::thread([] { count_call(0, Match::kGeneric); }).join();
    good = good && read_counts(0)[Match::kTuned] == 1 && read_counts(0)[Match::kGeneric] == 1;
    _exit(good ? 0 : 1);
  }
  is_done = true;
  living.join();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(Counters, AreReadAndResetThroughTheCInterface) {
  Kernel kernel = sm90_kernel();
  const kaon_kernel* handle = nullptr;
  ASSERT_EQ(kaon_kernel_find(name_.c_str(), &handle), KAON_OK);
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  kaon_call_counts counts;
  ASSERT_EQ(kaon_read_counts(handle, &counts), KAON_OK);
  EXPECT_EQ(counts.by_match[KAON_MATCH_TUNED], 1u);
  EXPECT_EQ(counts.by_match[KAON_MATCH_GENERIC], 0u);
  ASSERT_EQ(kaon_reset_counts(handle), KAON_OK);
  ASSERT_EQ(kaon_read_counts(handle, &counts), KAON_OK);
  EXPECT_EQ(counts.by_match[KAON_MATCH_TUNED], 0u);
  EXPECT_EQ(kaon_read_counts(nullptr, &counts), KAON_INVALID_ARGUMENT);
  EXPECT_EQ(kaon_read_counts(handle, nullptr), KAON_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace kaon
