// Child processes: lines in and out, patience, deaths and last words.
#include "aot_runner/tune/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace kaon::runner {
namespace {

using ::testing::HasSubstr;

TEST(Child, EchoesLinesUntilItsInputEnds) {
  Child child;
  ASSERT_TRUE(child.start({"/bin/cat"}).is_ok());
  ASSERT_TRUE(child.send("one").is_ok());
  ASSERT_TRUE(child.send(std::string(200000, 'x')).is_ok());
  EXPECT_EQ(child.receive(5).value(), "one");
  EXPECT_EQ(child.receive(5).value().size(), 200000u);
}

TEST(Child, SilenceIsATimeout) {
  Child child;
  ASSERT_TRUE(child.start({"/bin/sleep", "60"}).is_ok());
  const auto line = child.receive(0.1);
  ASSERT_FALSE(line.is_ok());
  EXPECT_EQ(line.status().code(), Code::kTimeout);
  EXPECT_THAT(child.kill(), HasSubstr("signal 9"));
}

TEST(Child, ADeathIsAnErrorWithHowAndLastWords) {
  Child child;
  ASSERT_TRUE(child.start({"/bin/sh", "-c", "echo ready; echo 'illegal access at 0x10' >&2; kill -SEGV $$"}).is_ok());
  EXPECT_EQ(child.receive(5).value(), "ready");
  const auto line = child.receive(5);
  ASSERT_FALSE(line.is_ok());
  EXPECT_EQ(line.status().code(), Code::kIo);
  EXPECT_EQ(child.last_words(), "illegal access at 0x10");
  EXPECT_THAT(child.reap(), HasSubstr("signal 11"));
}

TEST(Child, WritingToADeadChildIsAStatusAndNoSignal) {
  Child child;
  ASSERT_TRUE(child.start({"/bin/true"}).is_ok());
  EXPECT_FALSE(child.receive(5).is_ok());
  Status status;
  for (int i = 0; i < 100 && status.is_ok(); ++i) status = child.send(std::string(1000, 'x'));
  EXPECT_EQ(status.code(), Code::kIo);
}

TEST(Child, AMissingProgramIsNotFound) {
  Child child;
  const Status status = child.start({"/nowhere/aot_measure"});
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("/nowhere/aot_measure"));
  EXPECT_FALSE(find_beside("no_such_program").is_ok());
}

TEST(Child, CanBeStartedAgainAfterADeath) {
  Child child;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(child.start({"/bin/sh", "-c", "echo hello"}).is_ok());
    EXPECT_EQ(child.receive(5).value(), "hello");
  }
}

}  // namespace
}  // namespace kaon::runner
