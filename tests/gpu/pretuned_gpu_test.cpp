// Every variant of the pretuned kernels on this machine's GPU against the oracle: odd extents, empty calls, misaligned
// bases, padded rows, NaN and infinities, with untouched memory around every tensor. Skips itself without a GPU.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "compiler/frontend/frontend.h"
#include "compiler/oracle/oracle.h"
#include "compiler/oracle/soft_float.h"
#include "pretuned/pretuned.h"
#include "runtime/driver/driver.h"
#include "runtime/launch/control.h"
#include "runtime/launch/kernel.h"

namespace kaon {
namespace {

constexpr int64_t kZone = 4096;
constexpr uint8_t kPattern = 0xA5;

struct Case {
  std::vector<int64_t> sizes;
  int64_t misalignment = 0;  // elements
  int64_t row_padding = 0;   // elements
  bool specials = false;     // NaN and infinities among the inputs
};

/// One tensor on the device and its image on the host, with red zones on both sides.
class GpuTensor {
 public:
  GpuTensor(const cuda::Driver& driver, DType dtype, const Case& c) : driver_(driver), dtype_(dtype) {
    sizes_ = c.sizes;
    strides_.assign(sizes_.size(), 1);
    int64_t span = 1;
    for (size_t i = sizes_.size(); i-- > 0;) {
      strides_[i] = span;
      span *= sizes_[i];
      if (i + 1 == sizes_.size() && i > 0) span += c.row_padding;
    }
    offset_ = kZone + c.misalignment * dtype_bytes(dtype);
    bytes_.assign(static_cast<size_t>(offset_ + span * dtype_bytes(dtype) + kZone), kPattern);
    EXPECT_EQ(driver_.mem_alloc(&device_, bytes_.size()), cuda::kCudaSuccess);
  }
  ~GpuTensor() { driver_.mem_free(device_); }
  GpuTensor(const GpuTensor&) = delete;

  int64_t count() const {
    int64_t count = 1;
    for (int64_t size : sizes_) count *= size;
    return count;
  }
  uint8_t* element(int64_t index) {
    int64_t at = 0;
    for (size_t i = sizes_.size(); i-- > 0; index /= sizes_[i]) at += index % sizes_[i] * strides_[i];
    return bytes_.data() + offset_ + at * dtype_bytes(dtype_);
  }
  void upload() {
    before_ = bytes_;
    EXPECT_EQ(driver_.memcpy_htod_async(device_, bytes_.data(), bytes_.size(), nullptr), cuda::kCudaSuccess);
    EXPECT_EQ(driver_.stream_synchronize(nullptr), cuda::kCudaSuccess);
  }
  void download() {
    EXPECT_EQ(driver_.memcpy_dtoh_async(bytes_.data(), device_, bytes_.size(), nullptr), cuda::kCudaSuccess);
    EXPECT_EQ(driver_.stream_synchronize(nullptr), cuda::kCudaSuccess);
  }
  bool is_unchanged() const { return bytes_ == before_; }
  /// Bytes outside the elements are as they were uploaded.
  bool zones_intact() {
    std::vector<uint8_t> probe = bytes_;
    std::swap(probe, bytes_);
    bytes_ = before_;
    for (int64_t i = 0; i < count(); ++i) std::memcpy(element(i), probe.data() + (element(i) - bytes_.data()), dtype_bytes(dtype_));
    const bool intact = bytes_ == probe;
    bytes_ = std::move(probe);
    return intact;
  }
  TensorView view() const {
    TensorView view = TensorView::contiguous(reinterpret_cast<void*>(device_ + static_cast<uint64_t>(offset_)), dtype_, {});
    view.rank = static_cast<uint8_t>(sizes_.size());
    for (size_t i = 0; i < sizes_.size(); ++i) view.sizes[i] = sizes_[i], view.strides[i] = strides_[i];
    return view;
  }
  compiler::HostTensor host() { return {dtype_, bytes_.data() + offset_, sizes_, strides_}; }

 private:
  const cuda::Driver& driver_;
  DType dtype_;
  std::vector<int64_t> sizes_, strides_;
  int64_t offset_ = 0;
  std::vector<uint8_t> bytes_, before_;
  cuda::CuDevicePtr device_ = 0;
};

void write_float(uint8_t* at, DType dtype, float value) {
  const uint64_t bits = compiler::encode_float(dtype, value);
  std::memcpy(at, &bits, static_cast<size_t>(dtype_bytes(dtype)));
}

void fill(GpuTensor& tensor, DType dtype, const Case& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, 2);
  for (int64_t i = 0; i < tensor.count(); ++i) write_float(tensor.element(i), dtype, normal(random));
  if (!c.specials || tensor.count() == 0) return;
  const float specials[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(), NAN};
  for (int i = 0; i < 6; ++i) write_float(tensor.element(static_cast<int64_t>(random() % static_cast<uint64_t>(tensor.count()))), dtype, specials[i % 3]);
}

class PretunedOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    auto driver = cuda::driver();
    if (!driver) GTEST_SKIP() << driver.status().to_string();
    driver_ = *driver;
    cuda::CuContext context = nullptr;
    ASSERT_EQ(driver_->device_primary_ctx_retain(&context, 0), cuda::kCudaSuccess);
    ASSERT_EQ(driver_->ctx_set_current(context), cuda::kCudaSuccess);
    kaon_register_pretuned();
    // Packs that were just tuned come before the linked ones.
    const char* fresh = std::getenv("KAON_BENCH_PACKS");
    std::stringstream paths(fresh != nullptr ? fresh : "");
    for (std::string path; std::getline(paths, path, ':');) ASSERT_TRUE(path.empty() || load_pack(path).is_ok()) << path;
  }

  void check_all(const std::string& name, int num_inputs, const std::vector<Case>& cases) {
    std::ifstream file(KAON_PRETUNED_DIR "/" + name + "/" + name + ".tile");
    std::stringstream text;
    text << file.rdbuf();
    compiler::SourceFile source(name + ".tile", text.str());
    compiler::Diagnostics diagnostics(source);
    auto program = compiler::Program::create(source, &diagnostics);
    ASSERT_NE(program, nullptr) << diagnostics.render();
    auto kernel = Kernel::find(name);
    ASSERT_TRUE(kernel.is_ok()) << kernel.status().to_string();
    for (const auto& binding : program->kernels()[0].bindings) {
      auto logical = program->instantiate(name, binding);
      ASSERT_TRUE(logical.is_ok());
      for (const Case& c : cases) check_case(*kernel, *logical, num_inputs, binding.begin()->second, c);
    }
  }

  void check_case(const Kernel& kernel, const compiler::Kernel& logical, int num_inputs, DType dtype, const Case& c) {
    std::vector<std::unique_ptr<GpuTensor>> tensors;
    std::vector<TensorView> views;
    std::vector<const TensorView*> arguments;
    std::vector<compiler::HostTensor> host;
    for (int i = 0; i <= num_inputs; ++i) {
      tensors.push_back(std::make_unique<GpuTensor>(*driver_, dtype, c));
      if (i < num_inputs) fill(*tensors.back(), dtype, c, 100 + static_cast<uint64_t>(i));
      tensors.back()->upload();
      views.push_back(tensors.back()->view());
      host.push_back(tensors.back()->host());
    }
    for (const TensorView& view : views) arguments.push_back(&view);
    compiler::OracleOptions options;
    options.max_programs = 48;
    auto expected = compiler::interpret(logical, host, {}, options);
    ASSERT_TRUE(expected.is_ok()) << expected.status().to_string();
    int served = 0;
    for (int variant = -1; variant < 16; ++variant) {  // -1: as a call chooses
      ASSERT_TRUE(force_variant(variant < 0 ? "" : std::to_string(variant)).is_ok());
      GpuTensor& out = *tensors.back();
      out.upload();
      CallInfo info;
      const Status status = kernel.call(nullptr, arguments.data(), static_cast<int>(arguments.size()), nullptr, 0, &info);
      if (!status && variant >= 0) continue;  // no such variant, or its guards refuse this call
      ASSERT_TRUE(status.is_ok()) << status.to_string();
      out.download();
      ++served;
      const std::string where = describe(c, dtype, info);
      EXPECT_TRUE(out.zones_intact()) << where << ": wrote outside the output";
      host.back() = out.host();
      const compiler::Judgement judgement = compiler::judge(logical, *expected, host);
      EXPECT_TRUE(judgement.passed()) << where << ": " << judgement.to_string();
    }
    EXPECT_GE(served, 2) << "the chosen variant and at least the generic one";
    for (int i = 0; i < num_inputs; ++i) {
      tensors[static_cast<size_t>(i)]->download();
      EXPECT_TRUE(tensors[static_cast<size_t>(i)]->is_unchanged()) << "input " << i << " was written";
    }
    (void)force_variant("");
  }

  static std::string describe(const Case& c, DType dtype, const CallInfo& info) {
    std::string text = std::string(dtype_name(dtype)) + " ";
    for (int64_t size : c.sizes) text += std::to_string(size) + "x";
    text += " misaligned by " + std::to_string(c.misalignment) + " padded by " + std::to_string(c.row_padding);
    return text + ", " + match_name(info.match) + ": " + (info.variant != nullptr ? info.variant->config : "nothing to do");
  }

  const cuda::Driver* driver_ = nullptr;
};

TEST_F(PretunedOnGpu, EverySoftmaxVariantIsRightOnAwkwardShapes) {
  check_all("softmax", 1,
            {{{0, 8}}, {{3, 0}}, {{1, 1}}, {{5, 127}}, {{9, 1000}}, {{4, 1024}, 0, 8}, {{33, 64}}, {{3, 8193}}, {{2, 12543}, 3},
             {{2, 12544}, 0, 24}, {{7, 4096}, 1}, {{2, 50257}}, {{1, 131072}}, {{6, 777}, 0, 0, true}, {{6, 2048}, 0, 0, true}});
}

TEST_F(PretunedOnGpu, EveryVectorAddVariantIsRightOnAwkwardLengths) {
  check_all("vector_add", 2,
            {{{0}}, {{1}}, {{127}}, {{1024}}, {{8193}}, {{100003}, 1}, {{65536}, 3}, {{1 << 20}}, {{5000}, 0, 0, true}});
}

}  // namespace
}  // namespace kaon
