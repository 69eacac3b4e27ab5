// Calls of scale_rows on the stub driver, each test with a kernel of its own name and the log's lines in a list.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/kaon.hpp"
#include "tests/unit/runtime/sample_pack.h"
#include "tests/unit/runtime/stub.h"

namespace kaon::testing {

inline std::vector<std::string>& log_lines() {
  static std::vector<std::string> lines;
  return lines;
}

class StubLaunchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    stub().reset();
    static int count = 0;
    name_ = "scale_rows_" + std::to_string(++count);
    log_lines().clear();
    set_log_sink([](void*, const char* line) { log_lines().push_back(line); }, nullptr);
  }
  void TearDown() override {
    set_log_sink(nullptr, nullptr);
    EXPECT_TRUE(force_variant("").is_ok());
  }

  // Packs live as long as the process, as generated tables do.
  LinkedPack* keep(const PackContents& contents, SelectFn select) {
    static std::vector<std::unique_ptr<LinkedPack>>* const all = new std::vector<std::unique_ptr<LinkedPack>>;
    all->push_back(std::make_unique<LinkedPack>(contents, select));
    return all->back().get();
  }
  const KernelTableList* link(const PackContents& contents, SelectFn select = sample_select) {
    return keep(contents, select)->list();
  }
  Kernel sm90_kernel() {
    return Kernel(name_.c_str(), {link(sample_pack(name_, "sm90", {"sm_90", "sm_80", "sm_120"}))});
  }

  // `act(tensors)` with three tensors of `device_`, far apart and never touched.
  template <typename Act>
  Status with_tensors(int64_t m, int64_t n, DType dtype, Act act) {
    Device device = Device::cuda(device_);
    TensorView x = TensorView::contiguous(reinterpret_cast<void*>(kFar), dtype, {m, n}, device);
    TensorView w = TensorView::contiguous(reinterpret_cast<void*>(2 * kFar), dtype, {n}, device);
    TensorView out = TensorView::contiguous(reinterpret_cast<void*>(3 * kFar), dtype, {m, n}, device);
    const TensorView* tensors[] = {&x, &w, &out};
    return act(tensors);
  }
  Status call(const Kernel& kernel, int64_t m, int64_t n, CallInfo* info = nullptr, DType dtype = DType::kF16) {
    return with_tensors(m, n, dtype, [&](const TensorView* const* tensors) {
      return kernel.call(stream_, tensors, 3, nullptr, 0, info);
    });
  }

  // Makes a device that of later calls and its context current.
  void use(int device) {
    device_ = device;
    stub().set_context(device);
  }

  static constexpr int64_t kFar = int64_t{1} << 45;
  int device_ = 0;
  std::string name_;
  void* stream_ = reinterpret_cast<void*>(0x5);
};

}  // namespace kaon::testing
