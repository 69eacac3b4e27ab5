// Layout of a call in one slab of device memory.
#include "aot_runner/measure/call.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "aot_runner/measure/ordered_data.h"
#include "aot_runner/measure/random_data.h"
#include "runtime/host/float_bits.h"

namespace kaon::runner {

namespace {

constexpr int64_t kAlignment = 256;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

Status bad(const Signature& signature, const std::string& what) {
  return Status(Code::kInvalidArgument, signature.kernel + ": " + what);
}

/// The bits of a scalar parameter as its slot carries them.
int64_t scalar_bits(double value, DType dtype) {
  switch (dtype) {
    case DType::kF64: return std::bit_cast<int64_t>(value);
    case DType::kF32: return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DType::kF16: return host::f32_to_f16(static_cast<float>(value));
    case DType::kBF16: return host::f32_to_bf16(static_cast<float>(value));
    default: return static_cast<int64_t>(value);
  }
}

}  // namespace

Call::~Call() {
  if (slab_ != 0) device_.free(slab_);
}

Status Call::set_dims_and_scalars(const Signature& signature, const ShapeSpec& shape) {
  slots_.assign(static_cast<size_t>(signature.num_slots()), 0);
  for (const auto& [name, value] : shape.dims) {
    const int dim = signature.find_dim(name);
    if (dim < 0) return bad(signature, "has no dim named " + name);
    if (value < 0) return bad(signature, "dim " + name + " is " + std::to_string(value) + ", expected at least 0");
    slots_[static_cast<size_t>(signature.dim_slot(dim))] = value;
  }
  for (const std::string& name : signature.dims) {
    if (shape.dims.count(name) == 0) return bad(signature, "no value for dim " + name);
  }
  for (const auto& [name, value] : shape.scalars) {
    const int scalar = signature.find_scalar(name);
    if (scalar < 0) return bad(signature, "has no scalar named " + name);
    const DType dtype = signature.scalars[static_cast<size_t>(scalar)].dtype;
    if (!dtype_is_float(dtype) && value != std::floor(value))
      return bad(signature, "scalar " + name + " is no integer");
    slots_[static_cast<size_t>(signature.scalar_slot(scalar))] = scalar_bits(value, dtype);
  }
  for (const ScalarParam& scalar : signature.scalars) {
    if (shape.scalars.count(scalar.name) == 0) return bad(signature, "no value for scalar " + scalar.name);
  }
  return Status::ok();
}

/// Fixes sizes, strides and offsets from the slab's start, then turns offsets into addresses.
Status Call::place(const Signature& signature, const ShapeSpec& shape) {
  tensors_.clear();
  trusted_.assign(signature.tensors.size(), 0);
  int64_t end = 0;
  const auto reserve = [&](int64_t bytes) {
    const int64_t start = end;
    end = round_up(end + bytes, kAlignment);
    return start;
  };
  for (int i = 0; i < signature.num_tensors(); ++i) {
    const TensorParam& param = signature.tensors[static_cast<size_t>(i)];
    PlacedTensor t;
    t.dtype = param.dtype;
    t.is_output = param.is_output;
    int64_t count = 1;
    for (const Expr& extent : param.extents) t.sizes.push_back(extent.evaluate(slots_.data()));
    t.strides.assign(t.sizes.size(), 1);
    for (size_t axis = t.sizes.size(); axis-- > 0;) {
      if (t.sizes[axis] < 0) return bad(signature, param.name + " has extent " + std::to_string(t.sizes[axis]));
      t.strides[axis] = count;
      if (__builtin_mul_overflow(count, t.sizes[axis], &count) || count > (int64_t{1} << 48)) {
        return bad(signature, param.name + " has more than 2^48 elements");
      }
    }
    t.data = {0, count, dtype_bytes(param.dtype)};
    if (shape.in_place && !param.aliases.empty()) t.alias = signature.find_tensor(param.aliases);
    if (t.alias >= 0) {
      const PlacedTensor& input = tensors_[static_cast<size_t>(t.alias)];
      if (input.sizes != t.sizes || input.dtype != t.dtype)
        return bad(signature, param.name + " cannot be in place: it differs from " + param.aliases);
      tensors_.push_back(t);
      continue;
    }
    const int64_t before = kZoneBytes + shape.base_offset * t.data.element_bytes;
    const int64_t whole = round_up(before + t.data.bytes() + kZoneBytes, kAlignment);
    t.before = {reserve(whole), before, 1};
    t.data.address = t.before.address + before;
    t.after = {t.data.address + t.data.bytes(), whole - before - t.data.bytes(), 1};
    tensors_.push_back(t);
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].is_output) trusted_[i] = reserve(tensors_[i].data.bytes());
    if (tensors_[i].alias >= 0)
      tensors_[static_cast<size_t>(tensors_[i].alias)].pristine = reserve(tensors_[i].data.bytes());
  }
  return address_slab(signature, end);
}

/// Gets a slab of `bytes` unless the last one is as large, and turns offsets into addresses in it.
Status Call::address_slab(const Signature& signature, int64_t bytes) {
  if (bytes > slab_bytes_) {
    if (slab_ != 0) device_.free(std::exchange(slab_, 0));
    slab_bytes_ = 0;
    KAON_ASSIGN_OR_RETURN(slab_, device_.allocate(bytes));
    slab_bytes_ = bytes;
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    PlacedTensor& t = tensors_[i];
    for (int64_t* address : {&t.data.address, &t.before.address, &t.after.address, &trusted_[i]}) *address += slab_;
    if (t.pristine != 0) t.pristine += slab_;
    if (t.alias >= 0) t.data.address = tensors_[static_cast<size_t>(t.alias)].data.address;
    slots_[static_cast<size_t>(signature.pointer_slot(static_cast<int>(i)))] = t.data.address;
    for (size_t axis = 0; axis < t.strides.size(); ++axis) {
      slots_[static_cast<size_t>(signature.stride_slot(static_cast<int>(i), static_cast<int>(axis)))] = t.strides[axis];
    }
  }
  return Status::ok();
}

Status Call::fill(const Signature& signature, const MeasureOptions& options) {
  for (const auto& [name, recipe] : options.recipes) {
    const int tensor = signature.find_tensor(name);
    if (tensor < 0 || tensors_[static_cast<size_t>(tensor)].is_output)
      return bad(signature, "a recipe names " + name + ", which is no input");
  }
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const PlacedTensor& t = tensors_[i];
    if (t.alias >= 0) continue;
    KAON_RETURN_IF_ERROR(device_.set_bytes(t.before.address, t.before.count, kZonePattern));
    KAON_RETURN_IF_ERROR(device_.set_bytes(t.after.address, t.after.count, kZonePattern));
    if (t.is_output || t.data.count == 0) continue;
    const auto recipe = options.recipes.find(signature.tensors[i].name);
    const Recipe how = recipe == options.recipes.end() ? Recipe{} : recipe->second;
    const uint64_t seed = tensor_seed(options.seed, static_cast<int>(i));
    if (is_ordered(how.kind)) {
      const auto elements = ordered_elements(how, t.dtype, t.data.count, seed);
      if (!elements.is_ok()) return bad(signature, signature.tensors[i].name + ": " + elements.status().message());
      KAON_RETURN_IF_ERROR(device_.write(t.data.address, elements->data(), t.data.bytes()));
    } else {
      KAON_RETURN_IF_ERROR(device_.fill_random(t.data, t.dtype, plan_fill(how, t.dtype), seed));
    }
    if (t.pristine != 0) KAON_RETURN_IF_ERROR(device_.copy(t.pristine, t.data.address, t.data.bytes()));
  }
  return Status::ok();
}

Status Call::make(const Signature& signature, const ShapeSpec& shape, const MeasureOptions& options) {
  if (shape.base_offset < 0 || shape.base_offset > 1024) {
    return bad(signature, "base_offset is " + std::to_string(shape.base_offset) + ", expected 0 to 1024");
  }
  KAON_RETURN_IF_ERROR(set_dims_and_scalars(signature, shape));
  for (const Require& require : signature.requires_) {
    if (require.condition.evaluate(slots_.data()) == 0) return bad(signature, "the kernel requires " + require.text);
  }
  KAON_RETURN_IF_ERROR(place(signature, shape));
  return fill(signature, options);
}

std::vector<int64_t> Call::scalars(const Signature& signature) const {
  return std::vector<int64_t>(slots_.begin() + signature.scalar_slot(0), slots_.end());
}

double Call::traffic_bytes() const {
  double bytes = 0;
  for (const PlacedTensor& t : tensors_) bytes += static_cast<double>(t.data.bytes());
  return bytes;
}

std::vector<Launch::Restore> Call::restores() const {
  std::vector<Launch::Restore> result;
  for (const PlacedTensor& t : tensors_) {
    if (t.pristine != 0) result.push_back({t.data.address, t.pristine, t.data.bytes()});
  }
  return result;
}

Status Call::restore_inputs() {
  for (const Launch::Restore& r : restores()) KAON_RETURN_IF_ERROR(device_.copy(r.destination, r.source, r.bytes));
  return Status::ok();
}

}  // namespace kaon::runner
