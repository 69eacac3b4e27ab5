// The GPU's side of measuring on a stub of the driver: what is launched, timed and captured, and what a fault does.
// The stub runs no kernels, so outputs keep their poison and helper kernels find nothing.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "aot_runner/measure/session.h"
#include "runtime/driver/cuda_types.h"
#include "tests/support/stub_driver.h"
#include "tests/unit/measure/vector_add_images.h"

namespace kaon::runner {
namespace {

using ::testing::HasSubstr;

class CudaSessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("KAON_CUDA_DRIVER", KAON_STUB_DRIVER, 1);
    void* stub = dlopen(KAON_STUB_DRIVER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(stub, nullptr) << dlerror();
    fail_ = reinterpret_cast<decltype(&stub_fail)>(dlsym(stub, "stub_fail"));
    last_launch_ = reinterpret_cast<decltype(&stub_last_launch)>(dlsym(stub, "stub_last_launch"));
    reinterpret_cast<decltype(&stub_reset)>(dlsym(stub, "stub_reset"))();
    auto device = open_device("cuda:0");
    ASSERT_TRUE(device.is_ok()) << device.status().to_string();
    session_ = std::make_unique<Session>(std::move(device).value(), [this](const Event& e) { events_.push_back(e); });
    session_->handle(kernel_request("add", kVectorAddIr));
    session_->handle(variant_request("v", "add", elementwise_info(3), "an image with the entry kernel"));
    ASSERT_EQ(events_.back().kind, EventKind::kOk) << events_.back().error.to_string();
  }

  std::unique_ptr<Session> session_;
  std::vector<Event> events_;
  decltype(&stub_fail) fail_ = nullptr;
  decltype(&stub_last_launch) last_launch_ = nullptr;
};

TEST_F(CudaSessionTest, FactsAreTheDevices) {
  EXPECT_EQ(events_[0].device.hardware, "sm90");
  EXPECT_EQ(events_[0].device.target, "sm_90");
  EXPECT_EQ(events_[0].device.sm_count, 132);
}

TEST_F(CudaSessionTest, TheKernelIsLaunchedWithItsSlots) {
  Request request = measure_request("add", 1000, {"v"});
  request.measure.options.check = false;
  ASSERT_EQ(session_->handle(request), Session::Next::kGoOn);
  ASSERT_EQ(events_.back().kind, EventKind::kDone) << events_.back().error.to_string();
  const StubLaunch launch = last_launch_();
  EXPECT_STREQ(launch.symbol, "kernel");
  EXPECT_EQ(launch.grid, 16u);
  EXPECT_EQ(launch.threads, 64u);
  EXPECT_EQ(launch.num_slots, 7);
  EXPECT_EQ(launch.slots[3], 1000);
  EXPECT_EQ((launch.slots[1] - launch.slots[0]) % 256, 0) << "every tensor is aligned as the slab is";
  bool timed = false;
  for (const Event& e : events_) timed |= e.kind == EventKind::kTimed && e.variant == "v" && e.timing.median_us > 0;
  EXPECT_TRUE(timed);
}

TEST_F(CudaSessionTest, AKernelThatDoesNothingIsCaught) {
  ASSERT_EQ(session_->handle(measure_request("add", 1000, {"v"})), Session::Next::kGoOn);
  bool caught = false;
  for (const Event& e : events_) caught |= e.kind == EventKind::kChecked && e.check.failure == Failure::kWrongResult;
  EXPECT_TRUE(caught);
}

TEST_F(CudaSessionTest, AnImageThatDoesNotLoadIsTheVariantsFailure) {
  fail_("cuLibraryLoadData", cuda::kCudaErrorInvalidImage);
  ASSERT_EQ(session_->handle(measure_request("add", 1000, {"v"})), Session::Next::kGoOn);
  EXPECT_EQ(events_.back().kind, EventKind::kDone);
  const Event& checked = events_[events_.size() - 2];
  EXPECT_EQ(checked.check.failure, Failure::kLaunch);
  EXPECT_THAT(checked.check.message, HasSubstr("cuLibraryLoadData"));
}

TEST_F(CudaSessionTest, AFaultThatLastsEndsTheWorker) {
  fail_("cuStreamSynchronize", cuda::kCudaErrorIllegalAddress);
  fail_("cuCtxSynchronize", cuda::kCudaErrorIllegalAddress);
  EXPECT_EQ(session_->handle(measure_request("add", 1000, {"v"})), Session::Next::kDeviceLost);
  EXPECT_EQ(events_.back().kind, EventKind::kError);
}

TEST_F(CudaSessionTest, AnErrorThatPassesDoesNot) {
  fail_("cuMemAlloc_v2", cuda::kCudaErrorOutOfMemory);
  EXPECT_EQ(session_->handle(measure_request("add", 1000, {"v"})), Session::Next::kGoOn);
  EXPECT_EQ(events_.back().error.code(), Code::kOutOfMemory);
  fail_("cuMemAlloc_v2", 0);
  EXPECT_EQ(session_->handle(measure_request("add", 1000, {"v"})), Session::Next::kGoOn);
  EXPECT_EQ(events_.back().kind, EventKind::kDone);
}

}  // namespace
}  // namespace kaon::runner
