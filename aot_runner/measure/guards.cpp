// Guards evaluated over slots, with words for people.
#include "aot_runner/measure/guards.h"

#include <cstdlib>

namespace kaon::runner {

namespace {

/// 128 bits: extents times strides may pass 2^63 for tensors that exist only as numbers.
__int128 span_of(const Signature& signature, int tensor, const int64_t* slots) {
  __int128 span = 0;
  const auto& extents = signature.tensors[static_cast<size_t>(tensor)].extents;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const int64_t stride = slots[signature.stride_slot(tensor, static_cast<int>(axis))];
    span += static_cast<__int128>(extents[axis].evaluate(slots) - 1) * (stride < 0 ? -stride : stride);
  }
  return span;
}

bool holds(const Signature& signature, const Guard& g, const int64_t* slots) {
  const int64_t value = g.kind == GuardKind::kSpanAtMost ? 0 : slots[g.slot];
  switch (g.kind) {
    case GuardKind::kDivisible: return value % g.value == 0;
    case GuardKind::kEqual: return value == g.value;
    case GuardKind::kAtMost: return value <= g.value;
    case GuardKind::kAtLeast: return value >= g.value;
    case GuardKind::kCongruent: return (value - slots[g.other]) % g.value == 0;
    case GuardKind::kSpanAtMost: return span_of(signature, g.slot, slots) <= g.value;
  }
  return false;
}

std::string describe(const Signature& signature, const Guard& g, const int64_t* slots) {
  const std::vector<std::string> names = signature.slot_names();
  const std::string value = std::to_string(g.value);
  if (g.kind == GuardKind::kSpanAtMost) {
    return "span of " + signature.tensors[g.slot].name + " <= " + value + " elements does not hold";
  }
  const std::string& name = names[g.slot];
  const std::string tail = " does not hold, " + name + " is " + std::to_string(slots[g.slot]);
  switch (g.kind) {
    case GuardKind::kDivisible: return name + " % " + value + " == 0" + tail;
    case GuardKind::kEqual: return name + " == " + value + tail;
    case GuardKind::kAtMost: return name + " <= " + value + tail;
    case GuardKind::kAtLeast: return name + " >= " + value + tail;
    default: break;
  }
  return "(" + name + " - " + names[g.other] + ") % " + value + " == 0" + tail + ", " + names[g.other] + " is " +
         std::to_string(slots[g.other]);
}

}  // namespace

std::string refusing_guard(const Signature& signature, const VariantInfo& info, const int64_t* slots) {
  for (const Guard& guard : info.guards) {
    if (!holds(signature, guard, slots)) return describe(signature, guard, slots);
  }
  return {};
}

Status validate(const Signature& signature, const VariantInfo& info) {
  const auto refuse = [&](const std::string& what) {
    return Status(Code::kInvalidArgument, "variant " + info.symbol + " of " + signature.kernel + ": " + what);
  };
  for (const Guard& guard : info.guards) {
    const int limit = guard.kind == GuardKind::kSpanAtMost ? signature.num_tensors() : signature.num_slots();
    if (guard.slot >= limit || guard.other >= signature.num_slots()) {
      return refuse("a guard reads slot " + std::to_string(std::max(guard.slot, guard.other)) + " of " +
                    std::to_string(limit));
    }
    const bool divides = guard.kind == GuardKind::kDivisible || guard.kind == GuardKind::kCongruent;
    if (divides && guard.value < 1) return refuse("a guard divides by " + std::to_string(guard.value));
  }
  int kernels = 0;
  for (const LaunchStep& step : info.plan.steps) {
    kernels += step.kind == StepKind::kKernel;
    if (step.kind == StepKind::kZero && step.tensor >= signature.num_tensors()) {
      return refuse("a step clears tensor " + std::to_string(step.tensor) + " of " +
                    std::to_string(signature.num_tensors()));
    }
  }
  if (kernels != 1) return refuse("its plan has " + std::to_string(kernels) + " kernel steps, expected 1");
  if (info.plan.threads == 0 || info.plan.threads % 32 != 0 || info.plan.threads > 1024) {
    return refuse(std::to_string(info.plan.threads) + " threads a block, expected a multiple of 32 up to 1024");
  }
  if (info.plan.cluster < 1) return refuse("a cluster of 0 blocks");
  return kaon::validate(info.plan.programs.view(), signature.num_slots());
}

}  // namespace kaon::runner
