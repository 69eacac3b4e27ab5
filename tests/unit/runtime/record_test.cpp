// What a recording holds: counts of many threads and processes, calls that no table serves, and files that cannot be.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "runtime/kaon.h"
#include "runtime/kaon.hpp"
#include "runtime/launch/record.h"
#include "tests/unit/runtime/in_child.h"
#include "tests/unit/runtime/sample_pack.h"
#include "tests/unit/runtime/stub.h"

namespace kaon {
namespace {

using testing::stub;

class Record : public ::testing::Test {
 protected:
  void SetUp() override {
    stub().reset();
    static testing::LinkedPack linked(testing::sample_pack("scale_rows", "sm90", {"sm_90"}), testing::sample_select);
    kernel_ = std::make_unique<Kernel>("scale_rows", std::initializer_list<const KernelTableList*>{linked.list()});
    path_ = ::testing::TempDir() + "kaon_record_" + std::to_string(getpid());
    remove(path_.c_str());
  }
  void TearDown() override {
    EXPECT_TRUE(stop_recording().is_ok());
    remove(path_.c_str());
  }

  Status call(int64_t m, int64_t n, DType dtype = DType::kF16, Device where = Device::cuda(0)) {
    TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x100000000), dtype, {m, n}, where);
    TensorView w = TensorView::contiguous(reinterpret_cast<void*>(0x200000000), dtype, {n}, where);
    const TensorView* tensors[] = {&x, &w, &x};
    return kernel_->call(nullptr, tensors, 3);
  }

  // Lines up to their count, and the sum of their counts.
  std::map<std::string, int64_t> recorded() {
    std::map<std::string, int64_t> counts;
    std::ifstream file(path_);
    const std::string mark = "\"count\": ";
    for (std::string line; std::getline(file, line);) {
      size_t at = line.find(mark);
      EXPECT_NE(at, std::string::npos) << line;
      EXPECT_EQ(line.back(), '}') << line;
      if (at != std::string::npos) counts[line.substr(0, at)] += std::stoll(line.substr(at + mark.size()));
    }
    return counts;
  }
  static std::string line(const char* dtypes, int64_t m, int64_t n) {
    return std::string("{\"kernel\": \"scale_rows\", \"dtypes\": \"") + dtypes +
           "\", \"dims\": {\"M\": " + std::to_string(m) + ", \"N\": " + std::to_string(n) + "}, ";
  }

  std::unique_ptr<Kernel> kernel_;
  std::string path_;
};

using Counts = std::map<std::string, int64_t>;

TEST_F(Record, CountsShapesFromStartToStop) {
  ASSERT_TRUE(call(1, 256).is_ok());
  ASSERT_EQ(kaon_record_start(path_.c_str()), KAON_OK);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(call(64, 256).is_ok());
  ASSERT_TRUE(call(64, 256, DType::kF32).is_ok());
  EXPECT_TRUE(recorded().empty()) << "nothing is written before a flush";
  ASSERT_EQ(kaon_record_flush(), KAON_OK);
  ASSERT_TRUE(call(64, 256).is_ok());
  ASSERT_TRUE(call(0, 256).is_ok());
  ASSERT_EQ(kaon_record_stop(), KAON_OK);
  ASSERT_TRUE(call(2, 256).is_ok());
  ASSERT_EQ(kaon_record_flush(), KAON_OK);
  EXPECT_EQ(recorded(), (Counts{{line("f16", 64, 256), 4}, {line("f32", 64, 256), 1}}));
}

TEST_F(Record, ThreadsAddUp) {
  ASSERT_TRUE(start_recording(path_).is_ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 1000; ++i) {
        (void)call(1 + i % 2, 256);
        if (i % 100 == 0) (void)flush_recording();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(stop_recording().is_ok());
  EXPECT_EQ(recorded(), (Counts{{line("f16", 1, 256), 4000}, {line("f16", 2, 256), 4000}}));
}

// The driver does not survive a fork, and the tests before have used it: a program of its own is started.
TEST_F(Record, ProcessesShareAFileAndAChildWritesOnlyItsOwn) {
  EXPECT_TRUE(testing::run_alone("Record.DISABLED_ParentAndChild", {{"KAON_TEST_RECORD", path_}}).is_ok);
  EXPECT_EQ(recorded(), (Counts{{line("f16", 1, 256), 1}, {line("f16", 2, 256), 6}}));
}

TEST_F(Record, DISABLED_ParentAndChild) {
  ASSERT_TRUE(start_recording(getenv("KAON_TEST_RECORD")).is_ok());
  int64_t slots[testing::kNumSlots] = {};
  slots[testing::kM] = 1;
  slots[testing::kN] = 256;
  record_call(testing::scale_rows_signature("scale_rows", DType::kF16), slots);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 5; ++i) (void)call(2, 256);
    exit(0);  // the end of a process flushes
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ASSERT_TRUE(call(2, 256).is_ok());
  ASSERT_TRUE(stop_recording().is_ok());
}

TEST_F(Record, CallsThatNoTableServesAreCountedWhereTheKernelIsKnown) {
  ASSERT_TRUE(start_recording(path_).is_ok());
  EXPECT_EQ(call(3, 100, DType::kBF16).code(), Code::kInvalidArgument);
  const StubDevice devices[] = {{90, 232448, 132}, {75, 65536, 40}};
  stub().set_devices(devices, 2);
  stub().set_context(1);
  EXPECT_EQ(call(3, 200, DType::kF16, Device::cuda(1)).code(), Code::kUnsupported);
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x100000000), DType::kBF16, {3, 100});
  const TensorView* two[] = {&x, &x};
  EXPECT_FALSE(kernel_->call(nullptr, two, 2).is_ok());
  ASSERT_TRUE(stop_recording().is_ok());
  EXPECT_EQ(recorded(), (Counts{{line("bf16", 3, 100), 1}, {line("f16", 3, 200), 1}}));
}

TEST_F(Record, AnUnknownKernelSaysHowToBegin) {
  ASSERT_TRUE(start_recording(path_).is_ok());
  EXPECT_NE(Kernel::find("nobody").status().message().find("tune it once"), std::string::npos);
}

TEST_F(Record, FilesThatCannotBeWrittenAreErrorsOfTheRecordingAlone) {
  EXPECT_EQ(start_recording("/nonexistent/file").to_string(),
            "io: recording /nonexistent/file: cannot open: No such file or directory");
  EXPECT_EQ(start_recording("").code(), Code::kInvalidArgument);
  ASSERT_TRUE(start_recording("/dev/full").is_ok());
  EXPECT_TRUE(call(1, 256).is_ok());
  EXPECT_EQ(flush_recording().code(), Code::kIo);
  EXPECT_TRUE(flush_recording().is_ok()) << "nothing is left to write";
}

}  // namespace
}  // namespace kaon
