// How a table is made ready for a device.
#include "runtime/launch/resolved.h"

#include <algorithm>
#include <cstdio>

#include "runtime/base/text.h"

namespace kaon {
namespace {

std::string hex(uint64_t value) {
  char text[32];
  snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string title(const PackTable& table) {
  return cat(table.signature.kernel, table.dtype_key.empty() ? "" : cat(" ", table.dtype_key));
}

}  // namespace

const char* match_name(Match match) {
  switch (match) {
    case Match::kTuned: return "tuned";
    case Match::kInterpolated: return "interpolated";
    case Match::kOutOfRange: return "out_of_range";
    case Match::kOlderTable: return "older_table";
    case Match::kGeneric: return "generic";
    case Match::kForced: return "forced";
  }
  return "unknown";
}

Candidate::Candidate(const PackVariant& variant, const Signature& signature)
    : signature(&signature),
      guards(&variant.info.guards),
      program(signature, variant.info.guards),
      programs(variant.info.plan.programs.view()),
      steps(&variant.info.plan.steps),
      is_single_step(variant.info.plan.steps.size() == 1),
      config_text(variant.info.config.to_text()) {
  const std::vector<ExprStep>& grid = variant.info.plan.programs.steps();
  const bool is_slot = grid[0].op == ExprOp::kSlot && grid.size() == 1;
  const bool is_divided = grid.size() == 3 && grid[0].op == ExprOp::kSlot && grid[1].op == ExprOp::kConst &&
                          grid[2].op == ExprOp::kCeilDiv && grid[1].operand > 0 &&
                          (grid[1].operand & (grid[1].operand - 1)) == 0;
  if (is_slot || is_divided) {
    rows_slot = static_cast<int>(grid[0].operand);
    rows_shift = is_divided ? __builtin_ctzll(static_cast<uint64_t>(grid[1].operand)) : 0;
  }
  dims.threads = variant.info.plan.threads;
  dims.shared_bytes = variant.info.plan.shared_bytes;
  dims.cluster = variant.info.plan.cluster;
  facts.symbol = variant.info.symbol.c_str();
  facts.config = config_text.c_str();
  facts.fingerprint = variant.fingerprint;
}

Result<std::unique_ptr<ResolvedTable>> ResolvedTable::make(const ResolveInput& input) {
  std::unique_ptr<ResolvedTable> table(new ResolvedTable(input));
  KAON_RETURN_IF_ERROR(table->pick_forced(input));
  return table;
}

ResolvedTable::ResolvedTable(const ResolveInput& input)
    : key_(input.key),
      backend_(input.backend),
      facts_(input.facts),
      pack_(input.pack),
      table_(input.table),
      select_(input.select),
      tree_(&input.table->tree),
      source_(input.source),
      fit_(input.fit),
      checker_(input.table->signature),
      num_scalars_(static_cast<int>(input.table->signature.scalars.size())),
      coverage_(*input.table) {
  std::vector<Candidate*> by_index(table_->variants.size(), nullptr);
  for (size_t i = 0; i < table_->variants.size(); ++i) {
    const PackVariant& variant = table_->variants[i];
    if (input.variants[i].image < 0) {
      skipped_.push_back({i, input.variants[i].reason});
      continue;
    }
    auto candidate = std::make_unique<Candidate>(variant, table_->signature);
    candidate->image = input.variants[i].image;
    candidate->facts.kernel = table_->signature.kernel.c_str();
    candidate->facts.dtype_key = table_->dtype_key.c_str();
    candidate->facts.hardware = pack_->hardware().c_str();
    candidate->facts.image_target = pack_->images()[candidate->image].target.c_str();
    candidate->facts.index = static_cast<int>(i);
    for (const ImageRef& ref : variant.images) {
      if (static_cast<int>(ref.image) == candidate->image) candidate->facts.image_trust = image_trust_name(ref.trust);
    }
    by_index[i] = candidate.get();
    candidates_.push_back(std::move(candidate));
  }
  for (const std::vector<uint16_t>& leaf : tree_->leaves) {
    leaf_begin_.push_back(static_cast<uint32_t>(ranked_.size()));
    // The generic variant may be the tuned choice of a leaf; it is a fallback only where others are ranked before it.
    fallback_.push_back(leaf[0] == leaf.back() ? -1 : leaf.back());
    for (uint16_t index : leaf) {
      bool is_asked = fit_ != TableFit::kGenericOnly || index == leaf.back();
      if (is_asked && by_index[index] != nullptr) ranked_.push_back(by_index[index]);
    }
  }
  leaf_begin_.push_back(static_cast<uint32_t>(ranked_.size()));
}

Status ResolvedTable::pick_forced(const ResolveInput& input) {
  if (!input.forced.is_set) return Status::ok();
  size_t count = table_->variants.size();
  size_t index = count;
  for (size_t i = 0; i < count; ++i) {
    bool is_wanted =
        input.forced.is_fingerprint ? table_->variants[i].fingerprint == input.forced.value : i == input.forced.value;
    if (is_wanted) index = i;
  }
  if (index == count) {
    // A fingerprint names one kernel's config; other kernels of the program go on as usual.
    if (input.forced.is_fingerprint) return Status::ok();
    return make_status(Code::kNotFound, title(*table_), ": forced variant ", input.forced.value,
                       " does not exist, the table has ", count);
  }
  for (const auto& candidate : candidates_) {
    if (candidate->facts.index == static_cast<int>(index)) forced_ = candidate.get();
  }
  if (forced_ != nullptr) return Status::ok();
  return make_status(Code::kUnsupported, title(*table_), ": forced variant ", index, " ", input.variants[index].reason);
}

Status ResolvedTable::choose_failure(const int64_t* slots, int leaf) const {
  if (forced_ != nullptr) {
    return make_status(Code::kInvalidArgument, title(*table_), ": forced variant ", forced_->facts.index, " (",
                       hex(forced_->facts.fingerprint),
                       ") does not accept the call: ", refusing_guard(*forced_->signature, *forced_->guards, slots));
  }
  if (leaf >= 0 && leaf + 1 < static_cast<int>(leaf_begin_.size())) return value_not_compiled(slots);
  return make_status(Code::kInternal, title(*table_), ": select() of table ", pack_->hardware(), " answered leaf ",
                     leaf, " of ", leaf_begin_.size() - 1);
}

// A generic variant refuses nothing but values of specialised dimensions, so those are why a whole leaf refused.
Status ResolvedTable::value_not_compiled(const int64_t* slots) const {
  const Signature& signature = table_->signature;
  std::string text;
  for (size_t dim = 0; dim < signature.dims.size(); ++dim) {
    const int slot = signature.dim_slot(static_cast<int>(dim));
    std::vector<int64_t> values;
    for (const std::vector<uint16_t>& leaf : tree_->leaves) {
      for (const Guard& guard : table_->variants[leaf.back()].info.guards) {
        if (guard.slot != slot) continue;
        const auto at = std::lower_bound(values.begin(), values.end(), guard.value);
        if (at == values.end() || *at != guard.value) values.insert(at, guard.value);
      }
    }
    if (values.empty() || std::find(values.begin(), values.end(), slots[slot]) != values.end()) continue;
    append_to(&text, text.empty() ? "" : "; ", signature.dims[dim], " is ", slots[slot], ", compiled for ");
    for (size_t i = 0; i < values.size(); ++i) append_to(&text, i > 0 ? ", " : "", values[i]);
  }
  return make_status(Code::kValueNotCompiled, title(*table_), ": ", text,
                     "; add the value to `specialize` in the kernel's source and to its shapes, and "
                     "run `aot_runner tune ",
                     signature.kernel, ".tile` again");
}

Candidate* ResolvedTable::route(uint64_t fingerprint, const int64_t* slots, Status* error) const {
  for (const auto& candidate : candidates_) {
    if (candidate->facts.fingerprint != fingerprint) continue;
    if (candidate->accepts(slots)) return candidate.get();
    *error = make_status(
        Code::kInvalidArgument, title(*table_), ": variant ", candidate->facts.index, " (", candidate->config_text,
        ") does not accept the call: ", refusing_guard(*candidate->signature, *candidate->guards, slots));
    return nullptr;
  }
  std::string known;
  for (size_t i = 0; i < table_->variants.size(); ++i) {
    append_to(&known, i == 0 ? "" : ", ", hex(table_->variants[i].fingerprint));
    if (table_->variants[i].fingerprint != fingerprint) continue;
    for (const Skipped& skipped : skipped_) {
      if (skipped.index != i) continue;
      *error = make_status(Code::kUnsupported, title(*table_), ": variant ", i, " ", skipped.reason);
      return nullptr;
    }
  }
  *error = make_status(Code::kNotFound, title(*table_), ": no variant of table ", pack_->hardware(),
                       " has fingerprint ", hex(fingerprint), ", there are ", known);
  return nullptr;
}

std::string ResolvedTable::summary() const {
  std::string text = cat(title(*table_), " on ", facts_.name, " (", facts_.hardware, ", device ", key_.device,
                         "): table ", pack_->hardware());
  if (fit_ == TableFit::kOlder) text += " of older hardware";
  if (fit_ == TableFit::kGenericOnly) text += " of other hardware, generic variant only";
  append_to(&text, ", ", candidates_.size(), " of ", table_->variants.size(), " variants run here");
  for (const Skipped& skipped : skipped_) append_to(&text, "; variant ", skipped.index, " ", skipped.reason);
  return text;
}

}  // namespace kaon
