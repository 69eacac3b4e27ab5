// What a kernel says of its packs, and how those that were replaced are released.
#include <algorithm>
#include <set>

#include "runtime/base/text.h"
#include "runtime/launch/cuda_backend.h"
#include "runtime/launch/explain.h"
#include "runtime/launch/kernel_entry.h"
#include "runtime/launch/registry.h"

namespace kaon {
namespace {

// Whether every call that `old` might serve is served by `newer`: it has all tables, and runs wherever `old` runs.
bool covers(const Pack& newer, const Pack& old) {
  for (const PackTable& table : old.tables()) {
    if (newer.find_table(table.dtype_key) == nullptr) return false;
  }
  return std::all_of(old.images().begin(), old.images().end(), [&](const PackImageView& image) {
    return std::any_of(newer.images().begin(), newer.images().end(), [&](const PackImageView& other) {
      return other.target == image.target && other.kind == image.kind;
    });
  });
}

Status unload_images(PackSource* source) {
  Status status;
  for (size_t i = 0; i < source->image_handles.size(); ++i) {
    void*& handle = source->image_handles[i];
    if (handle == nullptr) continue;
    Backend* backend = source->pack->images()[i].kind == ImageKind::kHostElf ? host_backend() : ready_cuda_backend();
    if (Status failed = backend->unload_image(handle); status.is_ok()) status = std::move(failed);
    handle = nullptr;
  }
  return status;
}

}  // namespace

bool KernelEntry::is_replaced(size_t source) const {
  const PackSource& old = sources_[source];
  if (old.is_linked || old.pack == nullptr) return false;
  for (size_t i = source + 1; i < sources_.size(); ++i) {
    const PackSource& newer = sources_[i];
    if (!newer.is_linked && newer.pack != nullptr && newer.hardware == old.hardware && covers(*newer.pack, *old.pack)) {
      return true;
    }
  }
  return false;
}

Status KernelEntry::reclaim() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::set<const ResolvedTable*> current;
  std::set<int> used;  // sources
  for (const std::atomic<ResolvedTable*>& bucket : generations_.back()->buckets) {
    for (ResolvedTable* table = bucket.load(); table != nullptr; table = table->next.load()) {
      current.insert(table);
      used.insert(table->source());
    }
  }
  auto is_past = [&](const std::unique_ptr<ResolvedTable>& table) { return current.count(table.get()) == 0; };
  tables_.erase(std::remove_if(tables_.begin(), tables_.end(), is_past), tables_.end());
  generations_.erase(generations_.begin(), generations_.end() - 1);
  Status status;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (used.count(static_cast<int>(i)) != 0 || !is_replaced(i)) continue;
    if (Status failed = unload_images(&sources_[i]); status.is_ok()) status = std::move(failed);
    sources_[i] = PackSource{};  // keeps its place; hardware without a name serves nothing
  }
  return status;
}

Result<std::string> KernelEntry::sources_text() {
  std::lock_guard<std::mutex> lock(mutex_);
  KAON_RETURN_IF_ERROR(add_directory_packs());
  std::string text;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const PackSource& source = sources_[i];
    // Replaced packs decide nothing, whether they were released or not.
    if (source.hardware.empty() || is_replaced(i)) continue;
    const uint64_t hash = source.pack != nullptr ? source.pack->hash() : source.tables[0]->pack_hash;
    append_to(&text, source.hardware, source.is_linked ? " linked " : " loaded ", hash, "\n");
  }
  return text;
}

template <typename Find, typename Fill>
Result<std::string> KernelEntry::explain_tables(const DeviceFacts& facts, Find find, Fill fill) {
  KAON_RETURN_IF_ERROR(add_directory_packs());
  KAON_ASSIGN_OR_RETURN(const ForcedVariant forced, forced_variant(name_));
  std::string text;
  for (const LookupEntry& entry : lookup_order(sources_, facts)) {
    PackSource& source = sources_[entry.source];
    KAON_RETURN_IF_ERROR(read_pack(source));
    const PackTable* table = find(*source.pack);
    if (table == nullptr) continue;
    int64_t slots[kMaxSlots];
    KAON_RETURN_IF_ERROR(fill(*table, slots));
    if (forced.is_set) {
      append_to(&text, "forced to ", forced.is_fingerprint ? "a fingerprint" : "variant ",
                forced.is_fingerprint ? "" : std::to_string(forced.value), "; without that:\n");
    }
    text += explain_choice({source.pack.get(), table, facts, ptx_rule(), slots});
    if (missing_generic(*table, fit_variants(*table, *source.pack, facts, ptx_rule())) == nullptr) return text;
  }
  return text;
}

Result<std::string> KernelEntry::explain(const DeviceFacts& facts, const TensorView* const* tensors, int num_tensors,
                                         const ScalarValue* scalars, int num_scalars) {
  std::lock_guard<std::mutex> lock(mutex_);
  uint64_t dtypes = 0;
  for (int i = 0; i < num_tensors; ++i) dtypes |= dtype_bits(tensors[i]->dtype, i);
  auto fill = [&](const PackTable& table, int64_t* slots) -> Status {
    KAON_RETURN_IF_ERROR(ArgumentChecker::check_types(table.signature, tensors, num_tensors, num_scalars));
    Status refused;
    ArgumentChecker(table.signature).fill(tensors, scalars, slots, &refused);
    return refused;
  };
  KAON_ASSIGN_OR_RETURN(std::string text, explain_tables(
                                              facts, [&](const Pack& pack) { return find_table(pack, dtypes); }, fill));
  if (text.empty()) return no_table(facts, tensors, num_tensors, num_scalars, "");
  return text;
}

Result<std::string> KernelEntry::explain_shape(const DeviceFacts& facts, const std::string& dtype_key,
                                               const std::vector<int64_t>& dims) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::string known;  // the dtypes of all tables that were asked
  auto find = [&](const Pack& pack) {
    for (const PackTable& table : pack.tables()) append_to(&known, known.empty() ? "" : ", ", table.dtype_key);
    return pack.find_table(dtype_key);
  };
  auto fill = [&](const PackTable& table, int64_t* slots) -> Status {
    const std::vector<std::string>& names = table.signature.dims;
    if (dims.size() == names.size()) return dense_slots(table.signature, dims.data(), slots), Status::ok();
    std::string text;
    for (const std::string& name : names) append_to(&text, text.empty() ? "" : " x ", name);
    return make_status(Code::kInvalidArgument, name_, ": got ", dims.size(), " dims, expected ", names.size(), ": ",
                       text);
  };
  KAON_ASSIGN_OR_RETURN(std::string text, explain_tables(facts, find, fill));
  if (!text.empty()) return text;
  if (known.empty()) return make_status(Code::kNotFound, name_, ": no table serves ", facts.hardware);
  return make_status(Code::kNotFound, name_, ": no table for dtypes ", dtype_key.empty() ? "(none given)" : dtype_key,
                     ", there are ", known);
}

Result<std::vector<PackSource>> KernelEntry::sources() {
  std::lock_guard<std::mutex> lock(mutex_);
  KAON_RETURN_IF_ERROR(add_directory_packs());
  std::vector<PackSource> all;
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (sources_[i].hardware.empty() || is_replaced(i)) continue;
    KAON_RETURN_IF_ERROR(read_pack(sources_[i]));
    all.push_back(sources_[i]);
  }
  return all;
}

}  // namespace kaon
