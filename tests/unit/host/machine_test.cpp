// The SIMT machine: right kernels are run right, and each rule that a kernel can break is caught and named.
#include "runtime/host/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

namespace kaon::host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

float as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
uint32_t as_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

template <typename T>
T* slot(const int64_t* slots, int index) {
  return reinterpret_cast<T*>(slots[index]);
}
int64_t address(const void* p) { return reinterpret_cast<int64_t>(p); }

float warp_sum(KaonSimtThread* self, float value, uint32_t site) {
  for (uint32_t lane_xor = 16; lane_xor > 0; lane_xor /= 2) {
    value += as_float(self->table->shuffle_xor(self, as_bits(value), lane_xor, site));
  }
  return value;
}

/// out[block] = sum of the block's threads' inputs, through one partial sum per warp. slots: in, out, leave out
/// barrier.
void block_sum(KaonSimtThread* self, const int64_t* slots) {
  const float mine = slot<const float>(slots, 0)[self->block * self->num_threads + self->thread];
  const float warp = warp_sum(self, mine, 1);
  const uint32_t warps = self->num_threads / 32;
  if (self->thread % 32 == 0) self->table->write_shared(self, self->thread / 32 * 4, &warp, 4, 2);
  if (slots[2] == 0) self->table->barrier(self, 3);
  float total = 0;
  for (uint32_t w = 0; w < warps; ++w) {
    float part;
    self->table->read_shared(self, w * 4, &part, 4, 4);
    total += part;
  }
  if (self->thread == 0) slot<float>(slots, 1)[self->block] = total;
}

Status run_block_sum(Machine& machine, uint32_t warps, uint64_t blocks, bool leave_out_barrier, uint64_t seed) {
  std::vector<float> in(blocks * warps * 32);
  std::iota(in.begin(), in.end(), 1.0f);
  std::vector<float> out(blocks, -1.0f);
  const int64_t slots[] = {address(in.data()), address(out.data()), leave_out_barrier};
  Status status = machine.run(block_sum, {blocks, warps * 32, warps * 4}, slots, {.checked = true, .seed = seed});
  if (!status.is_ok()) return status;
  for (uint64_t b = 0; b < blocks; ++b) {
    const auto begin = in.begin() + static_cast<int64_t>(b * warps * 32);
    EXPECT_EQ(out[b], std::accumulate(begin, begin + warps * 32, 0.0f)) << "block " << b;
  }
  return status;
}

TEST(Machine, BlockSumIsRightForEveryWarpCountAndSeed) {
  Machine machine(2);
  for (const uint32_t warps : {1u, 2u, 3u, 7u, 8u, 32u}) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      Status status = run_block_sum(machine, warps, 5, false, seed);
      EXPECT_TRUE(status.is_ok()) << status.to_string();
    }
  }
}

TEST(Machine, MissingBarrierIsARaceWhateverTheSeed) {
  Machine machine(2);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Status status = run_block_sum(machine, 4, 3, true, seed);
    ASSERT_EQ(status.code(), Code::kInternal) << "seed " << seed;
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr("block 0, thread "),
                      AnyOf(HasSubstr("race: reads"), HasSubstr("uninitialised"), HasSubstr("race: writes"))));
  }
}

TEST(Machine, SameSeedGivesTheSameMessage) {
  Machine one(1), three(3);
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::string first = run_block_sum(one, 4, 9, true, seed).message();
    EXPECT_EQ(run_block_sum(one, 4, 9, true, seed).message(), first);
    EXPECT_EQ(run_block_sum(three, 4, 9, true, seed).message(), first);
  }
}

TEST(Machine, RunsOnAfterAnError) {
  Machine machine(2);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(run_block_sum(machine, 8, 4, true, static_cast<uint64_t>(i)).is_ok());
    EXPECT_TRUE(run_block_sum(machine, 8, 4, false, static_cast<uint64_t>(i)).is_ok());
  }
}

Status run_one(KernelFunction kernel, uint32_t threads, uint32_t shared_bytes, bool checked = true, uint64_t seed = 1) {
  static Machine machine(2);
  const int64_t slots[] = {0};
  return machine.run(kernel, {1, threads, shared_bytes}, slots, {.checked = checked, .seed = seed});
}

TEST(Machine, WriteWriteRaceNamesBothThreads) {
  Status status = run_one(
      [](KaonSimtThread* self, const int64_t*) {
        const uint32_t value = self->thread;
        if (self->thread == 5 || self->thread == 40) self->table->write_shared(self, 0, &value, 4, 11);
      },
      64, 4);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("race: writes shared byte 0"), HasSubstr("thread 5"),
                                      HasSubstr("thread 40"), HasSubstr("site 11")));
}

TEST(Machine, WriteAfterReadNeedsABarrierToo) {
  const KernelFunction reuse = [](KaonSimtThread* self, const int64_t*) {
    uint32_t value = 1;
    if (self->thread == 0) self->table->write_shared(self, 0, &value, 4, 1);
    self->table->barrier(self, 2);
    self->table->read_shared(self, 0, &value, 4, 3);
    if (self->thread == 0) self->table->write_shared(self, 0, &value, 4, 4);
  };
  for (uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_THAT(run_one(reuse, 32, 4, true, seed).message(), HasSubstr("race: "));
  }
}

TEST(Machine, AShuffleIsNoBarrierForSharedMemory) {
  Status status = run_one(
      [](KaonSimtThread* self, const int64_t*) {
        uint32_t value = self->thread;
        self->table->write_shared(self, self->thread * 4, &value, 4, 1);
        self->table->shuffle_idx(self, value, 0, 2);
        self->table->read_shared(self, (self->thread ^ 1) * 4, &value, 4, 3);
      },
      32, 128);
  EXPECT_THAT(status.message(), HasSubstr("race: reads"));
}

TEST(Machine, OwnBytesNeedNoBarrier) {
  Status status = run_one(
      [](KaonSimtThread* self, const int64_t*) {
        uint64_t value = self->thread, back = 0;
        self->table->write_shared(self, self->thread * 8, &value, 8, 1);
        self->table->read_shared(self, self->thread * 8, &back, 8, 2);
        if (back != value) self->table->trap(self, 3);
      },
      64, 512);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(Machine, UninitialisedReadIsCaughtEvenWhereAnEarlierBlockWrote) {
  const KernelFunction write_in_block_0 = [](KaonSimtThread* self, const int64_t*) {
    uint32_t value = 7;
    if (self->block == 0) self->table->write_shared(self, self->thread * 4, &value, 4, 1);
    self->table->read_shared(self, self->thread * 4, &value, 4, 2);
  };
  Machine machine(1);
  const int64_t slots[] = {0};
  Status status = machine.run(write_in_block_0, {2, 32, 128}, slots, {});
  EXPECT_THAT(status.message(), AllOf(HasSubstr("block 1"), HasSubstr("site 2"), HasSubstr("uninitialised")));
}

TEST(Machine, SharedAccessOutOfBoundsIsCaughtCheckedOrNot) {
  const KernelFunction beyond = [](KaonSimtThread* self, const int64_t*) {
    const uint32_t value = 1;
    self->table->write_shared(self, self->thread * 4, &value, 4, 9);
  };
  for (const bool checked : {true, false}) {
    EXPECT_THAT(run_one(beyond, 32, 124, checked).message(),
                AllOf(HasSubstr("thread 31, site 9"), HasSubstr("outside shared memory: bytes 124 to 128 of 124")));
  }
}

TEST(Machine, MisalignedSharedAccessIsCaught) {
  Status status = run_one(
      [](KaonSimtThread* self, const int64_t*) {
        const uint32_t value = 1;
        if (self->thread == 3) self->table->write_shared(self, 2, &value, 4, 9);
      },
      32, 128);
  EXPECT_THAT(status.message(), HasSubstr("misaligned in shared memory: offset 2"));
}

TEST(Machine, BarrierThatSomeThreadsReturnedFromIsDivergent) {
  const KernelFunction leave = [](KaonSimtThread* self, const int64_t*) {
    if (self->thread == 17) return;
    self->table->barrier(self, 6);
  };
  for (const bool checked : {true, false}) {
    EXPECT_THAT(run_one(leave, 64, 0, checked).message(),
                AllOf(HasSubstr("thread 0, site 6: divergent barrier"), HasSubstr("thread 17 returned")));
  }
}

TEST(Machine, BarriersAtTwoSitesAreDivergent) {
  Status status = run_one(
      [](KaonSimtThread* self, const int64_t*) { self->table->barrier(self, self->thread < 32 ? 6 : 7); }, 64, 0);
  EXPECT_THAT(status.message(), HasSubstr("divergent barrier: other threads of the block wait at site"));
}

TEST(Machine, ShuffleWithoutAllLanesIsDivergent) {
  EXPECT_THAT(run_one(
                  [](KaonSimtThread* self, const int64_t*) {
                    if (self->thread != 40) self->table->shuffle_xor(self, 1, 1, 8);
                  },
                  64, 0)
                  .message(),
              AllOf(HasSubstr("site 8: divergent shuffle"), HasSubstr("thread 40 returned")));
  EXPECT_THAT(run_one([](KaonSimtThread* self,
                         const int64_t*) { self->table->shuffle_xor(self, 1, 1, self->thread == 3 ? 8 : 9); },
                      32, 0)
                  .message(),
              HasSubstr("divergent shuffle"));
  EXPECT_THAT(run_one(
                  [](KaonSimtThread* self, const int64_t*) {
                    if (self->thread % 32 < 16)
                      self->table->barrier(self, 4);
                    else
                      self->table->shuffle_xor(self, 1, 1, 5);
                  },
                  32, 0)
                  .message(),
              HasSubstr("thread 0, site 4: divergent barrier: thread 16 waits at a shuffle, site 5"));
}

TEST(Machine, ShufflesBringTheRightLane) {
  Status status = run_one(
      [](KaonSimtThread* self, const int64_t*) {
        for (uint32_t i = 0; i < 32; ++i) {
          if (self->table->shuffle_xor(self, self->thread * 3, i, 1) != (self->thread ^ i) * 3)
            self->table->trap(self, 2);
          const uint32_t expected = self->thread / 32 * 32 + (self->thread + i) % 32;
          if (self->table->shuffle_idx(self, self->thread, (self->thread + i) % 32, 3) != expected)
            self->table->trap(self, 4);
        }
      },
      96, 0);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
}

TEST(Machine, TrapIsAStatusWithThePlace) {
  Status status = run_one(
      [](KaonSimtThread* self, const int64_t*) {
        if (self->thread == 33) self->table->trap(self, 12);
      },
      64, 0);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("block 0, thread 33, site 12: trap"));
}

TEST(Machine, LowestFailingBlockIsReported) {
  Machine machine(4);
  const int64_t slots[] = {0};
  for (uint64_t seed = 0; seed < 10; ++seed) {
    Status status = machine.run(
        [](KaonSimtThread* self, const int64_t*) {
          if (self->block >= 37 && self->thread == 0) self->table->trap(self, 1);
        },
        {200, 32, 0}, slots, {.checked = true, .seed = seed});
    EXPECT_THAT(status.message(), HasSubstr("block 37, thread 0"));
  }
}

TEST(Machine, ImpossibleGridsAreRefused) {
  Machine machine(1);
  const int64_t slots[] = {0};
  const KernelFunction nothing = [](KaonSimtThread*, const int64_t*) {};
  EXPECT_EQ(machine.run(nothing, {1, 33, 0}, slots, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.run(nothing, {1, 0, 0}, slots, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.run(nothing, {1, 2048, 0}, slots, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.run(nothing, {1, 32, kMaxSharedBytes + 1}, slots, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(machine.run(nullptr, {1, 32, 0}, slots, {}).code(), Code::kInvalidArgument);
  EXPECT_TRUE(machine.run(nothing, {0, 32, 0}, slots, {}).is_ok());
}

TEST(Machine, CostOfABlockReductionIsPrinted) {
  Machine machine(1);
  const uint64_t blocks = 200;
  std::vector<float> in(blocks * 256, 1.0f), out(blocks);
  const int64_t slots[] = {address(in.data()), address(out.data()), 0};
  for (const bool checked : {true, false}) {
    const auto start = std::chrono::steady_clock::now();
    ASSERT_TRUE(machine.run(block_sum, {blocks, 256, 32}, slots, {.checked = checked}).is_ok());
    const std::chrono::duration<double, std::micro> us = std::chrono::steady_clock::now() - start;
    std::printf("256-thread block reduction, %s: %.1f us\n", checked ? "checked" : "unchecked", us.count() / blocks);
    EXPECT_THAT(out, ::testing::Each(256.0f));
  }
}

}  // namespace
}  // namespace kaon::host
