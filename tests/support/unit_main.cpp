// The main of the unit tests: `PROGRAM FILE` runs the tests of FILE.cpp alone, in a process of their own as ctest does it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace {

/// The tests that stand in `stem`.cpp, as a filter; empty when there are none.
std::string tests_of_file(const std::string& stem) {
  std::string filter;
  const auto& all = *::testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const auto& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const auto& test = *suite.GetTestInfo(t);
      if (std::filesystem::path(test.file()).stem() != stem) continue;
      filter += (filter.empty() ? "" : ":") + std::string(suite.name()) + "." + test.name();
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (argc > 2) {
    std::fprintf(stderr, "usage: %s [FILE] [--gtest_...]\n", argv[0]);
    return 2;
  }
  if (argc == 2) {
    const std::string filter = tests_of_file(argv[1]);
    if (filter.empty()) {
      std::fprintf(stderr, "error: no test stands in %s.cpp\n", argv[1]);
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
