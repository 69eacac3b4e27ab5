// Many threads: first use at once, and tables that change under running calls.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "runtime/kaon.hpp"
#include "tests/unit/runtime/sample_pack.h"
#include "tests/unit/runtime/stub.h"

namespace kaon {
namespace {

using testing::stub;

constexpr int kThreads = 64;

bool call(const Kernel& kernel, int64_t m, int64_t n, DType dtype, int device, CallInfo* info) {
  Device where = Device::cuda(device);
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x100000000), dtype, {m, n}, where);
  TensorView w = TensorView::contiguous(reinterpret_cast<void*>(0x200000000), dtype, {n}, where);
  TensorView out = TensorView::contiguous(reinterpret_cast<void*>(0x300000000), dtype, {m, n}, where);
  const TensorView* tensors[] = {&x, &w, &out};
  return kernel.call(nullptr, tensors, 3, nullptr, 0, info).is_ok();
}

TEST(Threads, FirstUseByAllAtOnceOnTwoDevicesLoadsEverythingOnce) {
  stub().reset();
  const StubDevice devices[] = {{90, 232448, 132}, {120, 101376, 170}};
  stub().set_devices(devices, 2);
  testing::LinkedPack linked(testing::sample_pack("together", "sm90", {"sm_90", "sm_120"}), testing::sample_select);
  std::atomic<int> waiting{kThreads}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      int device = t % 2;
      stub().set_context(device);
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      Kernel mine("together", {linked.list()});
      for (int i = 0; i < 200; ++i) {
        CallInfo info;
        int64_t n = i % 2 == 0 ? 256 : 8192;
        bool ok = call(mine, 64, n, t % 4 < 2 ? DType::kF16 : DType::kF32, device, &info);
        int expected = n == 256 ? 0 : device == 0 ? 1 : 2;
        wrong += !ok || info.variant->index != expected;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(stub().calls("cuLibraryLoadData"), 2u) << "one image for each device";
  EXPECT_EQ(stub().calls("cuLibraryGetKernel"), 8u) << "2 variants x 2 dtypes x 2 devices";
  EXPECT_EQ(stub().last_launch().count, uint64_t{kThreads} * 200);
}

TEST(Threads, PacksLoadedUnderRunningCallsTakeOver) {
  stub().reset();
  testing::LinkedPack linked(testing::sample_pack("swapped", "sm90", {"sm_90"}), testing::sample_select);
  Kernel kernel("swapped", {linked.list()});
  PackContents newer = testing::sample_pack("swapped", "sm90", {"sm_90"});
  for (PackVariant& variant : newer.records.tables[0].variants) variant.info.config.set("newer", 1);
  std::string path = ::testing::TempDir() + "kaon_swapped.kpack";
  std::ofstream(path, std::ios::binary) << *write_pack(newer);
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0}, served_by_newer{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        CallInfo info;
        if (!call(kernel, 64, 256, DType::kF16, 0, &info)) ++failures;
        if (std::string(info.variant->config).find("newer=1") != std::string::npos) ++served_by_newer;
      }
    });
  }
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(load_pack(path).is_ok());
  while (served_by_newer == 0) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failures, 0);
  CallInfo info;
  ASSERT_TRUE(call(kernel, 64, 256, DType::kF16, 0, &info));
  EXPECT_EQ(std::string(info.variant->config), "block.m=4 newer=1");
  remove(path.c_str());
}

}  // namespace
}  // namespace kaon
