// The rules that a pack's records keep, so that the launch path can rely on them without checks.
#include <algorithm>

#include "runtime/base/generic.h"
#include "runtime/base/guards.h"
#include "runtime/base/text.h"
#include "runtime/launch/pack_format.h"

namespace kaon {
namespace {

// Beyond any hardware: larger numbers are damage, not configuration.
constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxSharedBytes = 1u << 20;
constexpr uint32_t kMaxCluster = 64;

Status bad_record(const std::string& what) { return {Code::kCorrupt, what}; }

Status within(const std::string& place, Status status) {
  if (status.is_ok()) return status;
  return make_status(status.code(), place, ": ", status.message());
}

// Extents and requires may read dims and scalars only: pointers and strides are not known when they are checked.
Status validate_shape_expr(const Signature& signature, const Expr& expr) {
  KAON_RETURN_IF_ERROR(validate(expr.view(), signature.num_slots()));
  for (const ExprStep& step : expr.steps()) {
    if (step.op != ExprOp::kSlot) continue;
    bool is_dim = step.operand >= signature.dim_slot(0) &&
                  step.operand < signature.dim_slot(static_cast<int>(signature.dims.size()));
    if (!is_dim && step.operand < signature.scalar_slot(0)) {
      return bad_record(cat("reads slot ", step.operand, ", which is neither a dim nor a scalar"));
    }
  }
  return Status::ok();
}

bool is_bare_dim(const Expr& expr, int slot) {
  return expr.steps().size() == 1 && expr.steps()[0].op == ExprOp::kSlot && expr.steps()[0].operand == slot;
}

Status validate_tensor(const Signature& signature, const TensorParam& tensor) {
  if (tensor.name.empty()) return bad_record("has no name");
  if (tensor.extents.size() > kMaxRank) {
    return bad_record(cat("has rank ", static_cast<int64_t>(tensor.extents.size()), ", at most ", kMaxRank));
  }
  for (const Expr& extent : tensor.extents) {
    KAON_RETURN_IF_ERROR(within("extent", validate_shape_expr(signature, extent)));
  }
  if (!tensor.aliases.empty()) {
    int input = signature.find_tensor(tensor.aliases);
    if (!tensor.is_output || input < 0 || signature.tensors[input].is_output) {
      return bad_record(cat("aliases ", tensor.aliases, ", expected an output that aliases an input"));
    }
  }
  if (tensor.is_zeroed && !tensor.is_output) return bad_record("is cleared although it is an input");
  return Status::ok();
}

Status validate_signature(const Signature& signature) {
  if (signature.tensors.size() > kMaxTensors) {
    return bad_record(cat("has ", signature.num_tensors(), " tensors, at most ", kMaxTensors));
  }
  size_t axes = 0;
  for (const TensorParam& tensor : signature.tensors) axes += tensor.extents.size();
  if (signature.tensors.size() + signature.dims.size() + axes + signature.scalars.size() > kMaxSlots) {
    return bad_record(cat("needs more than ", kMaxSlots, " slots"));
  }
  for (const TensorParam& tensor : signature.tensors) {
    KAON_RETURN_IF_ERROR(within(cat("tensor ", tensor.name), validate_tensor(signature, tensor)));
  }
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    int slot = signature.dim_slot(static_cast<int>(i));
    bool is_bound = false;
    for (const TensorParam& tensor : signature.tensors) {
      for (const Expr& extent : tensor.extents) is_bound = is_bound || is_bare_dim(extent, slot);
    }
    if (!is_bound) return bad_record(cat("dim ", signature.dims[i], " is not by itself the extent of any axis"));
  }
  for (const Require& require : signature.requires_) {
    KAON_RETURN_IF_ERROR(within(cat("require ", require.text), validate_shape_expr(signature, require.condition)));
  }
  return Status::ok();
}

Status validate_guard(const Signature& signature, const Guard& guard) {
  int limit = guard.kind == GuardKind::kSpanAtMost ? signature.num_tensors() : signature.num_slots();
  if (guard.slot >= limit || (guard.kind == GuardKind::kCongruent && guard.other >= limit)) {
    return bad_record(cat("guard reads slot ", std::max(guard.slot, guard.other), ", expected one below ", limit));
  }
  if ((guard.kind == GuardKind::kDivisible || guard.kind == GuardKind::kCongruent) && guard.value <= 0) {
    return bad_record(cat("guard divides by ", guard.value));
  }
  return Status::ok();
}

Status validate_plan(const Signature& signature, const LaunchPlan& plan) {
  int kernels = 0;
  for (const LaunchStep& step : plan.steps) {
    if (step.kind == StepKind::kKernel) {
      ++kernels;
    } else if (step.tensor >= signature.num_tensors() || !signature.tensors[step.tensor].is_output) {
      return bad_record(cat("clears tensor ", step.tensor, ", which is no output"));
    }
  }
  if (kernels != 1) return bad_record(cat("launches ", kernels, " kernels, expected 1"));
  if (plan.threads == 0 || plan.threads > kMaxThreads || plan.threads % 32 != 0) {
    return bad_record(cat("has ", plan.threads, " threads, expected a multiple of 32 up to ", kMaxThreads));
  }
  if (plan.shared_bytes > kMaxSharedBytes) {
    return bad_record(cat("needs ", plan.shared_bytes, " bytes of shared memory"));
  }
  if (plan.cluster == 0 || plan.cluster > kMaxCluster) return bad_record(cat("has cluster ", plan.cluster));
  return within("programs", validate(plan.programs.view(), signature.num_slots()));
}

Status validate_variant(const PackTable& table, const PackVariant& variant, size_t num_images) {
  if (variant.info.symbol.empty()) return bad_record("has no symbol");
  if (variant.fingerprint != variant.info.config.fingerprint())
    return bad_record("fingerprint does not match its config");
  for (const Guard& guard : variant.info.guards) KAON_RETURN_IF_ERROR(validate_guard(table.signature, guard));
  KAON_RETURN_IF_ERROR(within("launch plan", validate_plan(table.signature, variant.info.plan)));
  if (variant.images.empty()) return bad_record("has no image");
  for (const ImageRef& ref : variant.images) {
    if (ref.image >= num_images) {
      return bad_record(cat("names image ", ref.image, " of ", static_cast<int64_t>(num_images)));
    }
  }
  return Status::ok();
}

Status validate_coverage(const PackTable& table) {
  size_t dims = table.signature.dims.size();
  if (table.ranges.size() != dims) {
    return bad_record(cat("has ", static_cast<int64_t>(table.ranges.size()), " dim ranges for ",
                          static_cast<int64_t>(dims), " dims"));
  }
  for (const std::vector<int64_t>& shape : table.shapes) {
    if (shape.size() != dims) {
      return bad_record(cat("has a measured shape of ", static_cast<int64_t>(shape.size()), " dims, expected ",
                            static_cast<int64_t>(dims)));
    }
  }
  return Status::ok();
}

Status validate_generic(const PackTable& table) {
  const std::vector<std::vector<uint16_t>>& leaves = table.tree.leaves;
  const bool is_only_one = table.variants[leaves[0].back()].info.guards.empty();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const uint16_t last = leaves[i].back();
    if ((i == 0 || is_only_one) && last != table.generic_variant) {
      return bad_record(cat("leaf ", i, " ends in variant ", last, ", the generic one is ", table.generic_variant));
    }
    const std::vector<Guard>& guards = table.variants[last].info.guards;
    if (!only_fix_dims(table.signature, guards)) {
      return bad_record(cat("the generic variant ", last, " has guards: ", guards_text(table.signature, guards)));
    }
  }
  return Status::ok();
}

Status validate_table(const PackRecords& records, const PackTable& table, size_t num_images) {
  if (table.signature.kernel != records.kernel)
    return bad_record(cat("signature is of kernel ", table.signature.kernel));
  KAON_RETURN_IF_ERROR(within("signature", validate_signature(table.signature)));
  if (table.dtype_key != table.signature.dtype_key()) {
    return bad_record(cat("dtype key is ", table.dtype_key, ", its signature says ", table.signature.dtype_key()));
  }
  if (table.variants.size() > 0xffff) return bad_record("has too many variants");
  for (size_t i = 0; i < table.variants.size(); ++i) {
    KAON_RETURN_IF_ERROR(within(cat("variant ", i), validate_variant(table, table.variants[i], num_images)));
  }
  KAON_RETURN_IF_ERROR(validate(table.tree, table.signature.num_slots(), static_cast<int>(table.variants.size())));
  KAON_RETURN_IF_ERROR(validate_generic(table));
  return validate_coverage(table);
}

}  // namespace

Status validate(const PackRecords& records, size_t num_images) {
  if (records.kernel.empty()) return bad_record("names no kernel");
  if (records.hardware.empty()) return bad_record("names no hardware");
  if (records.tables.empty()) return bad_record("has no tables");
  for (size_t i = 0; i < records.tables.size(); ++i) {
    const PackTable& table = records.tables[i];
    KAON_RETURN_IF_ERROR(within(cat("table '", table.dtype_key, "'"), validate_table(records, table, num_images)));
    for (size_t j = 0; j < i; ++j) {
      if (records.tables[j].dtype_key == table.dtype_key)
        return bad_record(cat("has two tables '", table.dtype_key, "'"));
    }
  }
  return Status::ok();
}

}  // namespace kaon
