// A whole session on the host: right variants pass and are timed, each planted fault is found under its name.
#include "aot_runner/measure/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/measure/vector_add_images.h"

namespace kaon::runner {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kRight = "if (i < N) out[i] = x[i] + y[i];";

class SessionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = open_device("host");
    ASSERT_TRUE(device.is_ok());
    session_ = std::make_unique<Session>(std::move(device).value(), [this](const Event& e) { events_.push_back(e); });
    ASSERT_EQ(events_.back().kind, EventKind::kHello);
    send(kernel_request("add", kVectorAddIr));
    send(kernel_request("copy", kCopyIr));
  }

  const Event& send(const Request& request) {
    EXPECT_EQ(session_->handle(request), Session::Next::kGoOn);
    return events_.back();
  }

  void add(const std::string& id, const std::string& statements, VariantInfo info = elementwise_info(3)) {
    const Event& answer = send(variant_request(id, "add", info, compile_image(statements)));
    ASSERT_EQ(answer.kind, EventKind::kOk) << answer.error.to_string();
  }

  /// Measures and returns the end of it; events_ then holds only this request's events.
  const Event& measure(Request request) {
    events_.clear();
    return send(request);
  }

  CheckOutcome outcome(const std::string& id) const {
    CheckOutcome found;
    found.message = "no checked event for " + id;
    found.failure = Failure::kCrash;
    for (const Event& e : events_) {
      if (e.kind == EventKind::kChecked && e.variant == id) found = e.check;
    }
    return found;
  }

  const Timing* timing(const std::string& id) const {
    for (const Event& e : events_) {
      if (e.kind == EventKind::kTimed && e.variant == id) return &e.timing;
    }
    return nullptr;
  }

  /// Checks one faulty variant after a right one, then that the right one still passes: the fault left nothing behind.
  CheckOutcome check_fault(const std::string& statements, int64_t n = 1000, VariantInfo info = elementwise_info(3)) {
    add("right", kRight);
    add("faulty", statements, info);
    Request request = measure_request("add", n, {"right", "faulty"});
    request.measure.options.time = false;
    EXPECT_EQ(measure(request).kind, EventKind::kDone);
    EXPECT_EQ(outcome("right").failure, Failure::kNone) << outcome("right").message;
    const CheckOutcome fault = outcome("faulty");
    add("again", kRight);
    request.measure.variants = {"faulty", "again"};
    EXPECT_EQ(measure(request).kind, EventKind::kDone);
    EXPECT_EQ(outcome("again").failure, Failure::kNone) << outcome("again").message;
    return fault;
  }

  std::unique_ptr<Session> session_;
  std::vector<Event> events_;
};

TEST_F(SessionTest, RightVariantIsCheckedAndTimed) {
  add("right", kRight);
  Request request = measure_request("add", 1000, {"right"});
  request.measure.options.copy = true;
  request.measure.options.twin = true;
  const Event& done = measure(request);
  ASSERT_EQ(done.kind, EventKind::kDone) << done.error.to_string();
  EXPECT_EQ(outcome("right").failure, Failure::kNone) << outcome("right").message;
  EXPECT_EQ(outcome("right").compared, 1000);
  for (const char* id : {"right", "twin", "copy"}) {
    ASSERT_NE(timing(id), nullptr) << id;
    EXPECT_GT(timing(id)->median_us, 0) << id;
    EXPECT_EQ(timing(id)->bytes, 12000) << id;
  }
  EXPECT_GE(timing("right")->samples, 1);
  EXPECT_TRUE(std::all_of(events_.begin(), events_.end(), [](const Event& e) { return e.request == 77; }));
  EXPECT_EQ(events_[0].kind, EventKind::kBegin) << "the parent must know who is running when the worker dies";
}

TEST_F(SessionTest, EmptyTensorsAreNothingToDo) {
  add("right", kRight);
  EXPECT_EQ(measure(measure_request("add", 0, {"right"})).kind, EventKind::kDone);
  EXPECT_EQ(outcome("right").failure, Failure::kNone) << outcome("right").message;
}

TEST_F(SessionTest, WrongResultInOneElement) {
  const CheckOutcome fault = check_fault("if (i < N) out[i] = x[i] + y[i] + (i == 517 ? 1e-3f : 0);");
  EXPECT_EQ(fault.failure, Failure::kWrongResult);
  EXPECT_THAT(fault.message, AllOf(HasSubstr("out[517] is "), HasSubstr("1 of 1000 compared elements are wrong")));
}

TEST_F(SessionTest, WrongResultOutsideTheOraclesSample) {
  const CheckOutcome fault = check_fault("if (i < N) out[i] = x[i] + y[i] + (i == 123456 ? 1 : 0);", 200000);
  EXPECT_EQ(fault.failure, Failure::kWrongResult);
  EXPECT_THAT(fault.message, HasSubstr("out[123456] is "));
}

TEST_F(SessionTest, AWrongVariantThatWasTrustedFirstIsFoundOut) {
  add("right", kRight);
  add("right2", kRight);
  std::string statements = "if (i < N) out[i] = x[i] + y[i] + (i == 123456 ? 1 : 0);";
  add("faulty", statements);
  for (int seed = 1; seed < 6; ++seed) {  // whatever the sample is
    Request request = measure_request("add", 200000, {"faulty", "right", "right2"});
    request.measure.options.seed = static_cast<uint64_t>(seed);
    request.measure.options.oracle_programs = 3;
    ASSERT_EQ(measure(request).kind, EventKind::kDone) << events_.back().error.to_string();
    EXPECT_EQ(outcome("faulty").failure, Failure::kWrongResult);
    EXPECT_THAT(outcome("faulty").message, HasSubstr("out[123456]"));
    EXPECT_EQ(outcome("right").failure, Failure::kNone) << outcome("right").message;
    EXPECT_EQ(outcome("right2").failure, Failure::kNone) << outcome("right2").message;
    EXPECT_EQ(timing("faulty"), nullptr);
    EXPECT_NE(timing("right"), nullptr);
  }
}

TEST_F(SessionTest, WriteIntoTheRedZone) {
  CheckOutcome fault = check_fault("if (i < N) out[i] = x[i] + y[i]; if (i == 0) out[N + 2] = 1;");
  EXPECT_EQ(fault.failure, Failure::kRedZone);
  EXPECT_THAT(fault.message, HasSubstr("bytes past the end of out"));
  fault = check_fault("if (i < N) out[i] = x[i] + y[i]; if (i == 0) y[-1] = 1;");
  EXPECT_EQ(fault.failure, Failure::kRedZone);
  EXPECT_THAT(fault.message, HasSubstr("4 bytes before the start of y"));
}

TEST_F(SessionTest, ModifiedInput) {
  const CheckOutcome fault = check_fault("if (i < N) { out[i] = x[i] + y[i]; y[i] = 0; }");
  EXPECT_EQ(fault.failure, Failure::kInputModified);
  EXPECT_THAT(fault.message, HasSubstr("changed its input y"));
}

TEST_F(SessionTest, UnwrittenElement) {
  const CheckOutcome fault = check_fault("if (i < N && i != 77) out[i] = x[i] + y[i];");
  EXPECT_EQ(fault.failure, Failure::kNotWritten);
  EXPECT_THAT(fault.message, HasSubstr("left out[77] unwritten"));
}

TEST_F(SessionTest, TrapIsTheMachinesFinding) {
  const CheckOutcome fault = check_fault("if (i == 70) self->table->trap(self, 4);");
  EXPECT_EQ(fault.failure, Failure::kMachine);
  EXPECT_THAT(fault.message, HasSubstr("block 1, thread 6, site 4: trap"));
}

TEST_F(SessionTest, ResultsThatLookLikePoisonAreResults) {
  const std::string right = "if (i < s[2]) ((int*)s[1])[i] = ((int*)s[0])[i];";
  const std::string faulty = "if (i < s[2] && i != 9) ((int*)s[1])[i] = ((int*)s[0])[i];";
  send(variant_request("right", "copy", elementwise_info(2), compile_image(right)));
  send(variant_request("faulty", "copy", elementwise_info(2), compile_image(faulty)));
  Request request = measure_request("copy", 300, {"right", "faulty"});
  request.measure.options.recipes["x"] = {RecipeKind::kConstant, -1, 0};
  ASSERT_EQ(measure(request).kind, EventKind::kDone);
  EXPECT_EQ(outcome("right").failure, Failure::kNone) << outcome("right").message;
  EXPECT_EQ(outcome("faulty").failure, Failure::kNotWritten);
  EXPECT_THAT(outcome("faulty").message, HasSubstr("out[9]"));
}

TEST_F(SessionTest, GuardsKeepAVariantFromAShape) {
  VariantInfo info = elementwise_info(3);
  info.guards = {{GuardKind::kDivisible, 3, 0, 8}, {GuardKind::kDivisible, 0, 0, 16}};
  add("guarded", kRight, info);
  measure(measure_request("add", 1001, {"guarded"}));
  EXPECT_EQ(outcome("guarded").failure, Failure::kGuard);
  EXPECT_EQ(outcome("guarded").message, "N % 8 == 0 does not hold, N is 1001");
  EXPECT_EQ(timing("guarded"), nullptr);

  Request request = measure_request("add", 1000, {"guarded"});
  measure(request);
  EXPECT_EQ(outcome("guarded").failure, Failure::kNone) << outcome("guarded").message;
  request.measure.shape.base_offset = 1;
  measure(request);
  EXPECT_EQ(outcome("guarded").failure, Failure::kGuard) << "pointers are moved by one element";
  EXPECT_THAT(outcome("guarded").message, HasSubstr("x % 16 == 0 does not hold"));
}

TEST_F(SessionTest, MisalignedBuffersAreCheckedLikeOthers) {
  add("right", kRight);
  Request request = measure_request("add", 999, {"right"});
  request.measure.shape.base_offset = 3;
  measure(request);
  EXPECT_EQ(outcome("right").failure, Failure::kNone) << outcome("right").message;
}

TEST_F(SessionTest, InPlaceCallsStartFromTheSameInputsEachTime) {
  add("right", kRight);
  add("twice", "if (i < N) out[i] = x[i] + 2 * y[i];");
  Request request = measure_request("add", 1000, {"right", "twice", "right2"});
  add("right2", kRight);
  request.measure.shape.in_place = true;
  ASSERT_EQ(measure(request).kind, EventKind::kDone) << events_.back().error.to_string();
  EXPECT_EQ(outcome("right").failure, Failure::kNone) << outcome("right").message;
  EXPECT_EQ(outcome("twice").failure, Failure::kWrongResult);
  EXPECT_EQ(outcome("right2").failure, Failure::kNone) << outcome("right2").message;
}

TEST_F(SessionTest, ZeroStepsRunBeforeTheKernel) {
  VariantInfo info = elementwise_info(3);
  info.plan.steps = {{StepKind::kZero, 2}, {StepKind::kKernel, 0}};
  add("accumulate", "if (i < N) out[i] += x[i] + y[i];", info);
  measure(measure_request("add", 1000, {"accumulate"}));
  EXPECT_EQ(outcome("accumulate").failure, Failure::kNone) << outcome("accumulate").message;
  ASSERT_NE(timing("accumulate"), nullptr);
}

TEST_F(SessionTest, ImagesThatDoNotLoadAreLaunchFailures) {
  VariantInfo missing = elementwise_info(3);
  missing.symbol = "another";
  add("missing", kRight, missing);
  send(variant_request("damaged", "add", elementwise_info(3), compile_image(kRight).substr(0, 3000)));
  VariantInfo huge = elementwise_info(3);
  huge.plan.shared_bytes = 1 << 20;
  add("huge", kRight, huge);
  add("right", kRight);
  ASSERT_EQ(measure(measure_request("add", 100, {"missing", "damaged", "huge", "right"})).kind, EventKind::kDone);
  EXPECT_EQ(outcome("missing").failure, Failure::kLaunch);
  EXPECT_THAT(outcome("missing").message, HasSubstr("another"));
  EXPECT_EQ(outcome("damaged").failure, Failure::kLaunch);
  EXPECT_EQ(outcome("huge").failure, Failure::kLaunch);
  EXPECT_THAT(outcome("huge").message, AllOf(HasSubstr("1048576"), HasSubstr("232448")));
  EXPECT_NE(timing("right"), nullptr);
}

TEST_F(SessionTest, BadRequestsAreErrorsThatSayWhatIsWrong) {
  add("right", kRight);
  const auto error = [&](const Request& request) { return measure(request).error.message(); };
  EXPECT_THAT(error(measure_request("none", 8, {})), HasSubstr("no kernel none"));
  EXPECT_THAT(error(measure_request("add", 8, {"wrong"})), HasSubstr("no variant wrong"));
  EXPECT_THAT(error(measure_request("add", 8, {"right", "right"})), HasSubstr("named twice"));
  EXPECT_THAT(error(measure_request("add", -1, {"right"})), HasSubstr("dim N is -1"));
  Request request = measure_request("add", 8, {"right"});
  request.measure.shape.dims["K"] = 3;
  EXPECT_THAT(error(request), HasSubstr("no dim named K"));
  request = measure_request("add", 8, {"right"});
  request.measure.shape.dims.clear();
  EXPECT_THAT(error(request), HasSubstr("no value for dim N"));
  request = measure_request("add", 8, {"right"});
  request.measure.options.recipes["out"] = {};
  EXPECT_THAT(error(request), HasSubstr("out, which is no input"));
  EXPECT_THAT(error(kernel_request("bad", "kernel { what")), HasSubstr("kernel bad: "));
  VariantInfo info = elementwise_info(99);
  EXPECT_EQ(measure(variant_request("v", "add", info, "x")).kind, EventKind::kError);
  info = elementwise_info(3);
  info.plan.threads = 33;
  EXPECT_THAT(error(variant_request("v", "add", info, "x")), HasSubstr("33 threads"));
}

TEST_F(SessionTest, DroppedVariantsAreGone) {
  add("right", kRight);
  Request drop;
  drop.kind = RequestKind::kDrop;
  drop.drop.variants = {"right", "unknown"};
  EXPECT_EQ(send(drop).kind, EventKind::kOk);
  EXPECT_EQ(measure(measure_request("add", 8, {"right"})).kind, EventKind::kError);
}

TEST_F(SessionTest, CalibrationKnowsTheCopyAndTheNoise) {
  Request calibrate;
  calibrate.kind = RequestKind::kCalibrate;
  const Event& event = send(calibrate);
  ASSERT_EQ(event.kind, EventKind::kCalibrated) << event.error.to_string();
  EXPECT_GE(event.calibration.copy.size(), 3u);
  EXPECT_GT(event.calibration.copy_gb_per_s, 0.01);
  EXPECT_LE(event.calibration.noise_median, event.calibration.noise_p90);
  EXPECT_LE(event.calibration.noise_p90, event.calibration.noise_max);
}

TEST(OpenDevice, UnknownNamesAreRefused) {
  for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x"}) {
    EXPECT_EQ(open_device(name).status().code(), Code::kInvalidArgument) << name;
  }
}

}  // namespace
}  // namespace kaon::runner
