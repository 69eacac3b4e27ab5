// Files of a finished run that are not what a command wants, told in words that name the right one.
#include "aot_runner/tune/artifacts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "aot_runner/tune/files.h"

namespace kaon::runner {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string message_of(const std::string& name, const std::string& bytes) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "kaon_artifacts";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / name, std::ios::binary) << bytes;
  const Result<Loaded> loaded = load_measurements((folder / name).string());
  EXPECT_FALSE(loaded.is_ok());
  return loaded.status().message();
}

TEST(Artifacts, APackInPlaceOfItsMeasurementsIsToldWhole) {
  const Result<std::string> pack =
      read_file(std::string(KAON_SOURCE_DIR) + "/pretuned/vector_add/sm90/vector_add_sm90.kpack");
  ASSERT_TRUE(pack.is_ok()) << pack.status().message();
  EXPECT_THAT(message_of("whole.kpack", *pack),
              AllOf(HasSubstr("whole.kpack is a pack; "), HasSubstr("measurements.json or its folder")));
  for (const size_t bytes : {size_t{0}, size_t{5}, size_t{64}, pack->size() / 2, pack->size() - 1}) {
    EXPECT_THAT(message_of("cut.kpack", pack->substr(0, bytes)),
                AllOf(HasSubstr("cut.kpack is a damaged pack: "), Not(HasSubstr("JSON"))))
        << bytes;
  }
  EXPECT_THAT(message_of("renamed.json", pack->substr(0, 100)), HasSubstr("renamed.json is a damaged pack: "));
}

TEST(Artifacts, MeasurementsThatEndEarlyAreToldAsSuch) {
  EXPECT_THAT(message_of("measurements.json", "{\"format\": "), HasSubstr("it was truncated"));
}

}  // namespace
}  // namespace kaon::runner
