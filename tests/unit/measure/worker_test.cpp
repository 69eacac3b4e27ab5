// The worker as a process: lines in, lines out, exit statuses, and what is left of a crash.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <vector>

#include "tests/unit/measure/vector_add_images.h"

namespace kaon::runner {
namespace {

using ::testing::HasSubstr;

/// aot_measure in a child process.
class Worker {
 public:
  explicit Worker(const char* device) {
    int in[2], out[2];
    EXPECT_EQ(pipe2(in, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(out, O_CLOEXEC), 0);
    child_ = fork();
    if (child_ == 0) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      execl(KAON_AOT_MEASURE, "aot_measure", "--device", device, nullptr);
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = fdopen(out[0], "r");
  }
  ~Worker() {
    if (input_ >= 0) close(input_);
    fclose(output_);
    if (child_ > 0) waitpid(child_, nullptr, 0);
  }

  void send(const std::string& line) {
    const std::string text = line + "\n";
    EXPECT_EQ(write(input_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void send(const Request& request) { send(encode(request)); }

  /// False at the end of the output.
  bool receive(Event* event) {
    char* line = nullptr;
    size_t room = 0;
    const ssize_t n = getline(&line, &room, output_);
    if (n > 0) {
      auto decoded = decode_event(std::string_view(line, static_cast<size_t>(n)));
      EXPECT_TRUE(decoded.is_ok()) << line << decoded.status().to_string();
      if (decoded.is_ok()) *event = *decoded;
    }
    std::free(line);
    return n > 0;
  }

  /// Waits for its end; the status as of waitpid.
  int finish() {
    close(input_);
    input_ = -1;
    int status = 0;
    waitpid(child_, &status, 0);
    child_ = -1;
    return status;
  }

 private:
  pid_t child_ = -1;
  int input_ = -1;
  FILE* output_ = nullptr;
};

TEST(Worker, SaysHelloAnswersAndQuits) {
  Worker worker("host");
  Event event;
  ASSERT_TRUE(worker.receive(&event));
  EXPECT_EQ(event.kind, EventKind::kHello);
  EXPECT_EQ(event.device.hardware, "host");
  EXPECT_GT(event.device.memory_bytes, 0);
  worker.send("this is no JSON");
  ASSERT_TRUE(worker.receive(&event));
  EXPECT_EQ(event.kind, EventKind::kError);
  worker.send(kernel_request("add", kVectorAddIr));
  ASSERT_TRUE(worker.receive(&event));
  EXPECT_EQ(event.kind, EventKind::kOk);
  worker.send(variant_request("v", "add", elementwise_info(3), compile_image("if (i < N) out[i] = x[i] + y[i];")));
  ASSERT_TRUE(worker.receive(&event));
  EXPECT_EQ(event.kind, EventKind::kOk) << event.error.to_string();
  worker.send(measure_request("add", 500, {"v"}));
  bool timed = false;
  while (worker.receive(&event) && event.kind != EventKind::kDone) timed |= event.kind == EventKind::kTimed;
  EXPECT_EQ(event.kind, EventKind::kDone);
  EXPECT_TRUE(timed);
  worker.send("{\"request\": \"quit\"}");
  EXPECT_FALSE(worker.receive(&event));
  const int status = worker.finish();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Worker, EndOfInputIsAQuit) {
  Worker worker("host");
  const int status = worker.finish();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Worker, ACrashLeavesTheNameOfWhoRan) {
  Worker worker("host");
  Event event;
  ASSERT_TRUE(worker.receive(&event));
  worker.send(kernel_request("add", kVectorAddIr));
  worker.send(variant_request("good", "add", elementwise_info(3), compile_image("if (i < N) out[i] = x[i] + y[i];")));
  worker.send(variant_request("bad", "add", elementwise_info(3), compile_image("*(volatile int*)8 = 1;")));
  worker.send(measure_request("add", 500, {"good", "bad"}));
  std::string last_begun, good_outcome;
  while (worker.receive(&event)) {
    if (event.kind == EventKind::kBegin) last_begun = event.variant;
    if (event.kind == EventKind::kChecked && event.variant == "good") good_outcome = failure_name(event.check.failure);
  }
  EXPECT_EQ(last_begun, "bad");
  EXPECT_EQ(good_outcome, "none");
  const int status = worker.finish();
  EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) != 0) << "a fault ends the process";
}

TEST(Worker, DevicesThatDoNotExistAreAnErrorEvent) {
  Worker worker("cuda:99");  // a machine with a driver has no hundred GPUs either
  Event event;
  ASSERT_TRUE(worker.receive(&event));
  EXPECT_EQ(event.kind, EventKind::kError);
  EXPECT_EQ(event.error.code(), Code::kNoDevice) << event.error.to_string();
  EXPECT_FALSE(worker.receive(&event));
  const int status = worker.finish();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

}  // namespace
}  // namespace kaon::runner
