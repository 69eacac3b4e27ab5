// Offsets beyond 2^31 elements on the CPU target, in memory that is mapped but never filled, and the guard that keeps
// 32-bit offsets away from them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>

#include "runtime/base/guards.h"
#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

constexpr const char* kFar = R"(
kernel far(x: u8[M, N], at: i32[M]) -> (rows: u8[M, N], picked: u8[M, N], back: u8[M, N] = 0) {
  for m, n in tile(M, N) {
    rows[m, n] = x[m, n];
    picked[m, n] = x[at[m], n];
    let last = M - 1 - m.index;
    back[last, n] = x[m, n];
  }
}
)";

constexpr int64_t kRows = 3;
constexpr int64_t kColumns = 16;
constexpr int64_t kStride = (int64_t{1} << 31) + 4096;  // elements, and bytes

/// Address space for kRows rows, of which only the pages that are touched take memory.
struct Mapping {
  void* data =
      mmap(nullptr, kRows* kStride, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ~Mapping() {
    if (data != MAP_FAILED) munmap(data, kRows * kStride);
  }
};

TEST(Sizes, OffsetsBeyond32BitsAreReached) {
  const Mapping in, out;
  if (in.data == MAP_FAILED || out.data == MAP_FAILED) GTEST_SKIP() << "no address space for 12 GiB";
  auto* x = static_cast<uint8_t*>(in.data);
  auto* back = static_cast<uint8_t*>(out.data);
  std::array<int32_t, kRows> at = {2, 0, 1};
  std::array<uint8_t, kRows*kColumns> rows = {}, picked = {};
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t n = 0; n < kColumns; ++n) x[m * kStride + n] = static_cast<uint8_t>(100 * m + n);
  }
  const Result<Kernel> kernel = logical_kernel({kFar});
  ASSERT_TRUE(kernel) << kernel.status().message();
  const Signature& signature = kernel->signature;
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()), 1);
  slots[static_cast<size_t>(signature.dim_slot(0))] = kRows;
  slots[static_cast<size_t>(signature.dim_slot(1))] = kColumns;
  const void* const pointers[] = {x, at.data(), rows.data(), picked.data(), back};
  const int64_t strides[] = {kStride, 0, kColumns, kColumns, kStride};
  for (int t = 0; t < 5; ++t) {
    slots[static_cast<size_t>(t)] = reinterpret_cast<int64_t>(pointers[t]);
    if (t != 1) slots[static_cast<size_t>(signature.stride_slot(t, 0))] = strides[t];
  }
  for (const char* text : {"index=32 vec=1", "index=64 vec=1", "index=64 block.m=1", "index=64 block.m=4 block.n=64 num_warps=1"}) {
    SCOPED_TRACE(text);
    const Result<CompiledVariant> variant = compile(*kernel, *Config::from_text(text), *find_target("host"), {});
    ASSERT_TRUE(variant) << variant.status().message();
    const std::string refused = refusing_guard(signature, variant->info.guards, slots.data());
    if (variant->info.config.get_int("index", 64) == 32) {
      EXPECT_NE(refused, "");
      continue;
    }
    ASSERT_EQ(refused, "");
    rows = picked = {};
    for (int64_t m = 0; m < kRows; ++m) std::fill_n(back + m * kStride, kColumns, uint8_t{0});
    const Result<std::unique_ptr<host::Image>> image = host::Image::load(variant->image);
    ASSERT_TRUE(image) << image.status().message();
    const Result<host::KernelFunction> function = (*image)->find(variant->info.symbol);
    ASSERT_TRUE(function);
    const LaunchPlan& plan = variant->info.plan;
    const host::Grid grid = {static_cast<uint64_t>(plan.programs.evaluate(slots.data())), plan.threads,
                             plan.shared_bytes};
    const Status ran = host::shared_machine().run(*function, grid, slots.data(), {});
    ASSERT_TRUE(ran) << ran.message();
    for (int64_t m = 0; m < kRows; ++m) {
      for (int64_t n = 0; n < kColumns; ++n) {
        const auto i = static_cast<size_t>(m * kColumns + n);
        EXPECT_EQ(rows[i], x[m * kStride + n]);
        EXPECT_EQ(picked[i], x[at[static_cast<size_t>(m)] * kStride + n]);
        EXPECT_EQ(back[(kRows - 1 - m) * kStride + n], x[m * kStride + n]);
      }
    }
  }
}

}  // namespace
}  // namespace kaon::compiler
