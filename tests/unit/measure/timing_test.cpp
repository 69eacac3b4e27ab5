// The rounds of timing on a device whose times are scripted.
#include "aot_runner/measure/timing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>

namespace kaon::runner {
namespace {

struct ScriptedReplay final : Replay {
  std::function<double(int)> time_us;  // of the number of earlier runs
  int runs = 0;
};

/// Only times; everything else would be a mistake here.
class ScriptedDevice final : public Device {
 public:
  std::vector<std::vector<Replay*>> rounds;

  const MachineFacts& facts() const override { return facts_; }
  bool is_lost() const override { return false; }
  Result<int64_t> allocate(int64_t) override { return unexpected(); }
  void free(int64_t) override {}
  Status set_bytes(int64_t, int64_t, uint8_t) override { return unexpected(); }
  Status copy(int64_t, int64_t, int64_t) override { return unexpected(); }
  Status read(void*, int64_t, int64_t) override { return unexpected(); }
  Status write(int64_t, const void*, int64_t) override { return unexpected(); }
  Status fill_random(const Span&, DType, const FillPlan&, uint64_t) override { return unexpected(); }
  Result<uint64_t> hash(const Span&) override { return unexpected(); }
  Result<Found> find(const Span&, uint64_t, bool) override { return unexpected(); }
  Result<Found> compare(int64_t, int64_t, int64_t, DType, double, double) override { return unexpected(); }
  Result<std::unique_ptr<LoadedKernel>> load(std::string_view, const std::string&, uint32_t) override {
    return unexpected();
  }
  Status run_checked(const Launch&, uint64_t) override { return unexpected(); }
  Result<std::unique_ptr<Replay>> make_replay(const Launch&) override { return unexpected(); }
  Result<std::unique_ptr<Replay>> make_empty_replay() override { return unexpected(); }
  Result<std::unique_ptr<Replay>> make_copy_replay(int64_t) override { return unexpected(); }
  Health health() override { return {}; }
  Status time(const std::vector<Replay*>& round, std::vector<double>* us) override {
    rounds.push_back(round);
    us->clear();
    for (Replay* replay : round) {
      auto& scripted = static_cast<ScriptedReplay&>(*replay);
      us->push_back(scripted.time_us(scripted.runs++));
    }
    return Status::ok();
  }

 private:
  static Status unexpected() { return Status(Code::kInternal, "not scripted"); }
  MachineFacts facts_;
};

ScriptedReplay replay(std::function<double(int)> time_us) {
  ScriptedReplay r;
  r.time_us = std::move(time_us);
  return r;
}

TEST(Timing, StopsAtTheFewestSamplesWhenTimesAreSteady) {
  ScriptedDevice device;
  ScriptedReplay steady = replay([](int) { return 10.0; });
  auto result = time_in_rounds(device, {{&steady, false}}, {});
  ASSERT_TRUE(result.is_ok());
  EXPECT_EQ(result->timings[0].samples, MeasureOptions{}.min_samples);
  EXPECT_EQ(result->timings[0].median_us, 10.0);
  EXPECT_EQ(result->timings[0].mad_us, 0.0);
  EXPECT_EQ(steady.runs, MeasureOptions{}.min_samples + 1) << "one run is for warming up and not counted";
}

TEST(Timing, TheWarmUpIsNotCounted) {
  ScriptedDevice device;
  ScriptedReplay cold = replay([](int run) { return run == 0 ? 1000.0 : 10.0; });
  auto result = time_in_rounds(device, {{&cold, false}}, {});
  EXPECT_EQ(result->timings[0].mad_us, 0.0);
  EXPECT_EQ(result->timings[0].min_us, 10.0);
}

TEST(Timing, NoisyOnesGetMoreSamplesUpToTheCap) {
  ScriptedDevice device;
  ScriptedReplay steady = replay([](int) { return 10.0; });
  ScriptedReplay noisy = replay([](int run) { return 10.0 + run % 5; });
  auto result = time_in_rounds(device, {{&steady, false}, {&noisy, false}}, {});
  EXPECT_EQ(result->timings[0].samples, MeasureOptions{}.min_samples);
  EXPECT_EQ(result->timings[1].samples, MeasureOptions{}.max_samples);
}

TEST(Timing, SlowOnesAreNotRefined) {
  ScriptedDevice device;
  ScriptedReplay best = replay([](int) { return 10.0; });
  ScriptedReplay near = replay([](int) { return 14.9; });
  ScriptedReplay far = replay([](int) { return 15.1; });
  ScriptedReplay copy = replay([](int) { return 20.0; });
  auto result = time_in_rounds(device, {{&best, false}, {&near, false}, {&far, false}, {&copy, true}}, {});
  EXPECT_TRUE(result->timings[0].refined && result->timings[1].refined && result->timings[3].refined);
  EXPECT_FALSE(result->timings[2].refined);
  EXPECT_EQ(result->timings[2].samples, MeasureOptions{}.first_samples);
  EXPECT_EQ(result->timings[3].samples, MeasureOptions{}.min_samples) << "a yardstick is refined whatever it costs";
}

TEST(Timing, AYardstickIsNotTheBest) {
  ScriptedDevice device;
  ScriptedReplay kernel = replay([](int) { return 100.0; });
  ScriptedReplay copy = replay([](int) { return 10.0; });
  auto result = time_in_rounds(device, {{&kernel, false}, {&copy, true}}, {});
  EXPECT_TRUE(result->timings[0].refined);
}

TEST(Timing, RoundsAreInterleavedAndRotated) {
  ScriptedDevice device;
  ScriptedReplay a = replay([](int) { return 10.0; }), b = a, c = a;
  auto result = time_in_rounds(device, {{&a, false}, {&b, false}, {&c, false}}, {});
  ASSERT_EQ(result->rounds, MeasureOptions{}.min_samples);
  ASSERT_EQ(device.rounds.size(), 6u);
  using ::testing::ElementsAre;
  EXPECT_THAT(device.rounds[1], ElementsAre(&a, &b, &c));
  EXPECT_THAT(device.rounds[2], ElementsAre(&b, &c, &a));
  EXPECT_THAT(device.rounds[3], ElementsAre(&c, &a, &b));
  EXPECT_THAT(device.rounds[4], ElementsAre(&a, &b, &c));
}

TEST(Timing, NoTimeLeftStillGivesOneSampleEach) {
  ScriptedDevice device;
  ScriptedReplay a = replay([](int run) { return 10.0 + run % 5; }), b = a;
  MeasureOptions options;
  options.max_seconds = 0;
  auto result = time_in_rounds(device, {{&a, false}, {&b, false}}, options);
  EXPECT_EQ(result->timings[0].samples, 1);
  EXPECT_EQ(result->timings[1].samples, 1);
}

}  // namespace
}  // namespace kaon::runner
