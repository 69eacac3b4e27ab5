// The sweep against a made-up device: kills at random moments, resumes, and the claim that nothing depends on them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "aot_runner/search/strategy.h"
#include "aot_runner/tune/sweep.h"

namespace kaon::runner {
namespace {

SearchSpace small_space() {
  SearchSpace space;
  space.knobs = {{"block.m", {"1", "2", "4", "8", "16", "32"}},
                 {"num_warps", {"1", "2", "4", "8", "16"}},
                 {"vec", {"1", "2", "4", "8"}}};
  for (const SearchKnob& knob : space.knobs) space.default_config.set(knob.name, knob.choices[0]);
  space.generic_config = space.default_config;
  space.normalize = [](const Config& config) { return config; };
  space.why_illegal = [](const Config&) { return std::string(); };
  space.enumerate = [](size_t) { return std::vector<Config>(1000); };
  return space;
}

std::vector<WeightedShape> small_shapes() {
  std::vector<WeightedShape> shapes;
  for (int64_t n = 64; n <= 16384; n *= 2) shapes.push_back({{n}, 1});
  return shapes;
}

Signature make_signature() {
  Signature signature;
  signature.kernel = "made_up";
  signature.dims = {"N"};
  TensorParam x;
  x.name = "x";
  x.extents = {Expr::slot(1)};
  signature.tensors = {x};
  return signature;
}

/// Compiles at once; wide vectors guard divisibility and a capacity; one config is rejected.
class FakeCompiler final : public CompileService {
 public:
  Status compile(const std::vector<Config>& configs, const std::function<Status(CompileOutcome)>& done) override {
    for (const Config& config : configs) {
      CompileOutcome outcome;
      outcome.variant.config = config;
      outcome.variant.seconds = 0.01;
      if (config.get_int("block.m", 1) == 32 && config.get_int("vec", 1) == 8) {
        outcome.variant.code = Code::kIllegalConfig;
        outcome.variant.message = "too many registers";
      } else {
        VariantInfo info;
        info.symbol = "f";
        info.config = config;
        info.plan.threads = 32;
        if (config.get_int("vec", 1) == 8) info.guards.push_back({GuardKind::kAtMost, 1, 0, 4096});
        outcome.variant.info = variant_to_json(info);
        outcome.variant.resources = "{}";
        outcome.image = config.to_text();
        outcome.variant.image_hash = content_hash(outcome.image);
      }
      ::usleep(200);
      KAON_RETURN_IF_ERROR(done(std::move(outcome)));
    }
    return Status::ok();
  }
};

/// Times of a smooth cost; `noise` makes no two measurements alike, as on a real device.
class FakeDevice final : public MeasureService {
 public:
  /// Writes a byte to `progress` per request, unless that is -1.
  FakeDevice(bool noise, int progress) : noise_(noise), progress_(progress) {}
  Status measure(const Shape& shape, int pass, const std::vector<StoredVariant>& variants,
                 const std::function<Status(const std::vector<StoredCell>&)>& done) override {
    std::vector<StoredCell> timed;
    if (progress_ >= 0 && ::write(progress_, "x", 1) != 1) return {Code::kIo, "nobody watches"};
    for (const StoredVariant& variant : variants) {
      ::usleep(100);
      StoredCell cell;
      cell.config = variant.config;
      cell.shape = shape_text(shape);
      cell.pass = pass;
      cell.seconds = noise_ ? 0.01 * (1 + jitter()) : 0.01;
      if (variant.config.get_int("block.m", 1) == 16 && shape[0] == 64) {
        cell.failure = Failure::kCrash;
        cell.message = "killed by signal 11";
        KAON_RETURN_IF_ERROR(done({cell}));
        continue;
      }
      const double n = std::log2(static_cast<double>(shape[0]));
      const double warps = std::log2(static_cast<double>(variant.config.get_int("num_warps", 1)));
      const double block = std::log2(static_cast<double>(variant.config.get_int("block.m", 1)));
      cell.median_us = 1 + std::pow(warps - (n - 6) / 2, 2) + 0.3 * std::pow(block - 2, 2) +
                       0.5 / static_cast<double>(variant.config.get_int("vec", 1));
      if (noise_) cell.median_us *= 1 + 0.1 * jitter();
      cell.samples = 5;
      timed.push_back(cell);
      ++cells;
    }
    return done(timed);
  }
  int cells = 0;

 private:
  double jitter() {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>((now.tv_nsec / 7) % 1000) / 1000;
  }
  bool noise_;
  int progress_;
};

struct TuneOutcome {
  Status status;
  std::string text;  // the final matrix, as emission would see it
  SweepCounts counts;
};

/// A whole run on the store in `folder`: search, then the final matrix.
TuneOutcome tune_with(bool compile_meanwhile, const std::string& folder, bool noise, bool may_measure, int progress) {
  TuneOutcome result;
  Result<std::unique_ptr<Store>> store = Store::open(folder);
  if (!store.is_ok()) return result.status = store.status(), result;
  FakeCompiler compiler;
  FakeDevice device(noise, progress);
  SweepSetup setup;
  setup.store = store->get();
  setup.compile_context = (*store)->context("compile").value();
  setup.measure_context = (*store)->context("measure").value();
  setup.signature = make_signature();
  setup.compiler = may_measure ? &compiler : nullptr;
  setup.profiler = may_measure ? &device : nullptr;
  setup.cells_per_request = 4;
  setup.compile_meanwhile = compile_meanwhile;
  Sweep sweep(setup);
  const SearchSpace space = small_space();
  const std::vector<WeightedShape> shapes = small_shapes();
  SearchOptions options;
  options.budget_seconds = 12;
  options.final_configs = 10;
  std::unique_ptr<Strategy> strategy = std::move(make_strategy({&space, shapes}, options)).value();
  result.status = sweep.load();
  if (result.status.is_ok()) result.status = sweep.run_search(strategy.get(), shapes);
  if (result.status.is_ok())
    result.status = sweep.fill(strategy->finalists(), {{{100}, 1}, {{5000}, 1}}, /*pass=*/1,
                               [](const Config&, const Shape&) { return true; });
  if (!result.status.is_ok()) return result;
  for (const Config& config : strategy->finalists()) {
    result.text += config.to_text() + ":";
    for (const WeightedShape& s : shapes) {
      const StoredCell* cell = sweep.cell(config, s.shape, 0);
      result.text += cell == nullptr ? " -" : " " + std::to_string(cell->median_us) + failure_name(cell->failure);
    }
    result.text += "\n";
  }
  result.counts = sweep.counts();
  return result;
}

/// With and without compiling while the device measures.
class ResumeTest : public ::testing::TestWithParam<bool> {
 protected:
  static TuneOutcome tune(const std::string& folder, bool noise, bool may_measure = true, int progress = -1) {
    return tune_with(GetParam(), folder, noise, may_measure, progress);
  }
  void SetUp() override {
    char pattern[] = "/tmp/kaon_resume_XXXXXX";
    root_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  /// Runs tune() in a child and kills it with SIGKILL during its `requests`-th request to the device, `us` into it.
  /// True when it was killed at work.
  bool run_and_kill(const std::string& folder, bool noise, int requests, useconds_t us = 0) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      ::_exit(tune(folder, noise, /*may_measure=*/true, ends[1]).status.is_ok() ? 0 : 1);
    }
    ::close(ends[1]);
    char byte = 0;
    for (int i = 0; i < requests && ::read(ends[0], &byte, 1) == 1; ++i) {
    }
    ::usleep(us);
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(ends[0]);
    EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << "a run failed by itself";
    return WIFSIGNALED(status);
  }
  std::string root_;
};

TEST_P(ResumeTest, AKilledRunEndsAsARunInOneGo) {
  const TuneOutcome whole = tune(root_ + "/whole", /*noise=*/false);
  ASSERT_TRUE(whole.status.is_ok()) << whole.status.to_string();
  heuristics::Random random(3);
  int kills = 0;
  for (int i = 0; i < 8; ++i) {
    kills += run_and_kill(root_ + "/killed", /*noise=*/false, 1 + static_cast<int>(random.below(12)), random.below(900))
                 ? 1
                 : 0;
  }
  EXPECT_GE(kills, 3) << "the kills must hit a run at work";
  const TuneOutcome resumed = tune(root_ + "/killed", /*noise=*/false);
  ASSERT_TRUE(resumed.status.is_ok()) << resumed.status.to_string();
  EXPECT_EQ(resumed.text, whole.text);
}

TEST_P(ResumeTest, WithNoiseTheStoreAloneRemakesTheResult) {
  heuristics::Random random(4);
  for (int i = 0; i < 6; ++i) {
    run_and_kill(root_ + "/store", /*noise=*/true, 1 + static_cast<int>(random.below(20)), random.below(900));
  }
  const TuneOutcome resumed = tune(root_ + "/store", /*noise=*/true);
  ASSERT_TRUE(resumed.status.is_ok()) << resumed.status.to_string();
  EXPECT_GT(resumed.counts.reused_cells, 0);
  const TuneOutcome replayed = tune(root_ + "/store", /*noise=*/true, /*may_measure=*/false);
  ASSERT_TRUE(replayed.status.is_ok()) << replayed.status.to_string();
  EXPECT_EQ(replayed.text, resumed.text);
  EXPECT_EQ(replayed.counts.measured, 0);
}

TEST_P(ResumeTest, AResumeMeasuresOnlyWhatIsMissing) {
  const TuneOutcome whole = tune(root_ + "/whole", /*noise=*/false);
  run_and_kill(root_ + "/killed", /*noise=*/false, 20);
  const TuneOutcome resumed = tune(root_ + "/killed", /*noise=*/false);
  EXPECT_LT(resumed.counts.measured, whole.counts.measured);
  EXPECT_LT(resumed.counts.compiled, whole.counts.compiled);
}

TEST_P(ResumeTest, WithoutDeviceAnIncompleteStoreIsAnErrorAndNotAResult) {
  run_and_kill(root_ + "/store", /*noise=*/false, 20);
  const TuneOutcome partial = tune(root_ + "/store", /*noise=*/false, /*may_measure=*/false);
  EXPECT_EQ(partial.status.code(), Code::kNotFound);
  EXPECT_TRUE(partial.text.empty());
}

TEST_P(ResumeTest, GuardsAndRejectionsCostNothingAndAreNoFailures) {
  const TuneOutcome whole = tune(root_ + "/whole", /*noise=*/false);
  ASSERT_TRUE(whole.status.is_ok());
  const TuneOutcome again = tune(root_ + "/whole", /*noise=*/false);
  EXPECT_EQ(again.counts.measured, 0) << "a refused cell must not be asked again";
  EXPECT_EQ(again.counts.compiled + again.counts.rejected, 0);
  EXPECT_EQ(again.text, whole.text);
}

INSTANTIATE_TEST_SUITE_P(Compiling, ResumeTest, ::testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "Meanwhile" : "Before"); });

Config numbered(int i) {
  Config config;
  config.set("block.m", int64_t{i});
  return config;
}

/// Says no at the `fails_at`-th config.
class FailingCompiler final : public CompileService {
 public:
  explicit FailingCompiler(int fails_at) : fails_at_(fails_at) {}
  Status compile(const std::vector<Config>& configs, const std::function<Status(CompileOutcome)>& done) override {
    for (const Config& config : configs) {
      if (compiled++ == fails_at_) return {Code::kUnsupported, "no ptxas"};
      CompileOutcome outcome;
      outcome.variant.config = config;
      KAON_RETURN_IF_ERROR(done(std::move(outcome)));
    }
    return Status::ok();
  }
  std::atomic<int> compiled = 0;

 private:
  int fails_at_;
};

TEST(CompileThreadTest, GivesEveryOutcomeThenNone) {
  FailingCompiler compiler(-1);
  CompileThread thread(&compiler);
  for (int batch = 1; batch <= 3; ++batch) {
    thread.begin({numbered(1), numbered(2), numbered(batch + 2)});
    size_t got = 0;
    for (;;) {
      Result<std::vector<CompileOutcome>> outcomes = thread.wait();
      ASSERT_TRUE(outcomes.is_ok()) << outcomes.status().to_string();
      if (outcomes->empty()) break;
      got += outcomes->size();
    }
    EXPECT_EQ(got, 3u);
  }
}

TEST(CompileThreadTest, AnErrorComesAfterWhatWasCompiledBeforeIt) {
  FailingCompiler compiler(2);
  CompileThread thread(&compiler);
  thread.begin({numbered(1), numbered(2), numbered(3)});
  size_t got = 0;
  Status status = Status::ok();
  while (status.is_ok()) {
    Result<std::vector<CompileOutcome>> outcomes = thread.wait();
    status = outcomes.status();
    if (outcomes.is_ok()) got += outcomes->size();
    ASSERT_FALSE(outcomes.is_ok() && outcomes->empty()) << "the batch ended without its error";
  }
  EXPECT_EQ(got, 2u);
  EXPECT_EQ(status.code(), Code::kUnsupported);
}

TEST(CompileThreadTest, LeavingGivesUpTheRestOfTheBatch) {
  FakeCompiler compiler;  // 200 us each: a second for all of them
  const auto start = std::chrono::steady_clock::now();
  {
    CompileThread thread(&compiler);
    thread.begin(std::vector<Config>(50000, numbered(1)));
    ASSERT_TRUE(thread.wait().is_ok());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

}  // namespace
}  // namespace kaon::runner
