// Images made by the system's compiler: what loads, and what a damaged one is told.
#include "runtime/host/image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "runtime/host/machine.h"

namespace kaon::host {
namespace {

using ::testing::HasSubstr;

/// The bytes of a shared object made from C `source`; empty when the compiler fails.
std::string image_of_c(const std::string& source) {
  const std::string base = ::testing::TempDir() + "kaon_image_test_" + std::to_string(getpid());
  std::ofstream(base + ".c") << source;
  const std::string command = "cc -O1 -fPIC -shared -nostdlib -o " + base + ".so " + base + ".c";
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream file(base + ".so", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::remove((base + ".c").c_str());
  std::remove((base + ".so").c_str());
  return bytes;
}

std::string kernel_source(int factor) {
  return "struct T { const void* table; unsigned thread, n; unsigned long block, blocks; };\n"
         "void scale(struct T* self, const long* slots) {\n"
         "  long i = self->block * self->n + self->thread;\n"
         "  ((float*)slots[0])[i] *= " +
         std::to_string(factor) + ";\n}\n";
}

TEST(Image, LoadsAndRunsOverAGrid) {
  auto image = Image::load(image_of_c(kernel_source(3)));
  ASSERT_TRUE(image.is_ok()) << image.status().to_string();
  auto kernel = (*image)->find("scale");
  ASSERT_TRUE(kernel.is_ok());
  std::vector<float> data(64 * 100, 2.0f);
  const int64_t slots[] = {reinterpret_cast<int64_t>(data.data())};
  Status status = shared_machine().run(*kernel, {100, 64, 0}, slots, {});
  ASSERT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_THAT(data, ::testing::Each(6.0f));
}

TEST(Image, TwoImagesWithTheSameSymbolDoNotMix) {
  auto three = Image::load(image_of_c(kernel_source(3)));
  auto five = Image::load(image_of_c(kernel_source(5)));
  ASSERT_TRUE(three.is_ok() && five.is_ok());
  std::vector<float> data(32, 1.0f);
  const int64_t slots[] = {reinterpret_cast<int64_t>(data.data())};
  ASSERT_TRUE(shared_machine().run(*(*three)->find("scale"), {1, 32, 0}, slots, {}).is_ok());
  ASSERT_TRUE(shared_machine().run(*(*five)->find("scale"), {1, 32, 0}, slots, {}).is_ok());
  EXPECT_THAT(data, ::testing::Each(15.0f));
}

TEST(Image, AnotherOneLoadedAfterUnloadingIsTheNewOne) {
  for (const int factor : {2, 7, 11}) {
    auto image = Image::load(image_of_c(kernel_source(factor)));
    ASSERT_TRUE(image.is_ok());
    std::vector<float> data(32, 1.0f);
    const int64_t slots[] = {reinterpret_cast<int64_t>(data.data())};
    ASSERT_TRUE(shared_machine().run(*(*image)->find("scale"), {1, 32, 0}, slots, {}).is_ok());
    EXPECT_THAT(data, ::testing::Each(static_cast<float>(factor)));
  }
}

TEST(Image, MissingKernelIsNotFound) {
  auto image = Image::load(image_of_c(kernel_source(3)));
  ASSERT_TRUE(image.is_ok());
  auto kernel = (*image)->find("shrink");
  EXPECT_EQ(kernel.status().code(), Code::kNotFound);
  EXPECT_THAT(kernel.status().message(), HasSubstr("shrink"));
}

TEST(Image, EveryTruncationIsRefusedOrLoadsWhole) {
  const std::string bytes = image_of_c(kernel_source(3));
  ASSERT_FALSE(bytes.empty());
  for (size_t keep = 0; keep < bytes.size(); keep += 97) {
    auto image = Image::load(std::string_view(bytes).substr(0, keep));
    if (!image.is_ok()) {
      EXPECT_EQ(image.status().code(), Code::kCorrupt);
      continue;
    }
    EXPECT_TRUE((*image)->find("scale").is_ok()) << "only section headers, which nobody reads, may be missing";
  }
}

TEST(Image, UndefinedSymbolsAreNamed) {
  auto image =
      Image::load(image_of_c("void missing_function(void); void k(void* s, const long* p) { missing_function(); }"));
  ASSERT_FALSE(image.is_ok());
  EXPECT_EQ(image.status().code(), Code::kCorrupt);
  EXPECT_THAT(image.status().message(), HasSubstr("missing_function"));
}

TEST(Image, AnotherAbiVersionIsRefused) {
  auto image = Image::load(image_of_c(kernel_source(3) + "const unsigned long kaon_simt_abi_version = 99;"));
  ASSERT_FALSE(image.is_ok());
  EXPECT_THAT(image.status().message(), HasSubstr("version 99"));
}

TEST(Image, AnotherProcessorIsUnsupported) {
  std::string bytes = image_of_c(kernel_source(3));
  ASSERT_GT(bytes.size(), 20u);
  bytes[18] = 8;  // e_machine: MIPS
  bytes[19] = 0;
  EXPECT_EQ(Image::load(bytes).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace kaon::host
