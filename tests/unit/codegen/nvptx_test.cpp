// What PTX and cubins look like: accesses, barriers, registers and spills, on every chip of the table.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "compiler/codegen/assemble.h"
#include "compiler/codegen/child_process.h"
#include "tests/unit/codegen/host_case.h"
#include "tests/unit/codegen/kernels.h"

namespace kaon::compiler {
namespace {

constexpr const char* kSoftmax = R"(
kernel softmax(x: T[M, N]) -> (out: T[M, N]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let e = exp(row - amax(row, dim=1, keepdim=true));
    out[m, :] = T(e / sum(e, dim=1, keepdim=true));
  }
})";

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++found;
  return found;
}

CompiledVariant compiled(const char* source, DType dtype, const std::string& config, const std::string& target,
                         EmitUntil until) {
  Result<Kernel> kernel = logical_kernel({source, dtype, "", {}});
  EXPECT_TRUE(kernel) << kernel.status().message();
  Result<CompiledVariant> variant = compile(*kernel, *Config::from_text(config), *find_target(target), {}, until);
  EXPECT_TRUE(variant) << target << " " << config << ": " << variant.status().message();
  return variant ? std::move(variant).value() : CompiledVariant{};
}

TEST(Ptx, ARowInRegistersIsReadAndWrittenSixteenBytesAtATime) {
  const std::string ptx =
      compiled(kSoftmax, DType::kF16, "num_warps=8 reduce.N=resident(7)", "sm_90", EmitUntil::kPtx).ptx;
  EXPECT_EQ(count(ptx, "ld.global.nc.v4.b32"), 7u);
  EXPECT_EQ(count(ptx, "ld.global"), 7u);
  EXPECT_EQ(count(ptx, "st.global.v4.b32"), 7u);
  EXPECT_EQ(count(ptx, "st.global"), 7u);
  EXPECT_EQ(count(ptx, "bar.sync"), 2u);
  EXPECT_EQ(count(ptx, "ex2.approx"), 56u);
  EXPECT_EQ(count(ptx, "cvt.rn.f16x2.f32"), 28u);
  EXPECT_EQ(count(ptx, "div."), 0u);
  EXPECT_LT(ptx.rfind("ld.global"), ptx.find("ex2.approx"));
}

TEST(Ptx, EvictionHintsReachTheInstructions) {
  const std::string ptx =
      compiled(kSoftmax, DType::kF16, "evict.x=stream evict.out=stream", "sm_90", EmitUntil::kPtx).ptx;
  EXPECT_EQ(count(ptx, "ld.global.nc.L1::no_allocate.v4.b32"), 4u);
  EXPECT_EQ(count(ptx, "st.global.cs.v4.b32"), 4u);
}

TEST(Ptx, HintsOfInputsAndOutputsAreApart) {
  const std::string ptx = compiled(kSoftmax, DType::kF16, "evict.x=cs", "sm_90", EmitUntil::kPtx).ptx;
  EXPECT_EQ(count(ptx, "ld.global.cs.nc.v4.b32"), 4u);
  EXPECT_EQ(count(ptx, "st.global.v4.b32"), 4u);
}

TEST(Ptx, ARowThatStaysPackedIsComputedAnewBehindEachReduction) {
  const std::string ptx =
      compiled(kSoftmax, DType::kF16, "num_warps=16 reduce.N=resident(8) keep.N=input", "sm_90", EmitUntil::kPtx).ptx;
  EXPECT_EQ(count(ptx, "ld.global.nc.v4.b32"), 8u);
  EXPECT_EQ(count(ptx, "ex2.approx"), 128u);  // once for the sum, once for the result
  EXPECT_EQ(count(ptx, "xor.b32"), 32u);      // a word of two halves each
  EXPECT_EQ(count(ptx, ".minnctapersm 2"), 1u);
}

TEST(Ptx, AShiftedRowIsReadWholeAndMendedInOneBranch) {
  const std::string ptx =
      compiled(kSoftmax, DType::kF16, "num_warps=8 reduce.N=resident(8) shift.N=1", "sm_90", EmitUntil::kPtx).ptx;
  EXPECT_EQ(count(ptx, "ld.global"), 8u);
  EXPECT_EQ(count(ptx, "ld.global.nc.v4.b32"), 8u);
  EXPECT_EQ(count(ptx, "st.global.v4.b32"), 8u);
  EXPECT_EQ(count(ptx, "st.global.b16"), 16u);  // the first vector, and one of the others
  EXPECT_LT(count(ptx, "setp"), 70u);           // not one for each of 64 elements and use
}

TEST(Ptx, AnInputThatAnOutputMayBeIsNotReadThroughTheReadOnlyCache) {
  const char* source = R"(
kernel twice(x: f32[N]) -> (out: f32[N] alias x) { for n in tile(N) { out[n] = x[n] + x[n]; } })";
  const std::string ptx = compiled(source, DType::kF32, "", "sm_90", EmitUntil::kPtx).ptx;
  EXPECT_EQ(count(ptx, ".nc"), 0u);
  EXPECT_GT(count(ptx, "ld.global.v4.b32"), 0u);
}

class Cubin : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    Result<std::string> ptxas = find_ptxas();
    if (!ptxas) GTEST_SKIP() << "[SKIP] " << ptxas.status().message();
  }
};

TEST_P(Cubin, SoftmaxFitsItsRegisters) {
  struct Row {
    const char* config;
    uint32_t registers;  // as a kernel written by hand needs, and a few
  };
  for (const Row& row : {Row{"num_warps=4 reduce.N=resident(4)", 48}, Row{"num_warps=8 reduce.N=resident(7)", 80},
                         Row{"num_warps=8 reduce.N=resident(8)", 96}}) {
    const CompiledVariant variant = compiled(kSoftmax, DType::kF16, row.config, GetParam(), EmitUntil::kImage);
    EXPECT_EQ(variant.image.substr(0, 4),
              "\x7f"
              "ELF");
    EXPECT_EQ(variant.resources.spill_store_bytes, 0u) << row.config;
    EXPECT_EQ(variant.resources.stack_bytes, 0u) << row.config;
    EXPECT_GT(variant.resources.registers, 0u);
    EXPECT_LE(variant.resources.registers, row.registers) << row.config;
    EXPECT_EQ(variant.info.requirements.registers_per_thread, variant.resources.registers);
  }
}

TEST_P(Cubin, LoadsInFlightFitTheRegisters) {
  constexpr const char* kTotal = R"(
kernel total(x: T[M, N]) -> (out: T[M]) where T in (f16, f32) {
  for m in tile(M) { out[m] = T(sum(f32(x[m, :]), dim=1)); }
})";
  for (const char* config :
       {"num_warps=32 reduce.N=chunk(8192) num_stages=4", "num_warps=16 reduce.N=chunk(8192) num_stages=4",
        "num_warps=8 reduce.N=chunk(2048) num_stages=8", "num_warps=16 reduce.N=chunk(8192) unroll.N=4"}) {
    for (DType dtype : {DType::kF16, DType::kF32}) {
      const CompiledVariant variant = compiled(kTotal, dtype, config, GetParam(), EmitUntil::kImage);
      EXPECT_EQ(variant.resources.spill_store_bytes, 0u) << config;
      EXPECT_EQ(variant.resources.stack_bytes, 0u) << config;
    }
  }
}

// For the oldest chip of the table: what it takes, the others take.
TEST(Ptxas, EveryOpAndTypeAssembles) {
  if (!find_ptxas()) GTEST_SKIP() << "[SKIP] no ptxas";
  const std::string target = "sm_80";
  const std::string row = "num_warps=1 block.n=256";
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    for (const char* source : {kFloatFunctions, kPositiveFunctions, kFloatPairs}) {
      EXPECT_FALSE(compiled(source, dtype, row, target, EmitUntil::kImage).image.empty());
    }
  }
  for (DType dtype : kCastTypes) {
    EXPECT_FALSE(compiled(casts_kernel().c_str(), dtype, row, target, EmitUntil::kImage).image.empty());
    if (dtype == DType::kBool) continue;
    EXPECT_FALSE(compiled(kFolds, dtype, "num_warps=2 reduce.N=resident(1)", target, EmitUntil::kImage).image.empty());
    if (dtype_is_float(dtype)) continue;
    EXPECT_FALSE(compiled(kIntegerPairs, dtype, row, target, EmitUntil::kImage).image.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Chips, Cubin, ::testing::Values("sm_80", "sm_90", "sm_100", "sm_120"));

TEST(Ptxas, AMissingOneIsNamed) {
  setenv("KAON_PTXAS", "/nowhere/ptxas", 1);
  Result<std::string> found = find_ptxas();
  unsetenv("KAON_PTXAS");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.status().code(), Code::kUnsupported);
  EXPECT_NE(found.status().message().find("/nowhere/ptxas"), std::string::npos);
}

TEST(Ptxas, BrokenPtxIsABugWithItsText) {
  if (!find_ptxas()) GTEST_SKIP() << "[SKIP] no ptxas";
  Result<codegen::Assembled> assembled = codegen::assemble_ptx("nonsense", 128, *find_target("sm_90"), {});
  ASSERT_FALSE(assembled);
  EXPECT_EQ(assembled.status().code(), Code::kInternal);
}

TEST(Ptxas, ItsReportIsRead) {
  Result<Resources> resources = codegen::parse_ptxas_report(
      "ptxas info    : Function properties for k\n    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill "
      "loads\n"
      "ptxas info    : Used 40 registers, used 1 barriers, 256 bytes smem, 352 bytes cmem[0]\n");
  ASSERT_TRUE(resources);
  EXPECT_EQ(resources->registers, 40u);
  EXPECT_EQ(resources->stack_bytes, 8u);
  EXPECT_EQ(resources->spill_store_bytes, 12u);
  EXPECT_EQ(resources->spill_load_bytes, 16u);
  EXPECT_EQ(resources->static_shared_bytes, 256u);
  EXPECT_FALSE(codegen::parse_ptxas_report("nothing of the kind"));
}

TEST(Child, ATooSlowOneIsKilled) {
  Result<codegen::ChildResult> child = codegen::run_child({"sleep", "20"}, 0.05);
  ASSERT_FALSE(child);
  EXPECT_EQ(child.status().code(), Code::kTimeout);
}

TEST(Child, OutputAndExitCodeComeBack) {
  Result<codegen::ChildResult> child = codegen::run_child({"sh", "-c", "echo out; echo err >&2; exit 3"}, 10);
  ASSERT_TRUE(child);
  EXPECT_EQ(child->exit_code, 3);
  EXPECT_EQ(child->output, "out\nerr\n");
  EXPECT_EQ(codegen::run_child({"/nowhere/tool"}, 1).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace kaon::compiler
