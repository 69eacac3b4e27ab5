// The protocol: every message survives the way to a line of JSON and back, and broken lines name their field.
#include "aot_runner/measure/protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kaon::runner {
namespace {

using ::testing::HasSubstr;

VariantInfo sample_variant() {
  VariantInfo info;
  info.symbol = "softmax_f16_0123";
  info.config.set("block.m", 4);
  info.config.set("reduce.N", "resident(7)");
  info.guards = {
      {GuardKind::kDivisible, 3, 0, 8}, {GuardKind::kCongruent, 0, 1, 16}, {GuardKind::kSpanAtMost, 2, 0, 1ll << 31}};
  info.plan.steps = {{StepKind::kZero, 1}, {StepKind::kKernel, 0}};
  info.plan.programs = ceil_div(Expr::slot(2), Expr(4));
  info.plan.threads = 128;
  info.plan.shared_bytes = 512;
  info.plan.cluster = 2;
  info.requirements = {1024, 72, 128};
  return info;
}

TEST(Protocol, VariantSurvivesTheWay) {
  const std::string json = variant_to_json(sample_variant());
  auto back = variant_from_json(json);
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(variant_to_json(*back), json);
  EXPECT_EQ(back->config, sample_variant().config);
  EXPECT_EQ(back->plan.programs, sample_variant().plan.programs);
  ASSERT_EQ(back->guards.size(), 3u);
  EXPECT_EQ(back->guards[1].kind, GuardKind::kCongruent);
  EXPECT_EQ(back->guards[1].other, 1);
  EXPECT_EQ(back->guards[2].value, 1ll << 31);
  EXPECT_EQ(back->plan.steps[0].kind, StepKind::kZero);
  EXPECT_EQ(back->requirements.registers_per_thread, 72u);
}

TEST(Protocol, RequestsSurviveTheWay) {
  Request variant;
  variant.kind = RequestKind::kVariant;
  variant.number = 7;
  variant.variant = {"v1", "k1", sample_variant(), "",
                     std::string("\x7f"
                                 "ELF\0\xff\n\"",
                                 8)};
  auto back = decode_request(encode(variant));
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(back->number, 7u);
  EXPECT_EQ(back->variant.image, variant.variant.image);
  EXPECT_EQ(encode(*back), encode(variant));

  Request measure;
  measure.kind = RequestKind::kMeasure;
  measure.measure.kernel = "k1";
  measure.measure.shape.dims = {{"M", 4096}, {"N", 12544}};
  measure.measure.shape.scalars = {{"eps", 1e-5}};
  measure.measure.shape.base_offset = 3;
  measure.measure.variants = {"v1", "v2"};
  measure.measure.options.seed = UINT64_MAX;
  measure.measure.options.recipes["labels"] = {RecipeKind::kUniform, 0, 99};
  measure.measure.options.recipes["offsets"] = {RecipeKind::kHalfOffsets, 0, 4096};
  back = decode_request(encode(measure));
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  EXPECT_EQ(back->measure.shape, measure.measure.shape);
  EXPECT_EQ(back->measure.options, measure.measure.options);
  EXPECT_EQ(back->measure.variants, measure.measure.variants);

  for (const RequestKind kind :
       {RequestKind::kKernel, RequestKind::kCalibrate, RequestKind::kDrop, RequestKind::kQuit}) {
    Request request;
    request.kind = kind;
    request.kernel = {"k", "kernel {\n \"text\" }"};
    request.drop.variants = {"a", "b"};
    back = decode_request(encode(request));
    ASSERT_TRUE(back.is_ok()) << back.status().to_string();
    EXPECT_EQ(back->kind, kind);
    EXPECT_EQ(encode(*back), encode(request));
  }
}

TEST(Protocol, EventsSurviveTheWay) {
  Event hello;
  hello.kind = EventKind::kHello;
  hello.device.name = "NVIDIA H200";
  hello.device.memory_bytes = 150ll << 30;
  Event error;
  error.kind = EventKind::kError;
  error.error = Status(Code::kNoDevice, "no driver");
  Event begin;
  begin.kind = EventKind::kBegin;
  begin.variant = "v1";
  begin.phase = "check";
  Event checked;
  checked.kind = EventKind::kChecked;
  checked.check = {Failure::kRedZone, "wrote before x", 12, std::numeric_limits<double>::infinity(), 0.25};
  Event timed;
  timed.kind = EventKind::kTimed;
  timed.timing = {8.7000000000000011, 0.1, 8.5, 12, true, 16777216};
  Event done;
  done.kind = EventKind::kDone;
  done.summary = {4.1, 0.5, 0.02, 30, true, 1980};
  Event calibrated;
  calibrated.kind = EventKind::kCalibrated;
  calibrated.calibration.copy = {{1 << 24, 9.0}, {1 << 30, 270.5}};
  Event ok;
  for (Event* event : {&hello, &error, &begin, &checked, &timed, &done, &calibrated, &ok}) {
    event->request = 99;
    const std::string line = encode(*event);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    auto back = decode_event(line);
    ASSERT_TRUE(back.is_ok()) << line << back.status().to_string();
    EXPECT_EQ(encode(*back), line);
    EXPECT_EQ(back->request, 99u);
  }
  EXPECT_EQ(decode_event(encode(timed))->timing.median_us, 8.7000000000000011);
  EXPECT_TRUE(std::isinf(decode_event(encode(checked))->check.worst_ratio));
  EXPECT_EQ(decode_event(encode(error))->error.code(), Code::kNoDevice);
}

TEST(Protocol, BrokenLinesNameTheirField) {
  const struct {
    const char* line;
    const char* message;
  } cases[] = {
      {"", "expected one JSON object"},
      {"[1]", "expected one JSON object"},
      {"{\"request\": \"measure\"", "expected one JSON object"},
      {"{}", "'request' is missing"},
      {"{\"request\": \"dance\"}", "unknown value 'dance'"},
      {"{\"request\": \"kernel\", \"id\": 3, \"logical_ir\": \"\"}", "'id' is no string"},
      {"{\"request\": \"measure\", \"kernel\": \"k\", \"variants\": [1], \"shape\": {\"dims\": {}}}",
       "'variants[0]' is no string"},
      {"{\"request\": \"measure\", \"kernel\": \"k\", \"variants\": [], \"shape\": {\"dims\": {\"M\": 1.5}}}",
       "'dims.M' is no integer"},
      {"{\"request\": \"measure\", \"kernel\": \"k\", \"variants\": [], \"shape\": {\"dims\": {\"M\": "
       "18446744073709551615}}}",
       "'dims.M' is out of range"},
      {"{\"request\": \"variant\", \"id\": \"v\", \"kernel\": \"k\", \"info\": {}}",
       "request.info: field 'symbol' is missing"},
      {"{\"request\": \"quit\", \"number\": -1}", "'number' is out of range"},
  };
  for (const auto& c : cases) {
    auto request = decode_request(c.line);
    ASSERT_FALSE(request.is_ok()) << c.line;
    EXPECT_EQ(request.status().code(), Code::kInvalidArgument);
    EXPECT_THAT(request.status().message(), HasSubstr(c.message)) << c.line;
  }
}

TEST(Protocol, OtherProtocolVersionsAreRefused) {
  Event hello;
  hello.kind = EventKind::kHello;
  std::string line = encode(hello);
  line.replace(line.find("\"protocol\":1"), 12, "\"protocol\":2");
  EXPECT_THAT(decode_event(line).status().message(), HasSubstr("protocol"));
}

TEST(Protocol, FailureNamesAreStable) {
  const char* names[] = {"none",           "guard",       "launch",  "wrong_result", "red_zone",
                         "input_modified", "not_written", "machine", "timeout",      "crash"};
  for (size_t i = 0; i < std::size(names); ++i) {
    Failure failure = Failure::kNone;
    EXPECT_STREQ(failure_name(static_cast<Failure>(i)), names[i]);
    EXPECT_TRUE(parse_failure(names[i], &failure));
    EXPECT_EQ(failure, static_cast<Failure>(i));
  }
  Failure failure = Failure::kNone;
  EXPECT_FALSE(parse_failure("bored", &failure));
}

}  // namespace
}  // namespace kaon::runner
