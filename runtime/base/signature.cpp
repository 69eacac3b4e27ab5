// Where each part of a call lies in its row of slots, and how the slots are called in messages.
#include "runtime/base/signature.h"

#include <algorithm>

#include "runtime/base/text.h"

namespace kaon {
namespace {

template <typename T>
int find_named(const std::vector<T>& items, const std::string& name) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

int Signature::stride_slot(int tensor, int axis) const {
  int slot = num_tensors() + static_cast<int>(dims.size());
  for (int i = 0; i < tensor; ++i) slot += static_cast<int>(tensors[i].extents.size());
  return slot + axis;
}

std::vector<std::string> Signature::slot_names() const {
  std::vector<std::string> names;
  for (const TensorParam& tensor : tensors) names.push_back(tensor.name);
  names.insert(names.end(), dims.begin(), dims.end());
  for (const TensorParam& tensor : tensors) {
    for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
      names.push_back(cat(tensor.name, "_stride", axis));
    }
  }
  for (const ScalarParam& scalar : scalars) names.push_back(scalar.name);
  return names;
}

int Signature::find_tensor(const std::string& name) const { return find_named(tensors, name); }
int Signature::find_scalar(const std::string& name) const { return find_named(scalars, name); }

int Signature::find_dim(const std::string& name) const {
  auto it = std::find(dims.begin(), dims.end(), name);
  return it == dims.end() ? -1 : static_cast<int>(it - dims.begin());
}

std::string Signature::dtype_key() const {
  std::vector<std::string> seen;
  std::string key;
  for (const TensorParam& tensor : tensors) {
    if (tensor.dtype_var.empty() || std::find(seen.begin(), seen.end(), tensor.dtype_var) != seen.end()) continue;
    seen.push_back(tensor.dtype_var);
    if (!key.empty()) key += ',';
    key += dtype_name(tensor.dtype);
  }
  return key;
}

}  // namespace kaon
