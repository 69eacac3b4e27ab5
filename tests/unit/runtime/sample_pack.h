// A small kernel's packs for tests: scale_rows(x: T[M, N], w: T[N]) -> (out: T[M, N]), with images that the stub driver
// accepts.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/launch/kernel_table.h"
#include "runtime/launch/pack.h"
#include "runtime/launch/pack_writer.h"

namespace kaon::testing {

// Slots of scale_rows: x w out M N x_stride0 x_stride1 w_stride0 out_stride0 out_stride1.
enum Slot { kX, kW, kOut, kM, kN, kXStride0, kXStride1, kWStride0, kOutStride0, kOutStride1, kNumSlots };

inline Signature scale_rows_signature(const std::string& kernel, DType dtype) {
  Signature s;
  s.kernel = kernel;
  s.dims = {"M", "N"};
  Expr m = Expr::slot(kM), n = Expr::slot(kN);
  s.tensors = {{"x", dtype, "T", false, false, "", {m, n}},
               {"w", dtype, "T", false, false, "", {n}},
               {"out", dtype, "T", true, false, "x", {m, n}}};
  return s;
}

inline PackVariant sample_variant(const std::string& symbol, int rows, std::vector<Guard> guards,
                                  uint32_t shared_bytes) {
  PackVariant v;
  v.info.symbol = symbol;
  v.info.config.set("block.m", rows);
  v.info.guards = std::move(guards);
  v.info.plan.steps = {{StepKind::kKernel, 0}};
  v.info.plan.programs = ceil_div(Expr::slot(kM), rows);
  v.info.plan.threads = 128;
  v.info.plan.shared_bytes = shared_bytes;
  v.info.requirements = {shared_bytes, 32, 128};
  return v;
}

/// Variants: 0 for N <= 4096 and N % 8 == 0; 1 with 144 KB of shared memory; 2 for N <= 65536; 3 generic.
/// Tree: N <= 4096 -> {0, 2, 3}, else {1, 2, 3}. Measured: 64 x 256, 64 x 8192.
inline PackTable sample_table(const std::string& kernel, DType dtype) {
  PackTable t;
  t.signature = scale_rows_signature(kernel, dtype);
  t.dtype_key = t.signature.dtype_key();
  std::string stem = kernel + "_" + t.dtype_key + "_v";
  t.variants = {
      sample_variant(stem + "0", 4, {{GuardKind::kDivisible, kN, 0, 8}, {GuardKind::kAtMost, kN, 0, 4096}}, 1024),
      sample_variant(stem + "1", 1, {{GuardKind::kAtLeast, kN, 0, 4097}}, 147456),
      sample_variant(stem + "2", 2, {{GuardKind::kAtMost, kN, 0, 65536}}, 0),
      sample_variant(stem + "3", 8, {}, 0),
  };
  t.generic_variant = 3;
  t.tree.features = {{"N", Expr::slot(kN)}};
  t.tree.nodes = {{0, 4096, 1, 2, 0, 2}, {-1, 0, 0, 0, 0, 1}, {-1, 0, 0, 0, 1, 1}};
  t.tree.leaves = {{0, 2, 3}, {1, 2, 3}};
  t.ranges = {{1, 4096, false}, {64, 16384, false}};
  t.shapes = {{64, 256}, {64, 8192}};
  return t;
}

/// Every variant has an image for each of `targets`; the first target is the measured one.
inline PackContents sample_pack(const std::string& kernel, const std::string& hardware,
                                const std::vector<std::string>& targets, ImageKind kind = ImageKind::kCubin) {
  PackContents contents;
  contents.records.kernel = kernel;
  contents.records.hardware = hardware;
  contents.records.tables = {sample_table(kernel, DType::kF16), sample_table(kernel, DType::kF32)};
  contents.json = "{\"made\": \"by a test\"}";
  for (const std::string& target : targets) {
    std::string text = "image for " + target + ":";
    for (const PackTable& table : contents.records.tables) {
      for (const PackVariant& variant : table.variants) text += " " + variant.info.symbol;
    }
    text += '\0';
    uint32_t index = static_cast<uint32_t>(contents.images.size());
    contents.images.push_back({target, kind, text});
    ImageTrust trust = index == 0 ? ImageTrust::kMeasured : ImageTrust::kCrossCompiled;
    for (PackTable& table : contents.records.tables) {
      for (PackVariant& variant : table.variants) variant.images.push_back({index, trust});
    }
  }
  return contents;
}

/// The hand-written twin of sample_table()'s tree.
inline int sample_select(const int64_t* slots) { return slots[kN] <= 4096 ? 0 : 1; }

/// A pack's bytes on a 64-byte boundary, with tables that refer to them as generated code would.
class LinkedPack {
 public:
  LinkedPack(const PackContents& contents, SelectFn select) {
    Result<std::string> bytes = write_pack(contents);
    if (!bytes.is_ok()) __builtin_trap();
    storage_.resize(bytes->size() + kPackAlignment);
    size_t shift = kPackAlignment - reinterpret_cast<uintptr_t>(storage_.data()) % kPackAlignment;
    unsigned char* begin = storage_.data() + shift;
    memcpy(begin, bytes->data(), bytes->size());
    kernel_ = contents.records.kernel;
    hardware_ = contents.records.hardware;
    for (const PackTable& table : contents.records.tables) keys_.push_back(table.dtype_key);
    for (const std::string& key : keys_) {
      tables_.push_back({kKernelTableAbi, kernel_.c_str(), key.c_str(), hardware_.c_str(), select, begin,
                         begin + bytes->size(), pack_hash(begin, bytes->size())});
    }
    list_ = {tables_.data(), tables_.size()};
  }
  LinkedPack(const LinkedPack&) = delete;
  LinkedPack& operator=(const LinkedPack&) = delete;

  const KernelTableList* list() const { return &list_; }
  std::vector<KernelTable>& tables() { return tables_; }
  unsigned char* bytes() { return const_cast<unsigned char*>(tables_[0].pack_begin); }

 private:
  std::vector<unsigned char> storage_;
  std::string kernel_, hardware_;
  std::vector<std::string> keys_;
  std::vector<KernelTable> tables_;
  KernelTableList list_ = {};
};

}  // namespace kaon::testing
