// Makes the tensors of a call and judges what a run left in them.
#include "tests/support/case_call.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <random>

#include "compiler/ir/block_axis.h"
#include "compiler/ir/walk.h"
#include "tests/support/case_data.h"
#include "tests/support/case_shapes.h"

namespace kaon::compiler {
namespace {

constexpr uint8_t kNanPoison = 0xff;  // NaN of every float type
constexpr uint8_t kPoison = 0xa5;
constexpr int64_t kSampledPrograms = 48;

/// Draws the layouts of all tensors for one edge.
class EdgeLayouts {
 public:
  EdgeLayouts(const std::string& edge, uint64_t seed) : edge_(edge), random_(seed) {
    common_ = 1 + static_cast<int64_t>(random_() % 7);
    is_common_ = random_() % 2 == 0;
  }

  TensorLayout next(const TensorParam& param, bool has_generator) {
    TensorLayout layout;
    const uint64_t draw = random_();
    const auto rank = param.extents.size();
    if (rank == 0) return layout;
    const int axis = static_cast<int>(draw % rank);
    if (edge_ == "misaligned") layout.misalignment = is_common_ ? common_ : static_cast<int64_t>(draw % 8);
    if (edge_ == "padded") layout.padding = common_;
    if (edge_ == "strided" && (!param.is_output || is_common_))
      layout.inner_stride = 2 + static_cast<int64_t>(draw % 2);
    if (edge_ == "negative" && (!param.is_output || is_common_)) layout.negative_axis = axis;
    if (edge_ == "broadcast" && !param.is_output && !has_generator) layout.broadcast_axis = axis;
    return layout;
  }

 private:
  const std::string edge_;
  std::mt19937_64 random_;
  int64_t common_ = 1;
  bool is_common_ = false;
};

uint8_t poison_of(const TensorParam& param, const std::string& edge) {
  return dtype_is_float(param.dtype) && edge != "special" ? kNanPoison : kPoison;
}

/// Whether a program may write, or read and write, what another does.
bool needs_all_programs(const Kernel& kernel) {
  bool needs = false;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    needs |= std::string(op_info(op.kind).text).rfind("atomic", 0) == 0;
    if (op.kind != OpKind::kStore) return;
    for (const Indexer& indexer : op.index_attr("index")) needs |= indexer.kind == Indexer::Kind::kTile;
  });
  return needs;
}

}  // namespace

Result<std::unique_ptr<CaseInputs>> CaseInputs::make(const Kernel& kernel, const KernelCases& cases, const CaseId& id,
                                                     uint64_t seed) {
  const Signature& signature = kernel.signature;
  std::unique_ptr<CaseInputs> inputs(new CaseInputs(kernel));
  KAON_ASSIGN_OR_RETURN(inputs->base_slots_, shape_slots(signature, id.shape));
  const std::vector<std::vector<int64_t>> sizes = tensor_sizes(signature, inputs->base_slots_);
  EdgeLayouts layouts(id.edge, seed);
  for (size_t i = 0; i < signature.tensors.size(); ++i) {
    const TensorParam& param = signature.tensors[i];
    const auto given = cases.data.find(param.name);
    const bool has_generator = given != cases.data.end();
    CaseTensor tensor(param.dtype, sizes[i], layouts.next(param, has_generator), poison_of(param, id.edge));
    const int alias = param.aliases.empty() ? -1 : signature.find_tensor(param.aliases);
    inputs->places_.push_back(id.edge == "inplace" && alias >= 0 ? static_cast<size_t>(alias) : i);
    if (!param.is_output || has_generator) {
      const Generator generator = has_generator ? given->second[static_cast<size_t>(id.data) % given->second.size()]
                                                : default_generator(param.dtype);
      KAON_RETURN_IF_ERROR(fill_tensor(generator, id.shape, seed + 1000 + i, &tensor));
      if (id.edge == "special" && (dtype_is_float(param.dtype) || !has_generator))
        plant_specials(seed + 2000 + i, &tensor);
    }
    if (param.is_zeroed) tensor.zero_elements();
    inputs->tensors_.push_back(std::move(tensor));
  }
  return inputs;
}

std::vector<HostTensor> CaseInputs::views(const std::vector<CaseTensor>& tensors) const {
  std::vector<HostTensor> views;
  for (size_t place : places_) views.push_back(tensors[place].view());
  return views;
}

std::vector<int64_t> CaseInputs::slots(const std::vector<CaseTensor>& tensors) const {
  std::vector<int64_t> slots = base_slots_;
  const std::vector<HostTensor> all = views(tensors);
  for (size_t i = 0; i < all.size(); ++i) {
    slots[i] = reinterpret_cast<int64_t>(all[i].data);
    for (size_t axis = 0; axis < all[i].strides.size(); ++axis) {
      const int slot = kernel_.signature.stride_slot(static_cast<int>(i), static_cast<int>(axis));
      slots[static_cast<size_t>(slot)] = all[i].strides[axis];
    }
  }
  return slots;
}

int64_t CaseInputs::elements() const {
  int64_t elements = 0;
  for (const CaseTensor& tensor : tensors_) elements += tensor.count();
  return elements;
}

Result<const OracleResult*> CaseInputs::expected(const Config& config, int64_t whole_limit) {
  std::string key;
  Kernel tiled = clone(kernel_);
  for (Axis& axis : tiled.axes) {
    const std::string* block = config.find("block." + axis.name);
    const bool has_block = axis.kind == AxisKind::kTile || is_block(axis);
    if (!has_block || axis.fixed_block != 0 || block == nullptr) continue;
    axis.block = config.get_int("block." + axis.name, 0);
    key += axis.name + "=" + *block + " ";
  }
  const auto known = expected_.find(key);
  if (known != expected_.end()) return &known->second;
  OracleOptions options;
  if (elements() > whole_limit && !needs_all_programs(kernel_)) options.max_programs = kSampledPrograms;
  KAON_ASSIGN_OR_RETURN(OracleResult result,
                        interpret(tiled, views(tensors_), scalar_bits(kernel_.signature, base_slots_), options));
  return &expected_.emplace(key, std::move(result)).first->second;
}

/// Bytes of a tensor that no program may have changed.
std::string CaseInputs::why_changed(size_t i, const OracleResult& expected, const CaseTensor& got) const {
  const CaseTensor& before = tensors_[places_[i]];
  const auto bytes = static_cast<size_t>(dtype_bytes(kernel_.signature.tensors[i].dtype));
  std::vector<bool> may_change(before.bytes().size(), false);
  const auto allow = [&](int64_t offset) {
    const auto first = static_cast<size_t>(before.element(offset) - before.bytes().data());
    for (size_t b = 0; b < bytes; ++b) may_change[first + b] = true;
  };
  for (size_t t = 0; t < places_.size(); ++t) {
    if (places_[t] != places_[i] || !kernel_.signature.tensors[t].is_output) continue;
    if (expected.programs_run < expected.programs_total)
      before.each(allow);
    else
      for (const OracleElement& element : expected.outputs[t]) allow(element.offset);
  }
  for (size_t b = 0; b < may_change.size(); ++b) {
    if (may_change[b] || before.bytes().data()[b] == got.bytes().data()[b]) continue;
    const auto distance = static_cast<int64_t>(b) - before.origin();
    const auto size = static_cast<int64_t>(bytes);
    const int64_t offset = distance >= 0 ? distance / size : -((size - 1 - distance) / size);
    const std::string index = before.index_text(offset);
    return kernel_.signature.tensors[i].name + ": " +
           (index == "outside" ? "memory outside its elements, " + std::to_string(distance) + " bytes from the first,"
                               : "element " + index + ", which no program writes,") +
           " has changed";
  }
  return {};
}

/// "out[3, 5]: expected 1 +- 0.1, got nan, which was there before".
std::string CaseInputs::mismatch_text(const Mismatch& mismatch, const std::vector<CaseTensor>& tensors) const {
  const auto i = static_cast<size_t>(mismatch.tensor);
  const TensorParam& param = kernel_.signature.tensors[i];
  const CaseTensor& got = tensors[places_[i]];
  const bool is_old = std::memcmp(got.element(mismatch.offset), tensors_[places_[i]].element(mismatch.offset),
                                  static_cast<size_t>(dtype_bytes(param.dtype))) == 0;
  char numbers[120];
  std::snprintf(numbers, sizeof numbers, ": expected %.9g +- %.3g, got %.9g", mismatch.expected, mismatch.bound,
                mismatch.got);
  return param.name + got.index_text(mismatch.offset) + numbers + (is_old ? ", which was there before" : "");
}

std::string CaseInputs::why_wrong(const OracleResult& expected, const std::vector<CaseTensor>& tensors,
                                  int64_t* compared, int64_t* unconstrained) const {
  const std::vector<HostTensor> got = views(tensors);
  const Judgement judgement = judge(kernel_, expected, got);
  *compared += judgement.compared;
  *unconstrained += judgement.unconstrained;
  std::string why;
  if (!judgement.passed()) {
    why = judgement.to_string();
    why.resize(std::min(why.find('\n'), why.size()));
    for (size_t i = 0; i < judgement.examples.size() && i < 3; ++i)
      why += "\n      " + mismatch_text(judgement.examples[i], tensors);
  }
  for (size_t i = 0; i < tensors.size() && why.empty(); ++i) why = why_changed(i, expected, tensors[places_[i]]);
  return why;
}

}  // namespace kaon::compiler
