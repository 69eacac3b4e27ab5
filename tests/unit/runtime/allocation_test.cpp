// After its first use a call neither allocates nor locks: counted by hooks under malloc and pthread_mutex_lock.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>

#include "runtime/kaon.h"
#include "runtime/kaon.hpp"
#include "tests/unit/runtime/sample_pack.h"
#include "tests/unit/runtime/stub.h"

namespace {

std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> locks{0};

}  // namespace

// glibc's own entry points below the hooks.
extern "C" void* __libc_malloc(size_t bytes);
extern "C" void* __libc_calloc(size_t count, size_t bytes);
extern "C" void* __libc_realloc(void* pointer, size_t bytes);

extern "C" void* malloc(size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
extern "C" void* calloc(size_t count, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, bytes);
}
extern "C" void* realloc(void* pointer, size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(pointer, bytes);
}
extern "C" int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const real = reinterpret_cast<int (*)(pthread_mutex_t*)>(dlsym(RTLD_NEXT, "pthread_mutex_lock"));
  locks.fetch_add(1, std::memory_order_relaxed);
  return real(mutex);
}

namespace kaon {
namespace {

using testing::stub;

class HotPath : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    stub().reset();
    linked = new testing::LinkedPack(testing::sample_pack("scale_rows", "sm90", {"sm_90"}), testing::sample_select);
    kernel = new Kernel("scale_rows", {linked->list()});
    ASSERT_TRUE(kernel->preload(Device::cuda(0)).is_ok());
    stub().set_recording(0);
  }

  // Shapes of both leaves, tuned and generic, both dtypes.
  template <typename CallFn>
  void expect_no_work(CallFn call) {
    call(64, 256, DType::kF16);
    uint64_t allocations_before = allocations, locks_before = locks;
    int failures = 0;
    for (int i = 0; i < 1000000; ++i) {
      int64_t m = i % 97, n = i % 3 == 0 ? 100000 : 1 + i % 9000;
      failures += !call(m, n, i % 2 == 0 ? DType::kF16 : DType::kF32);
    }
    EXPECT_EQ(allocations - allocations_before, 0u);
    EXPECT_EQ(locks - locks_before, 0u);
    EXPECT_EQ(failures, 0);
  }

  static testing::LinkedPack* linked;
  static Kernel* kernel;
};
testing::LinkedPack* HotPath::linked = nullptr;
Kernel* HotPath::kernel = nullptr;

TEST_F(HotPath, HooksCount) {
  uint64_t before = allocations, locks_before = locks;
  free(malloc(10));
  delete new std::string(100, 'x');
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  EXPECT_GE(allocations - before, 3u);
  EXPECT_EQ(locks - locks_before, 1u);
}

TEST_F(HotPath, AMillionCallsAllocateAndLockNothing) {
  expect_no_work([](int64_t m, int64_t n, DType dtype) {
    TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x100000000), dtype, {m, n});
    TensorView w = TensorView::contiguous(reinterpret_cast<void*>(0x200000000), dtype, {n});
    TensorView out = TensorView::contiguous(reinterpret_cast<void*>(0x300000000), dtype, {m, n});
    const TensorView* tensors[] = {&x, &w, &out};
    CallInfo info;
    return kernel->call(nullptr, tensors, 3, nullptr, 0, &info).is_ok();
  });
}

TEST_F(HotPath, NeitherThroughTheCInterface) {
  const kaon_kernel* handle = nullptr;
  ASSERT_EQ(kaon_kernel_find("scale_rows", &handle), KAON_OK);
  expect_no_work([&](int64_t m, int64_t n, DType dtype) {
    int64_t matrix[2] = {m, n};
    kaon_dtype type = {KAON_FLOAT, static_cast<uint8_t>(dtype == DType::kF16 ? 16 : 32), 1};
    kaon_tensor x = {reinterpret_cast<void*>(0x100000000), {KAON_CUDA, 0}, 2, type, matrix, nullptr, 0};
    kaon_tensor w = {reinterpret_cast<void*>(0x200000000), {KAON_CUDA, 0}, 1, type, matrix + 1, nullptr, 0};
    kaon_tensor out = {reinterpret_cast<void*>(0x300000000), {KAON_CUDA, 0}, 2, type, matrix, nullptr, 0};
    const kaon_tensor* tensors[] = {&x, &w, &out};
    return kaon_call(handle, nullptr, tensors, 3, nullptr, 0, nullptr) == KAON_OK;
  });
}

}  // namespace
}  // namespace kaon
