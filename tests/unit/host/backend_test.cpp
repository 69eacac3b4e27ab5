// The launch path's backend on the host: what it loads, runs and refuses.
#include "runtime/host/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include "runtime/launch/backend.h"

namespace kaon::host {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

std::string compile(const std::string& source) {
  const std::string base = ::testing::TempDir() + "kaon_backend_test_" + std::to_string(getpid());
  std::ofstream(base + ".c") << "#include \"runtime/host/simt_abi.h\"\n" << source;
  const std::string command = "cc -O1 -fPIC -shared -nostdlib -I" KAON_SOURCE_DIR " -o " + base + ".so " + base + ".c";
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream file(base + ".so", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::remove((base + ".c").c_str());
  std::remove((base + ".so").c_str());
  return bytes;
}

TEST(HostBackend, InstalledItLoadsAndLaunches) {
  install();
  Backend* backend = host_backend();
  ASSERT_NE(backend, nullptr);
  EXPECT_STREQ(backend->name(), "host");
  uint64_t context = 0;
  EXPECT_TRUE(backend->current_context(0, &context).is_ok());
  EXPECT_NE(context, 0u);
  auto facts = backend->device_facts(0);
  ASSERT_TRUE(facts.is_ok());
  EXPECT_EQ(facts->hardware, "host");
  EXPECT_GE(facts->num_sms, 1u);

  const std::string image = compile(
      "void fill(struct KaonSimtThread* self, const int64_t* s) {\n"
      "  ((int*)s[0])[self->block * self->num_threads + self->thread] = (int)s[1];\n}\n");
  auto loaded = backend->load_image({ImageKind::kHostElf, image.data(), image.size()}, "fill host");
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  auto function = backend->load_function(*loaded, "fill", 0, 0);
  ASSERT_TRUE(function.is_ok());
  std::vector<int> out(4 * 64, 1);
  const int64_t slots[] = {reinterpret_cast<int64_t>(out.data()), 42};
  ASSERT_TRUE(backend->launch(*function, {4, 64, 0, 1}, slots, 2, nullptr).is_ok());
  EXPECT_THAT(out, Each(42));
  ASSERT_TRUE(backend->zero(out.data(), out.size() * sizeof(int), nullptr).is_ok());
  EXPECT_THAT(out, Each(0));
  EXPECT_FALSE(*backend->is_capturing(nullptr));

  // A child has none of the threads that helped its parent, and works and ends all the same.
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const bool good = backend->launch(*function, {4, 64, 0, 1}, slots, 2, nullptr).is_ok() && out[255] == 42;
    exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(backend->load_function(*loaded, "drain", 0, 0).status().code(), Code::kNotFound);
}

TEST(HostBackend, CheckedLaunchesReportRaces) {
  install();
  const std::string image = compile(
      "void race(struct KaonSimtThread* self, const int64_t* s) {\n"
      "  self->table->write_shared(self, 0, &self->thread, 4, 1);\n}\n");
  auto loaded = host_backend()->load_image({ImageKind::kHostElf, image.data(), image.size()}, "race host");
  ASSERT_TRUE(loaded.is_ok()) << loaded.status().to_string();
  auto function = host_backend()->load_function(*loaded, "race", 0, 4);
  ASSERT_TRUE(function.is_ok());
  const int64_t slots[] = {0};
  EXPECT_TRUE(host_backend()->launch(*function, {1, 32, 4, 1}, slots, 1, nullptr).is_ok());
  install({.checked = true});
  EXPECT_THAT(host_backend()->launch(*function, {1, 32, 4, 1}, slots, 1, nullptr).message(), HasSubstr("race"));
}

TEST(HostBackend, RefusesWhatItCannotRun) {
  install();
  EXPECT_EQ(host_backend()->device_facts(1).status().code(), Code::kNoDevice);
  auto cubin = host_backend()->load_image({ImageKind::kCubin, "x", 1}, "softmax f16");
  EXPECT_EQ(cubin.status().code(), Code::kUnsupported);
  EXPECT_THAT(cubin.status().message(), HasSubstr("softmax f16"));
  auto damaged = host_backend()->load_image({ImageKind::kHostElf, "x", 1}, "softmax f16");
  EXPECT_EQ(damaged.status().code(), Code::kCorrupt);
}

}  // namespace
}  // namespace kaon::host
