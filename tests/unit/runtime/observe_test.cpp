// What a program can learn of the runtime while it serves: metrics, explanations, the bundle's name, the log's file;
// and packs that are replaced and released.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/kaon.h"
#include "tests/unit/runtime/in_child.h"
#include "tests/unit/runtime/stub_launch.h"

namespace kaon {
namespace {

using testing::in_child;
using testing::sample_pack;
using testing::stub;

class Observe : public testing::StubLaunchTest {
 protected:
  void SetUp() override {
    StubLaunchTest::SetUp();
    path_ = ::testing::TempDir() + "kaon_observe_" + std::to_string(getpid()) + "_" + name_ + "_";
  }
  void TearDown() override {
    remove(path_.c_str());
    StubLaunchTest::TearDown();
  }
  // A pack of this test's kernel, told from others by `mark`.
  Status load(int mark, const std::vector<std::string>& targets = {"sm_90"}) {
    PackContents contents = sample_pack(name_, "sm90", targets);
    for (PackTable& table : contents.records.tables) {
      for (PackVariant& variant : table.variants) variant.info.config.set("mark", mark);
    }
    std::ofstream(path_ + ".new", std::ios::binary) << *write_pack(contents);
    if (rename((path_ + ".new").c_str(), path_.c_str()) != 0) return {Code::kIo, "cannot rename"};
    return load_pack(path_);
  }
  std::string served(const Kernel& kernel) {
    CallInfo info;
    Status status = call(kernel, 64, 256, &info);
    return status.is_ok() ? info.variant->config : status.to_string();
  }
  Result<std::string> explain(const Kernel& kernel, int64_t m, int64_t n, int sm) {
    Result<std::string> text = Status(Code::kInternal, "not asked");
    (void)with_tensors(m, n, DType::kF16, [&](const TensorView* const* tensors) {
      text = kernel.explain(tensors, 3, nullptr, 0, sm);
      return Status::ok();
    });
    return text;
  }
  static std::string read(const std::string& path) {
    std::stringstream stream;
    stream << std::ifstream(path).rdbuf();
    return stream.str();
  }
  // Files of this test that the process has mapped.
  int mapped() {
    int count = 0;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) count += line.find(path_) != std::string::npos;
    return count;
  }

  std::string path_;
};

TEST_F(Observe, MetricsAreLinesThatPrometheusReads) {
  Kernel kernel = sm90_kernel();
  ASSERT_TRUE(call(kernel, 64, 256).is_ok());
  ASSERT_TRUE(call(kernel, 65, 256).is_ok());
  const std::string text = metrics_text();
  EXPECT_NE(text.find("# TYPE kaon_calls_total counter\n"), std::string::npos);
  EXPECT_NE(text.find("kaon_calls_total{kernel=\"" + name_ + "\",match=\"tuned\"} 1\n"), std::string::npos) << text;
  EXPECT_NE(text.find("kaon_calls_total{kernel=\"" + name_ + "\",match=\"interpolated\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("kaon_calls_total{kernel=\"" + name_ + "\",match=\"generic\"} 0\n"), std::string::npos);
  EXPECT_NE(text.find("kaon_errors_total{code=\"driver\"} "), std::string::npos);
  EXPECT_NE(text.find("kaon_info{version=\"0."), std::string::npos);
  // Every line is a comment, or a name with labels and one number.
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("# HELP kaon_", 0) == 0 || line.rfind("# TYPE kaon_", 0) == 0) continue;
    const size_t end = line.rfind("} ");
    ASSERT_TRUE(line.rfind("kaon_", 0) == 0 && end != std::string::npos) << line;
    EXPECT_EQ(line.find_first_not_of("0123456789", end + 2), std::string::npos) << line;
  }
}

TEST_F(Observe, TextsAreCutToTheCallersBuffer) {
  size_t length = 0;
  ASSERT_EQ(kaon_metrics_text(nullptr, 0, &length), KAON_OK);
  EXPECT_EQ(length, metrics_text().size());
  char buffer[16] = "xxxxxxxxxxxxxxx";
  ASSERT_EQ(kaon_metrics_text(buffer, 8, nullptr), KAON_OK);
  EXPECT_STREQ(buffer, "# HELP ");
  EXPECT_EQ(buffer[8], 'x') << "nothing beyond what was given";
  EXPECT_EQ(kaon_metrics_text(nullptr, 8, nullptr), KAON_INVALID_ARGUMENT);
}

TEST_F(Observe, AnExplanationNamesThePathTheGuardsAndTheRivals) {
  Kernel kernel = sm90_kernel();
  Result<std::string> text = explain(kernel, 100, 8192, 90);
  ASSERT_TRUE(text.is_ok()) << text.status().to_string();
  EXPECT_EQ(*text, name_ + R"( f16 with M = 100, N = 8192 on H200 (sm90)
table sm90
  2 shapes measured; this shape lies between them
  nearest measured: 64x8192, 64x256
path
  N <= 4096? N is 8192: no
  leaf 1, 1 measured shapes end here
choices, best first
  variant 1 (block.m=1): serves; its guards: N >= 4097
    image sm_90, measured here; 100 blocks of 128 threads, 147456 bytes of shared memory
    evidence: first choice of no measured shape
  variant 2 (block.m=2): would do as well
  variant 3 (block.m=8): would do as well
this table elsewhere
  sm_80: variant 3 (block.m=8), image sm_80, cross-compiled, not run
  sm_86: variant 3 (block.m=8), image sm_80, cross-compiled, not run
  sm_89: variant 3 (block.m=8), image sm_80, cross-compiled, not run
  sm_100: generic variant has no image that runs on sm100, only sm_90 cubin sm_80 cubin sm_120 cubin
  sm_103: generic variant has no image that runs on sm103, only sm_90 cubin sm_80 cubin sm_120 cubin
  sm_120: variant 2 (block.m=2), image sm_120, cross-compiled, not run
  sm_121: variant 2 (block.m=2), image sm_120, cross-compiled, not run
)");
}

TEST_F(Observe, AnExplanationForAChipThatIsNotHereTouchesNoDriver) {
  Kernel kernel = sm90_kernel();
  Result<std::string> text = explain(kernel, 64, 100000, 120);
  ASSERT_TRUE(text.is_ok()) << text.status().to_string();
  EXPECT_NE(text->find("on RTX 5090 (sm120)\ntable sm90, tuned for older hardware"), std::string::npos) << *text;
  EXPECT_NE(text->find("out of range: N = 100000 is not in 64..16384\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("variant 1 (block.m=1): needs 147456 bytes of shared memory, the device has 101376\n"),
            std::string::npos)
      << *text;
  EXPECT_NE(text->find("variant 2 (block.m=2): N <= 65536 does not hold, N is 100000\n"), std::string::npos) << *text;
  EXPECT_NE(text->find("variant 3 (block.m=8): serves; its guards: none\n"), std::string::npos) << *text;
  for (const char* symbol : {"cuCtxGetId", "cuDeviceGetAttribute", "cuLibraryLoadData"}) {
    EXPECT_EQ(stub().calls(symbol), 0u) << symbol;
  }
  EXPECT_EQ(explain(kernel, 64, 256, 130).status().to_string(), "not_found: no facts of a chip sm_130 are known");
}

TEST_F(Observe, AnExplanationAgreesWithTheCall) {
  Kernel kernel = sm90_kernel();
  for (int64_t n : {64, 255, 256, 4096, 4097, 70000}) {
    CallInfo info;
    ASSERT_TRUE(call(kernel, 64, n, &info).is_ok());
    Result<std::string> text = explain(kernel, 64, n, 0);
    ASSERT_TRUE(text.is_ok()) << text.status().to_string();
    const std::string expected =
        "variant " + std::to_string(info.variant->index) + " (" + info.variant->config + "): serves;";
    EXPECT_NE(text->find(expected), std::string::npos) << *text;
  }
}

TEST_F(Observe, TheBundlesNameChangesWithWhatDecides) {
  auto id = [] {
    Result<uint64_t> made = bundle_id();
    EXPECT_TRUE(made.is_ok()) << made.status().to_string();
    return made.is_ok() ? *made : 0;
  };
  const uint64_t before = id();
  Kernel without_tables(name_.c_str(), {});
  EXPECT_EQ(id(), before) << "a name alone decides nothing";
  ASSERT_TRUE(load(1).is_ok());
  const uint64_t first = id();
  EXPECT_NE(first, before);
  EXPECT_EQ(id(), first);
  EXPECT_EQ(in_child([&] { return std::to_string(id()); }), std::to_string(first));
  ASSERT_TRUE(load(2).is_ok());
  const uint64_t second = id();
  EXPECT_NE(second, first);
  ASSERT_TRUE(force_variant("1").is_ok());
  EXPECT_NE(id(), second);
  ASSERT_TRUE(force_variant("").is_ok());
  EXPECT_EQ(id(), second);
  ASSERT_TRUE(reclaim().is_ok());
  EXPECT_EQ(id(), second) << "what was replaced decides nothing";
  uint64_t through_c = 0;
  ASSERT_EQ(kaon_bundle_id(&through_c), KAON_OK);
  EXPECT_EQ(through_c, second);
}

TEST_F(Observe, ReplacedPacksAreReleasedWhenTheProgramSaysSo) {
  ASSERT_TRUE(load(0).is_ok());
  Kernel kernel = *Kernel::find(name_);
  const int code_before = stub().live("library");
  EXPECT_EQ(served(kernel), "block.m=4 mark=0");
  for (int mark = 1; mark <= 5; ++mark) {
    ASSERT_TRUE(load(mark).is_ok());
    EXPECT_EQ(served(kernel), "block.m=4 mark=" + std::to_string(mark));
  }
  EXPECT_EQ(stub().live("library") - code_before, 6) << "nothing is unloaded by itself";
  EXPECT_EQ(mapped(), 6);
  ASSERT_EQ(kaon_reclaim(), KAON_OK);
  EXPECT_EQ(stub().live("library") - code_before, 1);
  EXPECT_EQ(mapped(), 1);
  EXPECT_EQ(served(kernel), "block.m=4 mark=5");
  for (int mark = 6; mark < 100; ++mark) {
    ASSERT_TRUE(load(mark).is_ok());
    EXPECT_EQ(served(kernel), "block.m=4 mark=" + std::to_string(mark));
    ASSERT_TRUE(reclaim().is_ok());
  }
  EXPECT_EQ(stub().live("library") - code_before, 1);
  EXPECT_EQ(mapped(), 1);
}

TEST_F(Observe, APackIsKeptForWhatItsSuccessorCannotServe) {
  ASSERT_TRUE(load(0, {"sm_90", "sm_80"}).is_ok());
  Kernel kernel = *Kernel::find(name_);
  EXPECT_EQ(served(kernel), "block.m=4 mark=0");
  ASSERT_TRUE(load(1, {"sm_90"}).is_ok());
  EXPECT_EQ(served(kernel), "block.m=4 mark=1");
  ASSERT_TRUE(reclaim().is_ok());
  EXPECT_EQ(mapped(), 2) << "only the first has an image for sm_80";
  EXPECT_EQ(served(kernel), "block.m=4 mark=1");
}

TEST_F(Observe, CodeThatCannotBeUnloadedIsReportedAndTheRestGoesOn) {
  ASSERT_TRUE(load(0).is_ok());
  Kernel kernel = *Kernel::find(name_);
  EXPECT_EQ(served(kernel), "block.m=4 mark=0");
  ASSERT_TRUE(load(1).is_ok());
  EXPECT_EQ(served(kernel), "block.m=4 mark=1");
  stub().fail("cuLibraryUnload", 700);
  EXPECT_EQ(reclaim().to_string(), "driver: cuLibraryUnload: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  stub().fail("cuLibraryUnload", 0);
  EXPECT_TRUE(reclaim().is_ok());
  EXPECT_EQ(served(kernel), "block.m=4 mark=1");
}

TEST_F(Observe, TheEnvironmentNamesALogFileAndALevel) {
  // The log reads its environment once per process; this one has read it, so a program of its own is started.
  auto run = [&](const char* level) {
    const std::string pattern = path_ + ".%i.log";
    const testing::ProgramEnd end =
        testing::run_alone("Observe.DISABLED_OneFallback", {{"KAON_LOG_FILE", pattern}, {"KAON_LOG_LEVEL", level}});
    const std::string pid = std::to_string(end.pid);
    const std::string file = path_ + "." + pid + ".log";
    std::string text = read(file);
    remove(file.c_str());
    for (size_t at; (at = text.find("kaon[" + pid + "]")) != std::string::npos;) text.replace(at, 6 + pid.size(), "-");
    return text;
  };
  const std::string all = run("3");
  EXPECT_NE(all.find("- info: scale_rows_1 f16 on Stub 90 (sm90, device 0): table sm90, 4 of 4 variants run here\n"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("- warning: scale_rows_1 f16 on Stub 90 (sm90), out_of_range: N = 100000 is not in"),
            std::string::npos)
      << all;
  const std::string warnings = run("2");
  EXPECT_EQ(warnings.find("info"), std::string::npos) << warnings;
  EXPECT_NE(warnings.find("out_of_range"), std::string::npos) << warnings;
  EXPECT_EQ(run("0"), "");
}

TEST_F(Observe, DISABLED_OneFallback) {
  set_log_sink(nullptr, nullptr);
  ASSERT_TRUE(call(sm90_kernel(), 64, 100000).is_ok());
}

}  // namespace
}  // namespace kaon
