// Shapes files: what each form expands to, and what each mistake is answered with.
#include "aot_runner/spec/shapes_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "aot_runner/spec/record_file.h"

namespace kaon::runner {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<std::string> kDims = {"M", "N"};

ShapesSpec must_parse(const std::string& text) {
  Result<ShapesSpec> spec = parse_shapes(text, "s.json", kDims);
  EXPECT_TRUE(spec.is_ok()) << spec.status().to_string();
  return spec.is_ok() ? std::move(spec).value() : ShapesSpec();
}

std::vector<Shape> shapes_of(const std::vector<WeightedShape>& set) {
  std::vector<Shape> shapes;
  for (const WeightedShape& s : set) shapes.push_back(s.shape);
  return shapes;
}

TEST(ShapesFile, ListsMultiplyAndTheLastDimRunsFastest) {
  const ShapesSpec spec = must_parse(R"({"train": [{"M": [1, 16], "N": [256, 1000]}], "held_out": []})");
  EXPECT_THAT(shapes_of(spec.train), ElementsAre(Shape{1, 256}, Shape{1, 1000}, Shape{16, 256}, Shape{16, 1000}));
}

TEST(ShapesFile, RangesStepToTheirEndAndGeometricOnesMultiply) {
  const ShapesSpec spec = must_parse(
      R"({"train": [{"M": {"from": 1, "to": 100, "factor": 4}, "N": {"from": 256, "to": 520, "step": 128}}], "held_out": []})");
  EXPECT_EQ(spec.train.size(), 4u * 3u);
  EXPECT_EQ(spec.train.back().shape, (Shape{64, 512}));
}

TEST(ShapesFile, PositionalEntriesAndWeightsAndRules) {
  const ShapesSpec spec = must_parse(
      R"({"train": [[4096, 127], {"M": 8, "N": 64, "weight": 2}], "weights": [{"M": {"to": 64}, "weight": 4}], "held_out": []})");
  ASSERT_EQ(spec.train.size(), 2u);
  EXPECT_EQ(spec.train[0].weight, 1);
  EXPECT_EQ(spec.train[1].weight, 8);
}

TEST(ShapesFile, DuplicatesKeepTheLargerWeight) {
  const ShapesSpec spec = must_parse(R"({"train": [[1, 2], {"M": 1, "N": [2, 3], "weight": 5}], "held_out": []})");
  ASSERT_EQ(spec.train.size(), 2u);
  EXPECT_EQ(spec.train[0].weight, 5);
}

TEST(ShapesFile, SamplesAreSeededDistinctAndInRange) {
  const std::string text =
      R"({"train": [{"sample": 40, "seed": 7, "M": {"from": 1, "to": 32768, "log": true}, "N": {"from": 64, "to": 4096, "multiple": 64}}],
          "held_out": []})";
  const ShapesSpec a = must_parse(text);
  EXPECT_EQ(a.train, must_parse(text).train);
  EXPECT_EQ(a.train.size(), 40u);
  int small = 0;
  for (const WeightedShape& s : a.train) {
    EXPECT_GE(s.shape[0], 1);
    EXPECT_LE(s.shape[0], 32768);
    EXPECT_EQ(s.shape[1] % 64, 0);
    small += s.shape[0] < 256 ? 1 : 0;
  }
  EXPECT_GT(small, 10) << "half of a log-uniform sample lies below the geometric mean";
  std::string other = text;
  other.replace(other.find("\"seed\": 7"), 9, "\"seed\": 8");
  EXPECT_NE(a.train, must_parse(other).train);
}

TEST(ShapesFile, HeldOutShapesThatWereTrainedOnAreLeftOutAndSaid) {
  const ShapesSpec spec = must_parse(R"({"train": [[1, 2]], "measure": [[3, 4], [1, 2]], "held_out": [[1, 2], [3, 4], [5, 6]]})");
  EXPECT_THAT(shapes_of(spec.measure), ElementsAre(Shape{3, 4}));
  EXPECT_THAT(shapes_of(spec.held_out), ElementsAre(Shape{5, 6}));
  ASSERT_FALSE(spec.notes.empty());
  EXPECT_THAT(spec.notes.back(), HasSubstr("2 shapes that are also trained on"));
}

TEST(ShapesFile, WithoutHeldOutEverySixthShapeIsWithheld) {
  const ShapesSpec spec = must_parse(R"({"train": [{"M": 1, "N": {"from": 100, "to": 2400, "step": 100}}]})");
  EXPECT_EQ(spec.train.size(), 20u);
  EXPECT_EQ(spec.held_out.size(), 4u);
  EXPECT_EQ(spec.train.front().shape[1], 100);
  EXPECT_EQ(spec.train.back().shape[1], 2400);
}

TEST(ShapesFile, LimitsAndDerivedFeaturesAreExpressions) {
  const ShapesSpec spec =
      must_parse(R"j({"train": [{"M": [1, 100], "N": [10, 100]}], "held_out": [], "limits": {"M*N": 1000},
                     "derived": {"rows_per_block": "ceil_div(M, 4)"}, "ignore": ["M"]})j");
  EXPECT_EQ(spec.train.size(), 3u);
  ASSERT_EQ(spec.derived.size(), 1u);
  const Shape nine = {9, 1};
  EXPECT_EQ(spec.derived[0].value.evaluate(nine.data()), 3);
}

TEST(ShapesFile, DataFollowsTheDims) {
  const ShapesSpec spec = must_parse(
      R"j({"train": [[4, 10]], "held_out": [],
           "data": {"labels": "range(-1, N)", "ids": "sorted(0, min(M, 3))", "scale": 0.5, "noise": "normal(0, 2)",
                    "offsets": {"choose": "M % 2", "from": ["offsets(M * N, even)", "offsets(N, giant)"]}}})j");
  ASSERT_EQ(spec.data.size(), 5u);
  EXPECT_EQ(spec.data[0].tensor(), "labels");
  EXPECT_EQ(spec.data[0].at({4, 10}), (Recipe{RecipeKind::kUniform, -1, 9}));
  EXPECT_EQ(spec.data[1].at({4, 10}), (Recipe{RecipeKind::kSorted, 0, 2}));
  EXPECT_EQ(spec.data[2].at({4, 10}).kind, RecipeKind::kConstant);
  EXPECT_EQ(spec.data[2].at({4, 10}).low, 0.5);
  EXPECT_EQ(spec.data[3].at({4, 10}), (Recipe{RecipeKind::kNormal, 0, 2}));
  EXPECT_EQ(spec.data[4].at({4, 10}), (Recipe{RecipeKind::kEvenOffsets, 0, 40}));
  EXPECT_EQ(spec.data[4].at({5, 10}), (Recipe{RecipeKind::kGiantOffsets, 0, 10}));
}

struct Mistake {
  const char* text;
  const char* place;
  const char* message;
};

class ShapesFileMistakes : public ::testing::TestWithParam<Mistake> {};

TEST_P(ShapesFileMistakes, AreNamedWithPlaceAndMend) {
  const Result<ShapesSpec> spec = parse_shapes(GetParam().text, "s.json", kDims);
  ASSERT_FALSE(spec.is_ok());
  EXPECT_EQ(spec.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(spec.status().message(), HasSubstr("s.json"));
  EXPECT_THAT(spec.status().message(), HasSubstr(GetParam().place));
  EXPECT_THAT(spec.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, ShapesFileMistakes,
    ::testing::Values(
        Mistake{"{\"train\": [\n {\"M\": 1,}]}", "s.json:2:10", "not JSON"},
        Mistake{"", "s.json:1:1", "not JSON"},
        Mistake{"[1]", "the file", "must hold one object"},
        Mistake{R"({"measure": []})", "train", "is missing"},
        Mistake{R"({"train": []})", "train", "has no shape"},
        Mistake{R"({"train": {"M": 1}})", "train", "must be a list"},
        Mistake{R"({"trian": []})", "trian", "unknown key; known are kernel"},
        Mistake{R"({"train": [{"M": 1, "K": 2, "N": 3}]})", "train[0]", "unknown dim \"K\"; the kernel's dims are M, N"},
        Mistake{R"({"train": [[1, 2], {"M": 1}]})", "train[1]", "dim \"N\" is missing"},
        Mistake{R"({"train": [[1, 2, 3]]})", "train[0]", "has 3 numbers, expected 2 (M, N)"},
        Mistake{R"({"train": [7]})", "train[0]", "must be an object"},
        Mistake{R"({"train": [{"M": 0, "N": 1}]})", "train[0].M", "must be at least 1, got 0"},
        Mistake{R"({"train": [{"M": 1, "N": [4, -5]}]})", "train[0].N[1]", "must be at least 1, got -5"},
        Mistake{R"({"train": [{"M": 1, "N": 2.5}]})", "train[0].N", "must be an integer"},
        Mistake{R"({"train": [{"M": 1, "N": 99999999999999}]})", "train[0].N", "must be at most 2^40"},
        Mistake{R"({"train": [{"M": 1, "N": 99999999999999999999999}]})", "train[0].N", "must be an integer"},
        Mistake{R"({"train": [{"M": 1, "N": []}]})", "train[0].N", "empty list"},
        Mistake{R"({"train": [{"M": 1, "N": {"from": 1}}]})", "train[0].N", "\"to\" is missing"},
        Mistake{R"({"train": [{"M": 1, "N": {"from": 9, "to": 1}}]})", "train[0].N", "exchange them"},
        Mistake{R"({"train": [{"M": 1, "N": {"from": 1, "to": 9, "step": 0}}]})", "train[0].N.step", "at least 1, got 0"},
        Mistake{R"({"train": [{"M": 1, "N": {"from": 1, "to": 9, "log": true}}]})", "train[0].N", "belong to samples"},
        Mistake{R"({"train": [{"M": 1, "N": {"from": 1, "to": 9, "stride": 2}}]})", "train[0].N.stride", "unknown key"},
        Mistake{R"({"train": [{"M": 1, "N": {"from": 1, "to": 9000000000}}]})", "train[0].N", "raise step"},
        Mistake{R"({"train": [{"M": {"from": 1, "to": 9000}, "N": {"from": 1, "to": 9000}}]})", "train[0]", "cross product"},
        Mistake{R"({"train": [{"sample": 0, "M": 1, "N": 1}]})", "train[0].sample", "at least 1"},
        Mistake{R"({"train": [{"seed": 3, "M": 1, "N": 1}]})", "train[0].seed", "belongs to a sample"},
        Mistake{R"({"train": [{"M": 1, "N": 1, "weight": 0}]})", "train[0].weight", "above 0"},
        Mistake{R"({"train": [[1, 1]], "weights": [{"K": 1, "weight": 2}]})", "weights[0]", "unknown dim \"K\""},
        Mistake{R"({"train": [[1, 1]], "derived": {"q": "M * Q"}})", "derived.q", "unknown dim 'Q', known are M, N"},
        Mistake{R"({"train": [[1, 1]], "derived": {"q": "M +"}})", "derived.q", "got the end"},
        Mistake{R"({"train": [[1, 1]], "ignore": ["B"]})", "ignore", "unknown dim \"B\""},
        Mistake{R"({"train": [[1, 1]], "limits": {"M": 0}})", "limits", "at least 1"},
        Mistake{R"j({"train": [[1, 1]], "data": ["x"]})j", "data", "must be an object"},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": [1]}})j", "data.x", "expected a number, normal"},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": "range(0, Q)"}})j", "data.x", "unknown dim 'Q', known are M, N"},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": "range(0)"}})j", "data.x", "\"range(0)\" is no generator"},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": "range(0, 1"}})j", "data.x", "is no generator"},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": "zipf(0, 1)"}})j", "data.x", "unknown generator \"zipf\""},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": "offsets(N, long)"}})j", "data.x", "unknown lengths \"long\""},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": {"choose": "M", "from": []}}})j", "data.x", "must be a generator"},
        Mistake{R"j({"train": [[1, 1]], "data": {"x": {"choose": "M", "from": [0, "no(1, 2)"]}}})j", "data.x.from[1]",
                "unknown generator"},
        Mistake{R"({"train": [[1, 1]], "dtypes": "f16"})", "dtypes", "must be a list"}));

TEST(Recording, LinesAddUpAndACutOffLineIsIgnored) {
  const std::string text =
      "{\"kernel\": \"softmax\", \"dtypes\": \"f16\", \"dims\": {\"M\": 4, \"N\": 8}, \"count\": 3}\n"
      "{\"kernel\": \"other\", \"dtypes\": \"f16\", \"dims\": {\"Q\": 4}, \"count\": 1}\n"
      "{\"kernel\": \"softmax\", \"dtypes\": \"f32\", \"dims\": {\"M\": 2, \"N\": 8}, \"count\": 9}\n"
      "{\"kernel\": \"softmax\", \"dtypes\": \"f16\", \"dims\": {\"M\": 4, \"N\": 8}, \"count\": 4}\n"
      "{\"kernel\": \"softmax\", \"dty";
  ASSERT_TRUE(looks_like_recording(text));
  const Result<RecordedShapes> recorded = parse_recording(text, "r.jsonl", "softmax", kDims);
  ASSERT_TRUE(recorded.is_ok()) << recorded.status().to_string();
  EXPECT_THAT(recorded->dtypes, ElementsAre("f16", "f32"));
  ASSERT_EQ(recorded->shapes.size(), 2u);
  EXPECT_EQ(recorded->shapes[0].shape, (Shape{2, 8}));
  EXPECT_EQ(recorded->shapes[1].weight, 7);
}

TEST(Recording, MistakesNameTheLineAndMissingKernelsNameThoseThereAre) {
  const Result<RecordedShapes> bad = parse_recording("\n{\"kernel\": 1}\n", "r.jsonl", "softmax", kDims);
  ASSERT_FALSE(bad.is_ok());
  EXPECT_THAT(bad.status().message(), HasSubstr("r.jsonl:2"));
  const Result<RecordedShapes> other =
      parse_recording("{\"kernel\": \"add\", \"dims\": {\"N\": 1}}\n", "r.jsonl", "softmax", kDims);
  ASSERT_FALSE(other.is_ok());
  EXPECT_EQ(other.status().code(), Code::kNotFound);
  EXPECT_THAT(other.status().message(), HasSubstr("only of add"));
}

TEST(ShapesFile, AShapesFileDoesNotLookLikeARecording) {
  EXPECT_FALSE(looks_like_recording(R"({"kernel": "softmax", "train": [[1, 2]]})"));
}

TEST(SpreadSubset, TakesFarApartShapesAndIsStable) {
  std::vector<WeightedShape> shapes;
  for (int64_t n = 1; n <= 1 << 20; n *= 2) shapes.push_back({{1, n}, 1});
  const std::vector<int> chosen = spread_subset(shapes, 3);
  EXPECT_THAT(chosen, ElementsAre(0, 10, 20));
  EXPECT_EQ(spread_subset(shapes, 100).size(), shapes.size());
}

}  // namespace
}  // namespace kaon::runner
