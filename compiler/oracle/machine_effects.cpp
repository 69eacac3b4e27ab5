// Updates, atomics, asserts and prints of the interpreted program.
#include "compiler/oracle/machine.h"

#include <algorithm>

#include "compiler/oracle/element_ops.h"

namespace kaon::compiler {

void Machine::update(const Op& op, const Tile& value, Tile* result) {
  const auto tensor = static_cast<size_t>(op.int_attr("tensor"));
  const TensorParam& param = kernel_.signature.tensors[tensor];
  Tile old;
  old.shape(param.dtype, value.sizes, /*is_exact=*/true);
  if (param.is_zeroed) {
    std::fill(old.floats.begin(), old.floats.end(), 0.0);
    std::fill(old.ints.begin(), old.ints.end(), 0);
  } else {
    load_elements(tensors_[tensor], offsets_, old.count, &old);
  }
  old.need_bounds();
  if (old.exact) std::fill(old.bounds.begin(), old.bounds.end(), 0.0);
  old.exact = false;
  for (size_t i = 0; i < old.count; ++i) {
    const auto stored = memory_[tensor].find(offsets_[i]);
    if (stored == memory_[tensor].end()) continue;
    (old.is_float() ? void(old.floats[i] = stored->second.value) : void(old.ints[i] = stored->second.integer));
    old.bounds[i] = stored->second.bound;
  }
  old.settle();
  BinaryFn fn{};
  parse_fn(op.str_attr("fn"), &fn);
  eval_binary(fn, old, value, result);
}

Status Machine::run_atomic(const Op& op) {
  const auto tensor = static_cast<size_t>(op.int_attr("tensor"));
  const AccessOperands operands = access_operands(op);
  const Tile& value = tile(operands.value);
  const Type& type = kernel_.type(operands.value);
  std::vector<Address> addresses;
  KAON_RETURN_IF_ERROR(addresses_of(op, type.axes, &addresses));
  for (const Address& address : addresses) {
    if (address.tile && !address.tile->exact) {
      return Status(Code::kUnsupported, "oracle: an atomic's index depends on how a float is rounded, or on an order");
    }
  }
  lane_offsets(tensors_[tensor], addresses, value.sizes, &offsets_);
  const Tile* mask = operands.mask == kNoValue ? nullptr : &tile(operands.mask);
  const Tile* expected = operands.expected == kNoValue ? nullptr : &tile(operands.expected);
  const std::vector<uint8_t> exists = lanes_of(type.axes, value.sizes);
  AtomicLane lane;
  parse_atomic(op.str_attr("fn"), &lane.fn);
  for (size_t i = 0; i < value.count; ++i) {
    if (offsets_[i] == kOutside || (!exists.empty() && !exists[i])) continue;
    const bool is_undecided_mask = mask && mask->bound(i) != 0;
    if (mask && !is_undecided_mask && mask->ints[i] == 0) continue;
    lane.is_unknown = undecided_ > 0 || is_undecided_mask;
    if (value.is_float()) {
      lane.value = value.floats[i];
      lane.bound = value.bound(i);
      if (expected) lane.expected = expected->floats[i];
    } else {
      lane.integer = value.ints[i];
      lane.is_unknown = lane.is_unknown || value.bound(i) != 0;
      if (expected) lane.expected_integer = expected->ints[i];
    }
    if (expected) lane.is_unknown = lane.is_unknown || expected->bound(i) != 0;
    ledger_.note(tensor, offsets_[i], type.dtype, lane);
  }
  // Old values depend on who came first.
  Tile& old = tile(op.result());
  old.shape(type.dtype, value.sizes, /*is_exact=*/false);
  for (size_t i = 0; i < old.count; ++i) {
    old.bounds[i] = kUnknown;
    (old.is_float() ? void(old.floats[i] = 0) : void(old.ints[i] = 0));
  }
  return Status::ok();
}

}  // namespace kaon::compiler
