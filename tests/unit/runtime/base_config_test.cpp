// Configs: canonical text, round trips, fingerprints that never change, and errors with their position.
#include "runtime/base/config.h"

#include <gtest/gtest.h>

namespace kaon {
namespace {

Config example_config() {
  Config config;
  config.set("reduce.N", "resident(7)");
  config.set("block.m", 4);
  config.set("evict.x", "cs");
  return config;
}

TEST(Config, CanonicalJsonIsSortedWithBareIntegers) {
  EXPECT_EQ(example_config().to_json(), R"json({"block.m": 4, "evict.x": "cs", "reduce.N": "resident(7)"})json");
  EXPECT_EQ(example_config().to_text(), "block.m=4 evict.x=cs reduce.N=resident(7)");
  EXPECT_EQ(Config().to_json(), "{}");
}

TEST(Config, FingerprintIsFnvOfTheJson) {
  // FNV-1a of "{}" by the published constants: any change here would orphan stored measurements.
  EXPECT_EQ(Config().fingerprint(), 0x08f44b07b5901a25u);
  Config other = example_config();
  EXPECT_EQ(other.fingerprint(), example_config().fingerprint());
  other.set("block.m", 8);
  EXPECT_NE(other.fingerprint(), example_config().fingerprint());
}

TEST(Config, RoundTripsThroughJsonAndText) {
  Result<Config> json = Config::from_json(" {\"reduce.N\" :\"resident(7)\",\n\"evict.x\":\"cs\", \"block.m\":4} ");
  ASSERT_TRUE(json.is_ok()) << json.status().to_string();
  EXPECT_EQ(*json, example_config());
  Result<Config> text = Config::from_text("  evict.x=cs block.m=4  reduce.N=resident(7)");
  ASSERT_TRUE(text.is_ok());
  EXPECT_EQ(*text, example_config());
  Config odd;
  odd.set("quote\"d", "back\\slash\n");
  Result<Config> escaped = Config::from_json(odd.to_json());
  ASSERT_TRUE(escaped.is_ok()) << escaped.status().to_string();
  EXPECT_EQ(*escaped, odd);
}

TEST(Config, QuotedAndBareIntegersAreTheSameValue) {
  EXPECT_EQ(Config::from_json(R"({"a": "4"})")->fingerprint(), Config::from_json(R"({"a": 4})")->fingerprint());
  EXPECT_EQ(Config::from_json(R"({"a": "04"})")->to_json(), R"({"a": "04"})");
}

TEST(Config, ErrorsNameThePosition) {
  auto error = [](const char* json) {
    Result<Config> result = Config::from_json(json);
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument) << json;
    return result.status().message();
  };
  EXPECT_EQ(error(""), "config: position 0: expected '{', got the end");
  EXPECT_EQ(error("{\"a\" 4}"), "config: position 5: expected ':', got '4'");
  EXPECT_EQ(error("{\"a\": 04}"), "config: position 6: expected an integer or a word in quotes, got '0'");
  EXPECT_EQ(error("{\"a\": true}"), "config: position 6: expected an integer or a word in quotes, got 't'");
  EXPECT_EQ(error("{\"a\": 4, \"a\": 5}"), "config: position 9: knob a is given twice");
  EXPECT_EQ(error("{\"a\": 4} x"), "config: position 9: expected the end of the config, got 'x'");
  EXPECT_EQ(error("{\"a\": 4"), "config: position 7: expected ',' or '}', got the end");
  EXPECT_EQ(error("{\"a\": \"b"), "config: position 8: expected '\"', got the end");
  EXPECT_EQ(error("{\"a\": \"\\q\"}"), "config: position 8: unknown escape in a string");
  EXPECT_EQ(Config::from_text("a=1 b").status().message(), "config: expected knob=value, got 'b' at position 4");
  EXPECT_EQ(Config::from_text("a=1 a=2").status().message(), "config: knob a is given twice");
}

TEST(Config, KnobValuesSplitIntoWordAndArgument) {
  EXPECT_EQ(parse_knob_value("4")->argument, 4);
  EXPECT_EQ(parse_knob_value("4")->word, "");
  EXPECT_EQ(parse_knob_value("resident(7)")->word, "resident");
  EXPECT_EQ(parse_knob_value("resident(7)")->argument, 7);
  EXPECT_EQ(parse_knob_value("cs")->argument, -1);
  for (const char* bad : {"", "(7)", "resident(7", "resident(x)", "resident()"}) {
    EXPECT_EQ(parse_knob_value(bad).status().code(), Code::kInvalidArgument) << bad;
  }
}

TEST(Config, GetIntFallsBackForWordsAndAbsence) {
  EXPECT_EQ(example_config().get_int("block.m", 1), 4);
  EXPECT_EQ(example_config().get_int("evict.x", 1), 1);
  EXPECT_EQ(example_config().get_int("vec", 8), 8);
  EXPECT_EQ(example_config().get("vec", "none"), "none");
}

}  // namespace
}  // namespace kaon
