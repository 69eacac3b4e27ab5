// The row of slots: where each part lies, and how it is named.
#include "runtime/base/signature.h"

#include <gtest/gtest.h>

namespace kaon {
namespace {

Signature row_kernel() {
  Signature s;
  s.kernel = "row_kernel";
  s.dims = {"M", "N"};
  Expr m = Expr::slot(3), n = Expr::slot(4);
  s.tensors = {{"x", DType::kF16, "T", false, false, "", {m, n}},
               {"w", DType::kF32, "W", false, false, "", {n}},
               {"out", DType::kF16, "T", true, false, "", {m, n}}};
  s.scalars = {{"eps", DType::kF32}};
  return s;
}

TEST(Signature, SlotsFollowDeclarationOrder) {
  Signature s = row_kernel();
  std::vector<std::string> expected = {"x", "w", "out", "M", "N", "x_stride0", "x_stride1", "w_stride0", "out_stride0",
                                       "out_stride1", "eps"};
  EXPECT_EQ(s.slot_names(), expected);
  EXPECT_EQ(s.num_slots(), 11);
  EXPECT_EQ(s.pointer_slot(2), 2);
  EXPECT_EQ(s.dim_slot(1), 4);
  EXPECT_EQ(s.stride_slot(1, 0), 7);
  EXPECT_EQ(s.stride_slot(2, 1), 9);
  EXPECT_EQ(s.scalar_slot(0), 10);
}

TEST(Signature, DtypeKeyListsEachGenericOnce) {
  EXPECT_EQ(row_kernel().dtype_key(), "f16,f32");
  Signature concrete = row_kernel();
  for (TensorParam& t : concrete.tensors) t.dtype_var.clear();
  EXPECT_EQ(concrete.dtype_key(), "");
}

TEST(Signature, FindsByName) {
  Signature s = row_kernel();
  EXPECT_EQ(s.find_tensor("out"), 2);
  EXPECT_EQ(s.find_dim("N"), 1);
  EXPECT_EQ(s.find_scalar("eps"), 0);
  EXPECT_EQ(s.find_tensor("N"), -1);
  EXPECT_EQ(s.find_dim("x"), -1);
  EXPECT_EQ(s.find_scalar("x"), -1);
}

}  // namespace
}  // namespace kaon
