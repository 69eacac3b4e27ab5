// Fibers: they continue where they stopped, start anew when abandoned, and leave nothing behind on their stacks.
#include "runtime/host/fiber.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace kaon::host {
namespace {

struct Steps {
  Fiber* fiber = nullptr;
  std::vector<int> seen;
  const volatile char* local = nullptr;  // an address on the fiber's stack
};

void count_upwards(void* argument) {
  auto* steps = static_cast<Steps*>(argument);
  volatile char large[4096];  // between red zones under AddressSanitizer
  large[0] = 1;
  steps->local = large;
  for (int i = 0;; ++i) {
    steps->seen.push_back(i);
    steps->fiber->suspend();
  }
}

TEST(FiberTest, ContinuesWhereItStoppedAndStartsAnewWhenAbandoned) {
  StackPool pool;
  Steps steps;
  Result<void*> stack = pool.take();
  ASSERT_TRUE(stack.is_ok()) << stack.status().message();
  Fiber fiber(*stack, &count_upwards, &steps);
  steps.fiber = &fiber;
  fiber.resume();
  fiber.resume();
  fiber.abandon();
  fiber.resume();
  EXPECT_EQ(steps.seen, (std::vector<int>{0, 1, 0}));
}

TEST(FiberTest, StacksAreDistinct) {
  StackPool pool;
  std::vector<Steps> steps(70);  // more than one chunk of the pool
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (Steps& s : steps) {
    Result<void*> stack = pool.take();
    ASSERT_TRUE(stack.is_ok()) << stack.status().message();
    fibers.push_back(std::make_unique<Fiber>(*stack, &count_upwards, &s));
    s.fiber = fibers.back().get();
  }
  for (int round = 0; round < 3; ++round) {
    for (auto& fiber : fibers) fiber->resume();
  }
  for (const Steps& s : steps) EXPECT_EQ(s.seen, (std::vector<int>{0, 1, 2}));
}

#if defined(__SANITIZE_ADDRESS__)
TEST(FiberTest, APoolReturnsItsMemoryWithoutRedZones) {
  Steps steps;
  {
    StackPool pool;
    Result<void*> stack = pool.take();
    ASSERT_TRUE(stack.is_ok()) << stack.status().message();
    Fiber fiber(*stack, &count_upwards, &steps);
    steps.fiber = &fiber;
    fiber.resume();
    const auto frame = const_cast<char*>(steps.local);
    ASSERT_NE(__asan_region_is_poisoned(frame - 64, 4096 + 128), nullptr)
        << "the frame has no red zones to leave behind";
  }
  // Whoever maps these pages next, the tensors of a host device for one, may write all of them.
  EXPECT_EQ(__asan_region_is_poisoned(const_cast<char*>(steps.local) - 4096, 8192), nullptr);
}
#endif

}  // namespace
}  // namespace kaon::host
