// What kernels tell people on the CPU target: lines of print, asserts, and indices out of range in a checked build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/passes/insert_checks.h"
#include "runtime/host/print.h"
#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

/// Runs a kernel of x: f32[N], at: i64[N] -> out: f32[N] under a config; the machine's answer.
Status run(const std::string& source, bool checked, std::vector<float> x, std::vector<int64_t> at,
           const std::string& knobs = "vec=1 block.n=32 num_warps=1") {
  const SourceFile file("case.tile", source);
  Diagnostics diagnostics(file);
  const std::unique_ptr<Program> program = Program::create(file, &diagnostics);
  if (program == nullptr) return Status(Code::kCompile, diagnostics.render());
  Result<Kernel> kernel = program->instantiate(program->kernels()[0].name, {});
  if (!kernel) return kernel.status();
  if (checked) KAON_RETURN_IF_ERROR(insert_checks(*kernel, &file));
  CompileOptions options;
  options.checked = checked;
  const Result<Config> config = Config::from_text(knobs);
  const Result<CompiledVariant> variant = compile(*kernel, *config, *find_target("host"), options);
  if (!variant) return variant.status();
  const Result<std::unique_ptr<host::Image>> image = host::Image::load(variant->image);
  if (!image) return image.status();
  const Result<host::KernelFunction> function = (*image)->find(variant->info.symbol);
  if (!function) return function.status();
  std::vector<float> out(x.size());
  const Signature& signature = kernel->signature;
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()), 1);  // strides are 1
  slots[static_cast<size_t>(signature.dim_slot(0))] = static_cast<int64_t>(x.size());
  slots[0] = reinterpret_cast<int64_t>(x.data());
  slots[1] = reinterpret_cast<int64_t>(at.data());
  slots[2] = reinterpret_cast<int64_t>(out.data());
  const LaunchPlan& plan = variant->info.plan;
  return host::shared_machine().run(
      *function, {static_cast<uint64_t>(plan.programs.evaluate(slots.data())), plan.threads, plan.shared_bytes},
      slots.data(), {});
}

constexpr const char* kGather = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N]) {
  for n in tile(N) {
    out[n] = x[at[n]];
  }
})";

TEST(People, IndicesOutOfRangeStopACheckedProgram) {
  EXPECT_TRUE(run(kGather, true, {1, 2, 3}, {2, 0, 1}));
  for (const int64_t wrong : {int64_t{3}, int64_t{-1}}) {
    const Status status = run(kGather, true, {1, 2, 3}, {2, wrong, 1});
    EXPECT_THAT(status.message(), HasSubstr("block 0, thread 1: case.tile:3:14: index out of range: dimension 0 of x"));
  }
}

TEST(People, EveryBodyOfAKernelIsChecked) {
  const std::string source = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N])
impl first {
  for n in tile(N) { out[n] = x[at[n]]; }
}
impl second {
  for n in tile(N) { out[n] = x[at[n]] + 0.0; }
})";
  for (const auto& [body, place] : {std::pair{"first", "case.tile:3:31"}, std::pair{"second", "case.tile:6:31"}}) {
    const std::string knobs = std::string("vec=1 block.n=32 num_warps=1 impl=") + body;
    EXPECT_TRUE(run(source, true, {1, 2, 3}, {2, 0, 1}, knobs)) << body;
    EXPECT_THAT(run(source, true, {1, 2, 3}, {2, 7, 1}, knobs).message(), HasSubstr(place));
    EXPECT_TRUE(run(source, false, {1, 2, 3}, {2, 2, 1}, knobs));
  }
}

TEST(People, LanesThatAMaskLeavesOutAreNotChecked) {
  constexpr const char* kSource = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N]) {
  for n in tile(N) {
    store(out, at[n], load(x, at[n], mask=at[n] >= 0), mask=at[n] >= 0);
  }
})";
  EXPECT_TRUE(run(kSource, true, {1, 2, 3}, {2, -7, 1}));
  EXPECT_THAT(run(kSource, true, {1, 2, 3}, {2, 9, 1}).message(), HasSubstr("dimension 0 of x"));
}

constexpr const char* kOneWarp = "vec=1 num_warps=1";

TEST(People, SlicesBeyondTheirTensorStopACheckedProgram) {
  constexpr const char* kSource = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N] = 0) {
  for n in tile(N, block=1) {
    let s = at[n.begin];
    out[n] = sum(x[s : s + 2]);
  }
})";
  EXPECT_TRUE(run(kSource, true, {1, 2, 3}, {0, 1, 1}, kOneWarp));
  EXPECT_TRUE(run(kSource, false, {1, 2, 3}, {0, 2, 1}, kOneWarp)) << "the elements that there are";
  for (const int64_t wrong : {int64_t{2}, int64_t{-1}, int64_t{100}}) {
    EXPECT_THAT(run(kSource, true, {1, 2, 3}, {0, wrong, 1}, kOneWarp).message(),
                HasSubstr("case.tile:4:18: slice out of range: dimension 0 of x, which has extent N"));
  }
}

TEST(People, TilesBeyondTheirTensorStopACheckedProgram) {
  constexpr const char* kLoop = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N] = 0) {
  for n in tile(N, block=1) {
    var total = 0.0;
    for j in tile(at[n.begin] - 2, at[n.begin], block=2) { total += sum(x[j]); }
    out[n] = total;
  }
})";
  EXPECT_TRUE(run(kLoop, true, {1, 2, 3}, {2, 3, 2}, kOneWarp));
  for (const int64_t wrong : {int64_t{4}, int64_t{1}}) {
    EXPECT_THAT(run(kLoop, true, {1, 2, 3}, {2, wrong, 3}, kOneWarp).message(),
                HasSubstr("case.tile:4:73: tile j out of range: dimension 0 of x, which has extent N"));
  }
  constexpr const char* kJagged = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N]) {
  for n in tile(N) {
    var total = zeros(f32, n);
    for j in jagged_tile(at[n]) { total += sum(x[n.index[:, None] + j.index[None, :]], dim=1); }
    out[n] = total;
  }
})";
  EXPECT_TRUE(run(kJagged, true, {1, 2, 3}, {3, 2, 1}, "vec=1 block.n=4 block.j=16 num_warps=1"));
  EXPECT_THAT(run(kJagged, true, {1, 2, 3}, {3, 3, 1}, "vec=1 block.n=4 block.j=16 num_warps=1").message(),
              HasSubstr("case.tile:4:48: index out of range"));
}

TEST(People, StoresLeaveOutWhatIsBeyondInACheckedProgramToo) {
  constexpr const char* kSource = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N] = 0) {
  for n in tile(N, block=1) {
    let s = at[n.begin];
    out[s : s + 2] = full(f32, 7, 2);
  }
})";
  EXPECT_TRUE(run(kSource, true, {1, 2, 3}, {2, 2, 2}, kOneWarp));
}

TEST(People, AConstantIndexIsCheckedAgainstAnExtentThatACallBrings) {
  constexpr const char* kSource = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N]) {
  for n in tile(N) {
    out[n] = x[2] + f32(at[n]);
  }
})";
  EXPECT_TRUE(run(kSource, true, {1, 2, 3}, {0, 0, 0}));
  EXPECT_THAT(run(kSource, true, {1, 2}, {0, 0}).message(),
              HasSubstr("case.tile:3:14: index out of range: dimension 0 of x, which has extent N"));
}

TEST(People, AssertsHoldInACheckedBuildOnly) {
  constexpr const char* kSource = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N]) {
  for n in tile(N) {
    assert(at[n] < 100, "100% too large");
    out[n] = x[n];
  }
})";
  EXPECT_TRUE(run(kSource, true, {1, 2}, {99, 0}));
  EXPECT_TRUE(run(kSource, false, {1, 2}, {100, 0}));
  EXPECT_THAT(run(kSource, true, {1, 2}, {0, 100}).message(),
              HasSubstr("block 0, thread 1: case.tile:3:5: assert failed: 100% too large"));
}

TEST(People, PrintWritesALineForEachElement) {
  constexpr const char* kSource = R"(kernel k(x: f32[N], at: i64[N]) -> (out: f32[N]) {
  for n in tile(N) {
    print("100% of", x[n], at[n], x[n] > 2);
    print("tile", n.begin);
    print("done");
    out[n] = x[n];
  }
})";
  std::vector<std::string> lines;
  host::set_print_sink([&](const std::string& line) { lines.push_back(line); });
  EXPECT_TRUE(run(kSource, false, {1.5, 2.25}, {7, -8}));
  host::set_print_sink({});
  EXPECT_THAT(lines, UnorderedElementsAre("100% of [0]: 1.5 7 0\n", "100% of [1]: 2.25 -8 1\n", "tile: 0\n", "done\n"));
}

}  // namespace
}  // namespace kaon::compiler
