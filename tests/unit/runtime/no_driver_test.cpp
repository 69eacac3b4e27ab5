// A machine without a driver, or with one that finds no GPU: the program starts, and each call says what is missing.
#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/kaon.h"
#include "runtime/kaon.hpp"
#include "tests/unit/runtime/in_child.h"

namespace kaon {
namespace {

Status call_without_tables() {
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x1000), DType::kF32, {4});
  const TensorView* tensors[] = {&x};
  return Kernel("any", {}).call(nullptr, tensors, 1);
}

TEST(NoDriver, CallsGiveAStatusThatSaysWhatIsMissing) {
  setenv("KAON_CUDA_DRIVER", "/nonexistent/libcuda.so.1", 1);
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(
        call_without_tables().to_string(),
        "no_device: cannot load the CUDA driver: /nonexistent/libcuda.so.1: cannot open shared object file: No such "
        "file or directory; install the NVIDIA driver, or use CPU tensors with the host backend");
  }
  EXPECT_EQ(Kernel("any", {}).preload(Device::cuda(0)).code(), Code::kNoDevice);
  EXPECT_EQ(Kernel("any", {}).preload(Device::cpu()).code(), Code::kUnsupported);
}

TEST(NoDriver, AsDoesTheCInterface) {
  (void)Kernel("any", {});
  const kaon_kernel* kernel = nullptr;
  ASSERT_EQ(kaon_kernel_find("any", &kernel), KAON_OK);
  EXPECT_EQ(kaon_preload(kernel, {KAON_CUDA, 0}), KAON_NO_DEVICE);
  EXPECT_NE(std::string(kaon_last_error()).find("cannot load the CUDA driver"), std::string::npos);
}

// A driver that is there but finds nothing; read once per process, hence the child.
TEST(NoDriver, ADriverWithoutAGpuSaysSo) {
  EXPECT_TRUE(testing::run_alone("NoDriver.DISABLED_InitFails",
                                 {{"KAON_STUB_FAIL_INIT", "100"}, {"KAON_CUDA_DRIVER", KAON_STUB_DRIVER}})
                  .is_ok);
}

TEST(NoDriver, DISABLED_InitFails) {
  EXPECT_EQ(call_without_tables().to_string(),
            "no_device: cuInit: CUDA_ERROR_NO_DEVICE (100); check that nvidia-smi lists a GPU");
}

}  // namespace
}  // namespace kaon
