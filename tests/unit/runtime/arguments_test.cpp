// Argument checks: the row of slots that a call becomes, and the message of each refusal.
#include "runtime/launch/arguments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

namespace kaon {
namespace {

// gather(x: f16[M, N], offsets: i64[M + 1], y: f16[M, N] may be x, out: f16[M, N], eps: f32, count: i32), N even.
Signature example_signature() {
  Signature s;
  s.kernel = "gather";
  s.dims = {"M", "N"};
  Expr m = Expr::slot(4), n = Expr::slot(5);
  s.tensors = {{"x", DType::kF16, "", false, false, "", {m, n}},
               {"offsets", DType::kI64, "", false, false, "", {m + 1}},
               {"y", DType::kF16, "", true, false, "x", {m, n}},
               {"out", DType::kF16, "", true, false, "", {m, n}}};
  s.scalars = {{"eps", DType::kF32}, {"count", DType::kI32}};
  s.requires_ = {{Expr(1) - mod(n, 2), "N % 2 == 0"}};
  return s;
}

struct Call {
  // Far apart, so that nothing overlaps by accident; never dereferenced.
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x10000), DType::kF16, {3, 8});
  TensorView offsets = TensorView::contiguous(reinterpret_cast<void*>(0x20000), DType::kI64, {4});
  TensorView y = TensorView::contiguous(reinterpret_cast<void*>(0x30000), DType::kF16, {3, 8});
  TensorView out = TensorView::contiguous(reinterpret_cast<void*>(0x40000), DType::kF16, {3, 8});
  ScalarValue scalars[2] = {1.5, -7};
  int64_t slots[kMaxSlots] = {};

  Status fill() {
    static const Signature signature = example_signature();
    static const ArgumentChecker checker{signature};
    const TensorView* tensors[] = {&x, &offsets, &y, &out};
    Status status;
    bool is_filled = checker.fill(tensors, scalars, slots, &status);
    EXPECT_EQ(is_filled, status.is_ok());
    return status;
  }
  std::string error() {
    Status status = fill();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    return status.message();
  }
};

TEST(Arguments, SlotsHoldPointersDimsStridesAndScalars) {
  Call call;
  call.x.strides[0] = 100;
  call.offsets.strides[0] = -2;
  ASSERT_TRUE(call.fill().is_ok()) << call.fill().to_string();
  std::vector<int64_t> expected = {0x10000, 0x20000, 0x30000, 0x40000, 3, 8, 100, 1, -2, 8, 1, 8, 1, 0x3fc00000, -7};
  EXPECT_EQ(std::vector<int64_t>(call.slots, call.slots + expected.size()), expected);
}

TEST(Arguments, StridesOfExtentOneAreNormalised) {
  Call call;
  for (TensorView* view : {&call.x, &call.y, &call.out}) {
    *view = TensorView::contiguous(view->data, DType::kF16, {1, 8});
    view->strides[0] = 123;
  }
  call.offsets = TensorView::contiguous(call.offsets.data, DType::kI64, {2});
  ASSERT_TRUE(call.fill().is_ok());
  EXPECT_EQ(call.slots[6], 0);
  EXPECT_EQ(call.slots[7], 1);
}

// A shape may have more elements than 64 bits count: one without elements, or one that no memory holds.
TEST(Arguments, StridesBeyondSixtyFourBitsAreTheGreatestNumber) {
  constexpr int64_t kLong = int64_t{1} << 40;
  const TensorView view = TensorView::contiguous(nullptr, DType::kF16, {0, kLong, kLong, kLong});
  EXPECT_EQ(view.strides[3], 1);
  EXPECT_EQ(view.strides[2], kLong);
  EXPECT_EQ(view.strides[1], INT64_MAX);
  EXPECT_EQ(view.strides[0], INT64_MAX);
}

TEST(Arguments, EachRefusalNamesBothNumbers) {
  Call call;
  call.y.rank = 3;
  EXPECT_EQ(call.error(), "gather: y has rank 3, expected 2");
  call = {};
  call.y.sizes[1] = 10;
  EXPECT_EQ(call.error(), "gather: y has extent 10 on axis 1, expected N = 8");
  call = {};
  call.offsets.sizes[0] = 3;
  EXPECT_EQ(call.error(), "gather: offsets has extent 3 on axis 0, expected M + 1 = 4 with M = 3");
  call = {};
  call.x.sizes[0] = -1;
  EXPECT_EQ(call.error(), "gather: x has extent -1 on axis 0");
  call = {};
  call.out.device = Device::cuda(1);
  EXPECT_EQ(call.error(), "gather: out lies on cuda:1, x on cuda:0");
  call = {};
  call.x.data = nullptr;
  EXPECT_EQ(call.error(), "gather: x is null although its shape is [3, 8]");
  call = {};
  call.x.data = reinterpret_cast<void*>(0x10001);
  EXPECT_EQ(call.error(), "gather: x is not aligned to its element of 2 bytes");
  call = {};
  call.out.strides[0] = 0;
  EXPECT_EQ(call.error(), "gather: out is an output with stride 0 on axis 0 of extent 3");
  call = {};
  for (TensorView* view : {&call.x, &call.y, &call.out}) view->sizes[1] = 7;
  EXPECT_EQ(call.error(), "gather: require N % 2 == 0 does not hold with N = 7");
  call = {};
  call.scalars[1] = 2.5;
  EXPECT_EQ(call.error(), "gather: count does not fit its type i32");
  call = {};
  call.scalars[1] = int64_t{1} << 31;
  EXPECT_EQ(call.error(), "gather: count does not fit its type i32");
  call = {};
  call.x.strides[0] = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_EQ(call.error(), "gather: x of shape [3, 8] spans more than 2^63 bytes");
}

TEST(Arguments, OutputsMayOverlapOnlyWhatTheyAreDeclaredToAlias) {
  Call call;
  call.y = call.x;
  EXPECT_TRUE(call.fill().is_ok()) << "exactly the alias";
  call.y.data = static_cast<char*>(call.x.data) + 16;
  EXPECT_EQ(call.error(), "gather: output y overlaps x: it must be exactly x or apart from it");
  call = {};
  call.out = call.x;
  EXPECT_EQ(call.error(), "gather: output out overlaps x: it is not declared to alias it");
  call = {};
  call.out = call.y;
  EXPECT_EQ(call.error(), "gather: output out overlaps y: it is not declared to alias it");
  call = {};
  call.offsets.data = static_cast<char*>(call.out.data) + 40;
  EXPECT_EQ(call.error(), "gather: output out overlaps offsets: it is not declared to alias it");
  call.offsets.data = static_cast<char*>(call.out.data) + 48;
  EXPECT_TRUE(call.fill().is_ok()) << "the first byte past out";
  call = {};
  call.x = call.offsets;
  call.x = TensorView::contiguous(call.offsets.data, DType::kF16, {3, 8});
  EXPECT_TRUE(call.fill().is_ok()) << "inputs may share";
}

TEST(Arguments, ColumnSlicesOfOneMatrixAreApart) {
  Call call;
  call.x.strides[0] = call.out.strides[0] = 16;
  call.out.data = static_cast<char*>(call.x.data) + 16;
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
  call.out.data = static_cast<char*>(call.x.data) + 14;
  EXPECT_EQ(call.error(), "gather: output out overlaps x: it is not declared to alias it");
  call.out.data = static_cast<char*>(call.x.data) - 16;
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
  call.out.data = static_cast<char*>(call.x.data) - 14;
  EXPECT_FALSE(call.fill().is_ok());
}

TEST(Arguments, ElementsThatInterleaveAreApart) {
  Call call;  // x and out take every other element of the same rows
  call.x.strides[0] = call.out.strides[0] = 16;
  call.x.strides[1] = call.out.strides[1] = 2;
  call.out.data = static_cast<char*>(call.x.data) + 2;
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
  call.out.strides[1] = -2;
  call.out.data = static_cast<char*>(call.x.data) + 2 * 15;
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
  call.out.data = static_cast<char*>(call.x.data) + 2 * 14;
  EXPECT_EQ(call.error(), "gather: output out overlaps x: it is not declared to alias it");
  call = {};  // and every other row
  call.x.strides[0] = call.out.strides[0] = 16;
  call.out.data = static_cast<char*>(call.x.data) + 2 * 8;
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
  call.out.data = static_cast<char*>(call.x.data) + 2 * 9;
  EXPECT_FALSE(call.fill().is_ok()) << "the last element of a row meets the first of a next one";
}

TEST(Arguments, AnAliasIsTheSameElementsInTheSameOrder) {
  Call call;
  call.x.strides[0] = 100;
  call.y = call.x;
  EXPECT_TRUE(call.fill().is_ok()) << "strided, in place";
  call.y.strides[0] = 50;
  EXPECT_EQ(call.error(), "gather: output y overlaps x: it must be exactly x or apart from it");
  call.y = call.x;
  call.y.data = static_cast<char*>(call.x.data) + 16;
  EXPECT_TRUE(call.fill().is_ok()) << "beside it, in the padding of its rows";
  call.y.data = static_cast<char*>(call.x.data) + 200;
  EXPECT_EQ(call.error(), "gather: output y overlaps x: it must be exactly x or apart from it") << "a row further";
  call.y = call.x;  // exactly the alias, and both on another output
  call.out = call.x;
  EXPECT_EQ(call.error(), "gather: output out overlaps x: it is not declared to alias it");
}

TEST(Arguments, WithoutElementsNothingOverlaps) {
  Call call;
  for (TensorView* view : {&call.x, &call.y, &call.out}) {
    *view = TensorView::contiguous(call.offsets.data, DType::kF16, {3, 0});
  }
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
}

// Exhaustive: small 2-D views against the sets of bytes that they touch. Never "apart" when they share a byte.
TEST(Arguments, OverlapNeverMissesASharedByte) {
  int apart_though_spans_meet = 0;
  for (int a_pitch = 1; a_pitch <= 5; ++a_pitch) {
    for (int b_pitch = 1; b_pitch <= 5; ++b_pitch) {
      for (int width_a = 0; width_a <= 3; ++width_a) {
        for (int width_b = 1; width_b <= 3; ++width_b) {
          for (int offset = -12; offset <= 12; ++offset) {
            for (int sign : {1, -1}) {
              TensorView a = TensorView::contiguous(reinterpret_cast<void*>(1000), DType::kI8, {3, width_a});
              TensorView b = TensorView::contiguous(reinterpret_cast<void*>(1000 + offset), DType::kI8, {3, width_b});
              a.strides[0] = a_pitch;
              b.strides[0] = sign * b_pitch;
              bool shares = false;
              for (int i = 0; i < 3 * width_a; ++i) {
                for (int j = 0; j < 3 * width_b; ++j) {
                  int byte_a = i / width_a * a_pitch + i % width_a;
                  int byte_b = offset + j / width_b * sign * b_pitch + j % width_b;
                  shares = shares || byte_a == byte_b;
                }
              }
              bool overlap = views_overlap(a, b);
              EXPECT_TRUE(overlap || !shares)
                  << a_pitch << ' ' << b_pitch << ' ' << width_a << ' ' << width_b << ' ' << offset << ' ' << sign;
              apart_though_spans_meet += !overlap && !shares;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(apart_though_spans_meet, 100);
}

TEST(Arguments, EmptyTensorsMayBeNull) {
  Call call;
  for (TensorView* view : {&call.x, &call.y, &call.out}) {
    *view = TensorView::contiguous(nullptr, DType::kF16, {0, 8});
  }
  call.offsets = TensorView::contiguous(call.offsets.data, DType::kI64, {1});
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
  EXPECT_EQ(call.slots[4], 0);
}

TEST(Arguments, AnOutputWithoutElementsMayHaveAnyStride) {
  Call call;
  for (TensorView* view : {&call.x, &call.y, &call.out}) {
    *view = TensorView::contiguous(nullptr, DType::kF16, {3, 0});
    view->strides[0] = 0;
  }
  EXPECT_TRUE(call.fill().is_ok()) << call.fill().to_string();
}

TEST(Arguments, TypesAreComparedInWords) {
  Call call;
  const TensorView* tensors[] = {&call.x, &call.offsets, &call.y, &call.out};
  Signature s = example_signature();
  EXPECT_EQ(ArgumentChecker::check_types(s, tensors, 3, 2).message(), "gather: got 3 tensors, expected 4");
  EXPECT_EQ(ArgumentChecker::check_types(s, tensors, 4, 0).message(), "gather: got 0 scalars, expected 2");
  call.offsets.dtype = DType::kI32;
  EXPECT_EQ(ArgumentChecker::check_types(s, tensors, 4, 2).message(), "gather: offsets has dtype i32, expected i64");
}

TEST(Tensor, AbiViewsAreTakenOver) {
  int64_t shape[2] = {3, 4}, strides[2] = {10, 2};
  kaon_tensor abi = {reinterpret_cast<void*>(0x1000), {KAON_CUDA, 2}, 2, {KAON_BFLOAT, 16, 1}, shape, strides, 32};
  TensorView view;
  auto error = [&] { return TensorView::from_abi(abi, &view).message(); };
  ASSERT_EQ(error(), "");
  EXPECT_EQ(view.data, reinterpret_cast<void*>(0x1020));
  EXPECT_EQ(view.dtype, DType::kBF16);
  EXPECT_EQ(view.device, Device::cuda(2));
  EXPECT_EQ(view.strides[0], 10);
  abi.strides = nullptr;
  ASSERT_EQ(error(), "");
  EXPECT_EQ(view.strides[0], 4);
  abi.dtype.lanes = 2;
  EXPECT_EQ(error(), "tensor has an unknown dtype: code 4, 16 bits, 2 lanes");
  abi.dtype = {KAON_FLOAT, 16, 1};
  abi.ndim = 7;
  EXPECT_EQ(error(), "tensor has rank 7, at most 6");
  abi.ndim = 2;
  abi.device.type = 8;
  EXPECT_EQ(error(), "tensor lies on device type 8, expected CPU or CUDA");
}

TEST(Tensor, ScalarsBecomeTheBitsOfTheirType) {
  auto bits = [](ScalarValue value, DType dtype) {
    int64_t out = -1;
    EXPECT_TRUE(scalar_bits(value, dtype, &out));
    return out;
  };
  EXPECT_EQ(bits(1.0, DType::kF16), 0x3c00);
  EXPECT_EQ(bits(65504.0, DType::kF16), 0x7bff);
  EXPECT_EQ(bits(65519.0, DType::kF16), 0x7bff);
  EXPECT_EQ(bits(65520.0, DType::kF16), 0x7c00);
  EXPECT_EQ(bits(5.9604644775390625e-8, DType::kF16), 1);
  EXPECT_EQ(bits(-0.0, DType::kF16), 0x8000);
  EXPECT_EQ(bits(1e-5, DType::kBF16), 0x3728);
  EXPECT_EQ(bits(448.0, DType::kF8E4M3), 0x7e);
  EXPECT_EQ(bits(1e9, DType::kF8E4M3), 0x7f);
  EXPECT_EQ(bits(57344.0, DType::kF8E5M2), 0x7b);
  EXPECT_EQ(bits(2, DType::kF64), 0x4000000000000000);
  EXPECT_EQ(bits(-3, DType::kI32), -3);
  int64_t unused = 0;
  EXPECT_FALSE(scalar_bits(-1, DType::kU8, &unused));
  EXPECT_FALSE(scalar_bits(2, DType::kBool, &unused));
}

TEST(Tensor, FloatScalarsRoundAsTheHardwareDoes) {
  for (uint32_t pattern = 1; pattern < 0x7f000000u; pattern += 0x10abcd) {
    float value = 0;
    memcpy(&value, &pattern, sizeof value);
    int64_t bits = 0;
    ASSERT_TRUE(scalar_bits(static_cast<double>(value), DType::kF32, &bits));
    EXPECT_EQ(static_cast<uint32_t>(bits), pattern);
    double between = (static_cast<double>(value) + static_cast<double>(std::nextafter(value, 1e38f))) / 2;
    float rounded = static_cast<float>(between);
    uint32_t expected = 0;
    memcpy(&expected, &rounded, sizeof expected);
    ASSERT_TRUE(scalar_bits(between, DType::kF32, &bits));
    EXPECT_EQ(static_cast<uint32_t>(bits), expected) << pattern;
  }
}

}  // namespace
}  // namespace kaon
