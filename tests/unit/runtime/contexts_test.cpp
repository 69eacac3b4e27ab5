// Several contexts in one process, contexts that follow each other at one address, forks, and captures next to first
// uses.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "runtime/driver/driver.h"
#include "tests/unit/runtime/in_child.h"
#include "tests/unit/runtime/stub_launch.h"

namespace kaon {
namespace {

using testing::in_child;
using testing::sample_pack;
using testing::stub;

class Contexts : public testing::StubLaunchTest {
 protected:
  void SetUp() override {
    StubLaunchTest::SetUp();
    const StubDevice devices[] = {{90, 232448, 132}, {120, 101376, 170}};
    stub().set_devices(devices, 2);
  }

  // The stub refuses functions of a context that is not the current one.
  void expect_served(const Kernel& kernel) {
    for (int64_t n : {256, 8192}) {
      const uint64_t before = stub().last_launch().count;
      Status status = call(kernel, 64, n);
      EXPECT_TRUE(status.is_ok()) << status.to_string();
      EXPECT_EQ(stub().last_launch().count, before + 1);
    }
  }
};

TEST_F(Contexts, EachContextHasItsFunctionsAndStaysCurrent) {
  Kernel kernel = sm90_kernel();
  const int own = stub().make_context(0);
  for (int round = 0; round < 3; ++round) {
    for (int context : {0, own}) {
      stub().set_context(context);
      expect_served(kernel);
      EXPECT_EQ(stub().current_context(), context);
    }
  }
  EXPECT_EQ(stub().calls("cuLibraryLoadData"), 1u) << "code is loaded once for all contexts";
  EXPECT_EQ(stub().calls("cuKernelGetFunction"), 4u) << "two variants in two contexts";
  stub().set_context(own);
  ASSERT_TRUE(kernel.preload(Device::cuda(0)).is_ok());
  EXPECT_EQ(stub().current_context(), own);
}

TEST_F(Contexts, OneThatFollowsAtTheSameAddressIsAnother) {
  Kernel kernel = sm90_kernel();
  int place = -1;
  for (int round = 0; round < 5; ++round) {
    const int context = stub().make_context(round % 2);
    if (round > 0) {
      ASSERT_EQ(context, place) << "the stub gives the address away again";
    }
    place = context;
    stub().set_context(context);
    device_ = round % 2;
    expect_served(kernel);
    stub().destroy_context(context);
  }
}

TEST_F(Contexts, ADestroyedOneIsAnErrorWithTheDriversName) {
  Kernel kernel = sm90_kernel();
  const int context = stub().make_context(0);
  stub().set_context(context);
  expect_served(kernel);
  stub().destroy_context(context);
  EXPECT_EQ(call(kernel, 64, 256).to_string(), "driver: cuCtxGetId: CUDA_ERROR_CONTEXT_IS_DESTROYED (709)");
  stub().set_context(0);
  expect_served(kernel);
}

TEST_F(Contexts, ThreadsUseTheirOwn) {
  Kernel kernel = sm90_kernel();
  set_log_sink(nullptr, nullptr);  // the list of lines is for one thread
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this, &kernel, t] {
      const int context = t % 4 == 0 ? -1 : t % 4 == 1 ? 0 : stub().make_context(0);
      stub().set_context(context);
      for (int i = 0; i < 200; ++i) {
        Status status = call(kernel, 64, i % 2 == 0 ? 256 : 8192);
        EXPECT_TRUE(status.is_ok()) << status.to_string();
      }
      EXPECT_EQ(stub().current_context(), context < 0 ? 0 : context) << "a thread without one gets the primary one";
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Status query(const Kernel& kernel, Device device) {
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x100000000), DType::kF16, {64, 256}, device);
  TensorView w = TensorView::contiguous(reinterpret_cast<void*>(0x200000000), DType::kF16, {256}, device);
  TensorView out = TensorView::contiguous(reinterpret_cast<void*>(0x300000000), DType::kF16, {64, 256}, device);
  const TensorView* tensors[] = {&x, &w, &out};
  CallInfo info;
  return kernel.query(tensors, 3, nullptr, 0, &info);
}

TEST_F(Contexts, AChildOfAProcessThatUsedCudaIsTold) {
  Kernel kernel = sm90_kernel();
  expect_served(kernel);
  const std::string expected =
      "unsupported: this process was forked from one that had used CUDA, which does not survive a fork; fork before "
      "the "
      "first call on a GPU, or start the process anew";
  EXPECT_EQ(in_child([&] { return call(kernel, 64, 256).to_string(); }), expected);
  EXPECT_EQ(in_child([&] { return kernel.preload(Device::cuda(0)).to_string(); }), expected);
  EXPECT_EQ(in_child([&] { return in_child([&] { return query(kernel, Device::cuda(0)).to_string(); }); }), expected);
  expect_served(kernel);
}

TEST_F(Contexts, AChildHangsOnNoLockOfItsParentsThreads) {
  Kernel kernel = sm90_kernel();
  set_log_sink(nullptr, nullptr);  // the list of lines is for one thread
  std::atomic<bool> is_done{false};
  std::atomic<int> lookups{0};  // what is looked up anew stays in memory: so many of them are left
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      stub().set_context(0);
      while (!is_done) {
        if (lookups.fetch_sub(1) > 0) (void)force_variant("");  // everything is looked up anew
        (void)query(kernel, Device::cuda(0));
        (void)kernel.counts();
      }
    });
  }
  int hung = 0;
  for (int i = 0; i < 30; ++i) {
    lookups = 1000;
    const std::string answer = in_child(
        [&]() -> std::string {
          alarm(60);
          (void)query(kernel, Device::cpu());
          (void)force_variant("");
          (void)kernel.counts();
          (void)Kernel::find("nobody");
          set_log_sink(nullptr, nullptr);
          return "done";
        },
        testing::ChildEnd::kAtOnce);
    hung += answer != "done";
  }
  is_done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hung, 0);
}

class Capture : public Contexts {
 protected:
  static const cuda::Driver& table() { return **cuda::driver(); }
  static cuda::CuStream stream(int which) { return reinterpret_cast<cuda::CuStream>(int64_t{0x100} + which); }
  static void begin(int which) {
    ASSERT_EQ(table().stream_begin_capture(stream(which), cuda::kCaptureGlobal), cuda::kCudaSuccess);
  }
  // Whether the capture was valid to its end.
  static bool end(int which) {
    cuda::CuGraph graph = nullptr;
    return table().stream_end_capture(stream(which), &graph) == cuda::kCudaSuccess;
  }
};

TEST_F(Capture, TheStubLosesACaptureWhenCodeIsLoadedBesideIt) {
  begin(1);
  cuda::CuLibrary library = nullptr;
  EXPECT_NE(table().library_load_data(&library, "x", nullptr, nullptr, 0, nullptr, nullptr, 0), cuda::kCudaSuccess);
  EXPECT_FALSE(end(1));
}

TEST_F(Capture, AFirstUseInsideOneIsRefusedAndLeavesItValid) {
  Kernel kernel = sm90_kernel();
  stream_ = stream(1);
  begin(1);
  EXPECT_EQ(call(kernel, 64, 256).code(), Code::kNotPreloaded);
  EXPECT_TRUE(end(1));
  ASSERT_TRUE(kernel.preload(Device::cuda(0)).is_ok());
  begin(1);
  EXPECT_TRUE(call(kernel, 64, 256).is_ok());
  EXPECT_TRUE(end(1));
}

TEST_F(Capture, AFirstUseBesideOneLeavesItValid) {
  Kernel kernel = sm90_kernel();
  begin(1);
  std::thread([&] {
    stub().set_context(-1);
    stream_ = stream(2);
    Status status = call(kernel, 64, 256);
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    status = kernel.preload(Device::cuda(0));
    EXPECT_TRUE(status.is_ok()) << status.to_string();
    // The thread is as careful as before.
    cuda::CuCaptureMode mode = cuda::kCaptureRelaxed;
    ASSERT_EQ(table().thread_exchange_stream_capture_mode(&mode), cuda::kCudaSuccess);
    EXPECT_EQ(mode, cuda::kCaptureGlobal);
  }).join();
  EXPECT_TRUE(end(1));
}

TEST_F(Capture, TheDefaultStreamBesideOneThatItWaitsForIsPartOfIt) {
  Kernel kernel = sm90_kernel();
  stub().fail("cuStreamIsCapturing", cuda::kCudaErrorStreamCaptureImplicit);
  EXPECT_EQ(call(kernel, 64, 256).code(), Code::kNotPreloaded);
}

}  // namespace
}  // namespace kaon
