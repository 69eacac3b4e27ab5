// Decision trees: the walk, and each way in which a tree can be unsafe.
#include "runtime/base/tree.h"

#include <gtest/gtest.h>

namespace kaon {
namespace {

// M * N <= 1000 ? (N <= 64 ? leaf 0 : leaf 1) : leaf 2; slots are {M, N}.
DecisionTree example_tree() {
  DecisionTree tree;
  tree.features = {{"M*N", Expr::slot(0) * Expr::slot(1)}, {"N", Expr::slot(1)}};
  tree.nodes = {
      {0, 1000, 1, 2, 0, 30}, {1, 64, 3, 4, 0, 20}, {-1, 0, 0, 0, 2, 10}, {-1, 0, 0, 0, 0, 12}, {-1, 0, 0, 0, 1, 8}};
  tree.leaves = {{0, 2}, {1, 0, 2}, {2}};
  return tree;
}

std::string problem(const DecisionTree& tree) {
  Status status = validate(tree, 2, 3);
  EXPECT_TRUE(status.is_ok() || status.code() == Code::kCorrupt);
  return status.message();
}

TEST(Tree, ThresholdsAreInclusiveOnTheLeft) {
  DecisionTree tree = example_tree();
  ASSERT_EQ(problem(tree), "");
  auto leaf = [&](int64_t m, int64_t n) {
    int64_t slots[2] = {m, n};
    return find_leaf(tree, slots);
  };
  EXPECT_EQ(leaf(10, 64), 0);
  EXPECT_EQ(leaf(10, 65), 1);
  EXPECT_EQ(leaf(10, 100), 1);
  EXPECT_EQ(leaf(10, 101), 2);
  EXPECT_EQ(leaf(0, 0), 0);
}

TEST(Tree, ValidateNamesTheFirstViolation) {
  DecisionTree tree = example_tree();
  tree.nodes[1].left = 1;
  EXPECT_EQ(problem(tree), "tree node 1: has child 1, expected one in 2..4");
  tree = example_tree();
  tree.nodes[0].right = 5;
  EXPECT_EQ(problem(tree), "tree node 0: has child 5, expected one in 1..4");
  tree = example_tree();
  tree.nodes[1].feature = 2;
  EXPECT_EQ(problem(tree), "tree node 1: compares feature 2 of 2");
  tree = example_tree();
  tree.nodes[2].leaf = 3;
  EXPECT_EQ(problem(tree), "tree node 2: names leaf 3 of 3");
  tree = example_tree();
  tree.leaves[1][0] = 3;
  EXPECT_EQ(problem(tree), "tree leaf 1: names variant 3 of 3");
  tree = example_tree();
  tree.leaves[1].clear();
  EXPECT_EQ(problem(tree), "tree leaf 1: names no variant");
  tree = example_tree();
  tree.features[0].value = Expr::slot(9);
  EXPECT_EQ(problem(tree), "tree feature M*N: expression step 0: reads slot 9, expected one below 2");
  EXPECT_EQ(problem(DecisionTree()), "tree has no nodes");
}

}  // namespace
}  // namespace kaon
