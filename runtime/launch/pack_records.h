// The one description of how records are laid out in a pack, used by both the reader and the writer.
//
// describe(archive, value) names the fields in order; the archive is a RecordReader or a RecordWriter.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "runtime/launch/pack_format.h"

namespace kaon {

/// Appends fields to a string.
class RecordWriter {
 public:
  explicit RecordWriter(std::string* out) : out_(out) {}

  template <typename T>
  void number(T& value) {
    for (size_t i = 0; i < sizeof(T); ++i) {
      out_->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * i)));
    }
  }
  void number(double& value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    number(bits);
  }
  template <typename E>
  void enumeration(E& value, E) {
    uint8_t byte = static_cast<uint8_t>(value);
    number(byte);
  }
  void flag(bool& value) { out_->push_back(value ? 1 : 0); }
  void text(std::string& value) {
    uint32_t length = static_cast<uint32_t>(value.size());
    number(length);
    out_->append(value);
  }
  void config(Config& value) {
    std::string json = value.to_json();
    text(json);
  }
  template <typename T, typename Each>
  void list(std::vector<T>& items, const char*, Each each) {
    uint32_t count = static_cast<uint32_t>(items.size());
    number(count);
    for (T& item : items) each(item);
  }

 private:
  std::string* out_;
};

/// Reads fields from bytes. After the first failure every read gives zeros and status() says what and where. What does
/// not depend on a field's type lies in pack.cpp, once.
class RecordReader {
 public:
  RecordReader(const unsigned char* data, size_t bytes) : data_(data), bytes_(bytes) {}

  template <typename T>
  void number(T& value) {
    uint64_t bits = 0;
    if (take(sizeof(T), &bits)) value = static_cast<T>(bits);
  }
  void number(double& value) {
    uint64_t bits = 0;
    take(sizeof bits, &bits);
    memcpy(&value, &bits, sizeof bits);
  }
  template <typename E>
  void enumeration(E& value, E last) {
    value = static_cast<E>(byte_up_to(static_cast<uint8_t>(last)));
  }
  void flag(bool& value) { value = byte_up_to(1) == 1; }
  void text(std::string& value);
  void config(Config& value);
  template <typename T, typename Each>
  void list(std::vector<T>& items, const char* what, Each each) {
    items.clear();
    const uint32_t count = begin_list();
    for (uint32_t i = 0; i < count; ++i) {
      items.emplace_back();
      each(items.back());
      if (!is_good(what, i)) return;
    }
  }

  bool at_end() const { return position_ == bytes_; }
  Status status() const;

 private:
  // The next `bytes` bytes as a little-endian number; false after a failure.
  bool take(size_t bytes, uint64_t* value);
  // The next byte, or 0 when it is greater than `last`.
  uint8_t byte_up_to(uint8_t last);
  uint32_t begin_list();
  // Whether item `index` of a list could be read.
  bool is_good(const char* what, uint32_t index);
  bool has(size_t bytes);
  void fail(const std::string& what);

  const unsigned char* data_;
  size_t bytes_;
  size_t position_ = 0;
  Status status_;
  std::string place_;  // innermost list item in which reading failed
};

template <typename A>
void describe(A& a, Expr& expr) {
  std::vector<ExprStep> steps = expr.steps();
  a.list(steps, "expression step", [&](ExprStep& step) {
    a.enumeration(step.op, ExprOp::kMax);
    a.number(step.operand);
  });
  expr = Expr::from_steps(std::move(steps));
}

template <typename A>
void describe(A& a, Signature& signature) {
  a.text(signature.kernel);
  a.list(signature.tensors, "tensor", [&](TensorParam& tensor) {
    a.text(tensor.name);
    a.enumeration(tensor.dtype, static_cast<DType>(kNumDTypes - 1));
    a.text(tensor.dtype_var);
    a.flag(tensor.is_output);
    a.flag(tensor.is_zeroed);
    a.text(tensor.aliases);
    a.list(tensor.extents, "extent", [&](Expr& extent) { describe(a, extent); });
  });
  a.list(signature.dims, "dim", [&](std::string& dim) { a.text(dim); });
  a.list(signature.scalars, "scalar", [&](ScalarParam& scalar) {
    a.text(scalar.name);
    a.enumeration(scalar.dtype, static_cast<DType>(kNumDTypes - 1));
  });
  a.list(signature.requires_, "require", [&](Require& require) {
    describe(a, require.condition);
    a.text(require.text);
  });
}

template <typename A>
void describe(A& a, PackVariant& variant) {
  VariantInfo& info = variant.info;
  a.text(info.symbol);
  a.config(info.config);
  a.number(variant.fingerprint);
  a.list(info.guards, "guard", [&](Guard& guard) {
    a.enumeration(guard.kind, GuardKind::kSpanAtMost);
    a.number(guard.slot);
    a.number(guard.other);
    a.number(guard.value);
  });
  a.list(info.plan.steps, "launch step", [&](LaunchStep& step) {
    a.enumeration(step.kind, StepKind::kZero);
    a.number(step.tensor);
  });
  describe(a, info.plan.programs);
  a.number(info.plan.threads);
  a.number(info.plan.shared_bytes);
  a.number(info.plan.cluster);
  a.number(info.requirements.shared_bytes);
  a.number(info.requirements.registers_per_thread);
  a.number(info.requirements.threads);
  a.list(variant.images, "image reference", [&](ImageRef& ref) {
    a.number(ref.image);
    a.enumeration(ref.trust, ImageTrust::kCrossCompiled);
  });
  a.number(variant.evidence.shapes_served);
  a.number(variant.evidence.geomean_of_oracle);
  a.number(variant.evidence.worst_of_oracle);
}

template <typename A>
void describe(A& a, DecisionTree& tree) {
  a.list(tree.features, "tree feature", [&](TreeFeature& feature) {
    a.text(feature.name);
    describe(a, feature.value);
  });
  a.list(tree.nodes, "tree node", [&](TreeNode& node) {
    a.number(node.feature);
    a.number(node.threshold);
    a.number(node.left);
    a.number(node.right);
    a.number(node.leaf);
    a.number(node.shapes);
  });
  a.list(tree.leaves, "tree leaf",
         [&](std::vector<uint16_t>& leaf) { a.list(leaf, "choice", [&](uint16_t& variant) { a.number(variant); }); });
}

template <typename A>
void describe(A& a, PackTable& table) {
  a.text(table.dtype_key);
  describe(a, table.signature);
  a.list(table.variants, "variant", [&](PackVariant& variant) { describe(a, variant); });
  a.number(table.generic_variant);
  describe(a, table.tree);
  a.list(table.ranges, "dim range", [&](DimRange& range) {
    a.number(range.min);
    a.number(range.max);
    a.flag(range.is_ignored);
  });
  a.list(table.shapes, "shape",
         [&](std::vector<int64_t>& shape) { a.list(shape, "dim of a shape", [&](int64_t& dim) { a.number(dim); }); });
}

template <typename A>
void describe(A& a, PackRecords& records, std::vector<ImageRecord>& images) {
  a.text(records.kernel);
  a.text(records.hardware);
  a.list(records.tables, "table", [&](PackTable& table) { describe(a, table); });
  a.list(images, "image", [&](ImageRecord& image) {
    a.text(image.target);
    a.enumeration(image.kind, ImageKind::kHostElf);
    a.number(image.offset);
    a.number(image.bytes);
  });
}

}  // namespace kaon
