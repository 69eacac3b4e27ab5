// What the cache of oracle results keeps and drops.
#include "aot_runner/measure/oracle_cache.h"

#include <gtest/gtest.h>

namespace kaon::runner {
namespace {

std::shared_ptr<const compiler::OracleResult> result(size_t elements) {
  auto made = std::make_shared<compiler::OracleResult>();
  made->outputs.resize(1);
  made->outputs[0].resize(elements);
  return made;
}

constexpr int64_t kElement = sizeof(compiler::OracleElement);

TEST(OracleCache, FindsWhatItKept) {
  OracleCache cache(10 * kElement);
  const auto a = result(3);
  cache.keep("a", a);
  EXPECT_EQ(cache.find("a"), a);
  EXPECT_EQ(cache.find("b"), nullptr);
}

TEST(OracleCache, DropsTheOldestWhenFull) {
  OracleCache cache(10 * kElement);
  cache.keep("a", result(4));
  cache.keep("b", result(4));
  cache.keep("c", result(4));
  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_NE(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
}

TEST(OracleCache, OneThatIsTooLargeIsStillKeptAlone) {
  OracleCache cache(10 * kElement);
  cache.keep("a", result(4));
  cache.keep("b", result(40));
  EXPECT_EQ(cache.find("a"), nullptr);
  EXPECT_NE(cache.find("b"), nullptr);
  cache.keep("c", result(4));
  EXPECT_EQ(cache.find("b"), nullptr);
  EXPECT_NE(cache.find("c"), nullptr);
}

TEST(OracleCache, ANewResultReplacesTheOldOne) {
  OracleCache cache(10 * kElement);
  cache.keep("a", result(4));
  const auto b = result(8);
  cache.keep("a", b);
  EXPECT_EQ(cache.find("a"), b);
}

TEST(OracleCache, ForgetsByTheBeginningOfAKey) {
  OracleCache cache(10 * kElement);
  cache.keep("k1\nx", result(1));
  cache.keep("k1\ny", result(1));
  cache.keep("k11\nx", result(1));
  cache.forget("k1\n");
  EXPECT_EQ(cache.find("k1\nx"), nullptr);
  EXPECT_EQ(cache.find("k1\ny"), nullptr);
  EXPECT_NE(cache.find("k11\nx"), nullptr);
}

}  // namespace
}  // namespace kaon::runner
