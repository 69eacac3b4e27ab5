// Compiles a .tile text for `host`, runs it on the checking machine and asks the oracle whether the result is right.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/frontend/frontend.h"
#include "compiler/ir/parser.h"
#include "compiler/oracle/oracle.h"
#include "compiler/oracle/soft_float.h"
#include "runtime/base/guards.h"
#include "runtime/host/image.h"
#include "runtime/host/machine.h"

namespace kaon::compiler {

struct HostCase {
  std::string source;         // .tile text, of which the first kernel is taken, or a logical kernel's text
  DType dtype = DType::kF32;  // for every generic
  std::string config;         // knobs as text, the rest default
  std::map<std::string, int64_t> dims;
  std::vector<int64_t> scalars;  // bits as in slots
  int64_t row_padding = 0;       // elements between rows of the inputs
  int64_t misalignment = 0;      // elements before each tensor's first, past a 256-byte boundary
  double scale = 2;              // of the normal inputs
  std::map<std::string, std::vector<int64_t>> integers;  // integer inputs given in full, row-major
  std::map<std::string, int64_t> below = {};  // integer inputs whose elements are uniform from 0 to this
};

inline Result<Kernel> logical_kernel(const HostCase& c) {
  if (c.source.find("stage logical") != std::string::npos) return parse_kernel(c.source);
  SourceFile file("case.tile", c.source);
  Diagnostics diagnostics(file);
  std::unique_ptr<Program> program = Program::create(file, &diagnostics);
  if (program == nullptr) return Status(Code::kCompile, diagnostics.render());
  const KernelInfo& info = program->kernels()[0];
  DTypeBinding binding;
  if (!info.bindings.empty()) binding = info.bindings[0];
  for (auto& [name, dtype] : binding) dtype = c.dtype;
  return program->instantiate(info.name, binding);
}

/// A tensor between red zones, with rows that may be padded and start off alignment.
class ZonedTensor {
 public:
  static constexpr size_t kZone = 256;

  ZonedTensor(DType dtype, std::vector<int64_t> sizes, int64_t padding, int64_t misalignment) {
    view_.dtype = dtype;
    view_.sizes = std::move(sizes);
    view_.strides.assign(view_.sizes.size(), 1);
    int64_t count = 1;
    for (size_t i = view_.sizes.size(); i-- > 0;) {
      view_.strides[i] = count;
      count *= view_.sizes[i];
      if (i + 1 == view_.sizes.size() && i > 0) count += padding;
    }
    bytes_.assign(3 * kZone + static_cast<size_t>((count + misalignment) * dtype_bytes(dtype)), kPoison);
    const auto start = (reinterpret_cast<uintptr_t>(bytes_.data()) + 2 * kZone - 1) / kZone * kZone;
    view_.data = reinterpret_cast<uint8_t*>(start) + misalignment * dtype_bytes(dtype);
  }
  ZonedTensor(const ZonedTensor&) = delete;
  ZonedTensor(ZonedTensor&&) = default;

  const HostTensor& view() const { return view_; }

  /// Visits the address of each element.
  template <typename Visit>
  void each(Visit&& visit) const {
    std::vector<int64_t> at(view_.sizes.size(), 0);
    if (std::count(view_.sizes.begin(), view_.sizes.end(), 0) > 0) return;
    for (;;) {
      int64_t offset = 0;
      for (size_t i = 0; i < at.size(); ++i) offset += at[i] * view_.strides[i];
      visit(static_cast<uint8_t*>(view_.data) + offset * dtype_bytes(view_.dtype));
      size_t i = at.size();
      while (i > 0 && ++at[i - 1] == view_.sizes[i - 1]) at[--i] = 0;
      if (i == 0) return;
    }
  }

  void fill(std::mt19937_64& random, double scale) {
    std::normal_distribution<double> normal(0, scale);
    const DType dtype = view_.dtype;
    each([&](uint8_t* element) {
      const double value = normal(random);
      uint64_t bits =
          dtype_is_float(dtype) ? encode_float(dtype, value) : static_cast<uint64_t>(std::llround(value * 8));
      if (dtype == DType::kBool) bits = value > 0;
      std::memcpy(element, &bits, static_cast<size_t>(dtype_bytes(dtype)));
    });
  }

  /// Sets all elements of an integer tensor, in row-major order.
  void set(const std::vector<int64_t>& values) {
    size_t next = 0;
    each([&](uint8_t* element) {
      if (next < values.size()) std::memcpy(element, &values[next], static_cast<size_t>(dtype_bytes(view_.dtype)));
      ++next;
    });
    EXPECT_EQ(next, values.size()) << "the case gives another number of elements than the tensor has";
  }

  void fill_below(std::mt19937_64& random, int64_t limit) {
    each([&](uint8_t* element) {
      const uint64_t bits = limit > 0 ? random() % static_cast<uint64_t>(limit) : 0;
      std::memcpy(element, &bits, static_cast<size_t>(dtype_bytes(view_.dtype)));
    });
  }

  /// Elements that are no longer poison but that nobody should have written.
  int64_t stray_writes(const std::vector<OracleElement>& written) const {
    std::set<int64_t> offsets;
    for (const OracleElement& element : written) offsets.insert(element.offset);
    const int64_t bytes = dtype_bytes(view_.dtype);
    int64_t stray = 0;
    each([&](uint8_t* element) {
      const bool is_poison = std::all_of(element, element + bytes, [](uint8_t byte) { return byte == kPoison; });
      stray += !is_poison && offsets.count((element - static_cast<uint8_t*>(view_.data)) / bytes) == 0;
    });
    return stray;
  }

  /// Bytes that belong to no element and are no longer poison.
  int64_t spoiled_bytes() const {
    std::vector<uint8_t> owned(bytes_.size(), 0);
    each([&](uint8_t* element) {
      for (int i = 0; i < dtype_bytes(view_.dtype); ++i) owned[static_cast<size_t>(element + i - bytes_.data())] = 1;
    });
    int64_t spoiled = 0;
    for (size_t i = 0; i < bytes_.size(); ++i) spoiled += owned[i] == 0 && bytes_[i] != kPoison;
    return spoiled;
  }

 private:
  static constexpr uint8_t kPoison = 0xa5;
  HostTensor view_;
  std::vector<uint8_t> bytes_;
};

/// Compiles `kernel`, runs it with `seed` and judges. Fails the test with config and first wrong elements.
inline void expect_right(const Kernel& kernel, const HostCase& c, uint64_t seed = 1) {
  SCOPED_TRACE(c.config + " " + dtype_name(c.dtype));
  Result<Config> config = Config::from_text(c.config);
  ASSERT_TRUE(config) << config.status().message();
  Result<CompiledVariant> variant = compile(kernel, *config, *find_target("host"), {});
  ASSERT_TRUE(variant) << variant.status().message();

  const Signature& signature = kernel.signature;
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()), 0);
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    slots[static_cast<size_t>(signature.dim_slot(static_cast<int>(i)))] = c.dims.at(signature.dims[i]);
  }
  std::mt19937_64 random(seed);
  std::vector<ZonedTensor> tensors;
  for (const TensorParam& param : signature.tensors) {
    std::vector<int64_t> sizes;
    for (const Expr& extent : param.extents) sizes.push_back(extent.evaluate(slots.data()));
    tensors.emplace_back(param.dtype, sizes, param.is_output ? 0 : c.row_padding, c.misalignment);
    const auto limit = c.below.find(param.name);
    if (limit != c.below.end()) {
      tensors.back().fill_below(random, limit->second);
    } else if (!param.is_output) {
      tensors.back().fill(random, c.scale);
    } else if (param.is_zeroed) {
      tensors.back().fill_below(random, 0);
    }
    if (c.integers.count(param.name) != 0) tensors.back().set(c.integers.at(param.name));
  }
  std::vector<HostTensor> views;
  for (size_t i = 0; i < tensors.size(); ++i) {
    views.push_back(tensors[i].view());
    slots[i] = reinterpret_cast<int64_t>(views[i].data);
    for (size_t axis = 0; axis < views[i].strides.size(); ++axis) {
      slots[static_cast<size_t>(signature.stride_slot(static_cast<int>(i), static_cast<int>(axis)))] =
          views[i].strides[axis];
    }
  }
  for (size_t i = 0; i < c.scalars.size(); ++i)
    slots[static_cast<size_t>(signature.scalar_slot(static_cast<int>(i)))] = c.scalars[i];
  ASSERT_EQ(refusing_guard(signature, variant->info.guards, slots.data()), "") << "the case breaks a guard";

  Result<std::unique_ptr<host::Image>> image = host::Image::load(variant->image);
  ASSERT_TRUE(image) << image.status().message();
  Result<host::KernelFunction> function = (*image)->find(variant->info.symbol);
  ASSERT_TRUE(function) << function.status().message();
  const LaunchPlan& plan = variant->info.plan;
  host::RunOptions options;
  options.seed = seed;
  Status ran = host::shared_machine().run(
      *function, {static_cast<uint64_t>(plan.programs.evaluate(slots.data())), plan.threads, plan.shared_bytes},
      slots.data(), options);
  ASSERT_TRUE(ran) << ran.message();
  Result<OracleResult> expected = interpret(kernel, views, c.scalars, {});
  ASSERT_TRUE(expected) << expected.status().message();
  const Judgement judgement = judge(kernel, *expected, views);
  EXPECT_TRUE(judgement.passed()) << judgement.to_string() << "\n" << variant->staged_ir;
  EXPECT_GT(judgement.compared, 0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].spoiled_bytes(), 0);
    const TensorParam& param = signature.tensors[i];
    EXPECT_TRUE(!param.is_output || param.is_zeroed || tensors[i].stray_writes(expected->outputs[i]) == 0);
  }
}

/// The same for the kernel of the case's source.
inline void expect_right(const HostCase& c, uint64_t seed = 1) {
  Result<Kernel> kernel = logical_kernel(c);
  ASSERT_TRUE(kernel) << kernel.status().message();
  expect_right(*kernel, c, seed);
}

}  // namespace kaon::compiler
