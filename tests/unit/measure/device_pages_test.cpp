// The oracle's view of a device's tensor: exact where it was asked for, and no more is copied than that takes.
#include "aot_runner/measure/device_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "aot_runner/measure/device.h"

namespace kaon::runner {
namespace {

constexpr int64_t kPage = DevicePages::kPageBytes / 4;  // elements of a page

class DevicePagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto device = open_device("host");
    ASSERT_TRUE(device.is_ok());
    device_ = std::move(device).value();
    std::iota(values_.begin(), values_.end(), 1u);
    span_ = {reinterpret_cast<int64_t>(values_.data()), static_cast<int64_t>(values_.size()), 4};
  }

  static uint32_t at(const DevicePages& pages, int64_t offset) {
    uint32_t value;
    std::memcpy(&value, pages.data() + offset * 4, 4);
    return value;
  }

  std::unique_ptr<Device> device_;
  std::vector<uint32_t> values_ = std::vector<uint32_t>(static_cast<size_t>(5 * kPage + 7));
  Span span_;
};

TEST_F(DevicePagesTest, CopiesThePagesThatAreNeededOnce) {
  auto pages = DevicePages::open(*device_, span_);
  ASSERT_TRUE(pages.is_ok());
  const std::vector<int64_t> offsets = {3 * kPage + 1, kPage, INT64_MIN, 2 * kPage - 1, 3 * kPage};
  pages->need(offsets, offsets.size());
  EXPECT_TRUE(pages->status().is_ok());
  EXPECT_EQ(pages->bytes_copied(), 2 * DevicePages::kPageBytes);
  for (const int64_t offset : offsets) {
    if (offset < 0) continue;
    EXPECT_EQ(at(*pages, offset), values_[static_cast<size_t>(offset)]);
  }
  EXPECT_EQ(at(*pages, 0), 0u);
  pages->need(offsets, offsets.size());
  EXPECT_EQ(pages->bytes_copied(), 2 * DevicePages::kPageBytes);
}

TEST_F(DevicePagesTest, TheLastPageMayBeShort) {
  auto pages = DevicePages::open(*device_, span_);
  ASSERT_TRUE(pages.is_ok());
  pages->need({5 * kPage + 6, 0}, 2);
  EXPECT_EQ(pages->bytes_copied(), DevicePages::kPageBytes + 7 * 4);
  EXPECT_EQ(at(*pages, 5 * kPage + 6), values_.back());
}

TEST_F(DevicePagesTest, OnlyTheFirstCountOffsetsMatter) {
  auto pages = DevicePages::open(*device_, span_);
  ASSERT_TRUE(pages.is_ok());
  pages->need({0, 4 * kPage}, 1);
  EXPECT_EQ(pages->bytes_copied(), DevicePages::kPageBytes);
}

TEST_F(DevicePagesTest, EmptyTensorsHaveNoPages) {
  auto pages = DevicePages::open(*device_, {span_.address, 0, 4});
  ASSERT_TRUE(pages.is_ok());
  pages->need({}, 0);
  EXPECT_EQ(pages->bytes_copied(), 0);
}

}  // namespace
}  // namespace kaon::runner
