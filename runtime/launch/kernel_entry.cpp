// How a kernel's tables are found, made ready and loaded. All of it happens once per device and dtype binding.
#include "runtime/launch/kernel_entry.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/text.h"
#include "runtime/launch/fallback.h"
#include "runtime/launch/log.h"
#include "runtime/launch/ranges.h"
#include "runtime/launch/record.h"
#include "runtime/launch/registry.h"

namespace kaon {
namespace {

std::string dtypes_text(const TensorView* const* tensors, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) append_to(&text, std::string(i == 0 ? "" : ", "), dtype_name(tensors[i]->dtype));
  return text;
}

uint64_t signature_dtypes(const Signature& signature) {
  uint64_t bits = 0;
  for (int i = 0; i < signature.num_tensors(); ++i) {
    bits |= dtype_bits(signature.tensors[i].dtype, i);
  }
  return bits;
}

// Gives the generics of `signature` the dtypes of a call; false when its tensors cannot be those of the call.
bool bind_dtypes(const TensorView* const* tensors, int num_tensors, Signature* signature) {
  if (num_tensors != signature->num_tensors()) return false;
  for (int i = 0; i < num_tensors; ++i) {
    TensorParam& param = signature->tensors[i];
    if (param.dtype_var.empty() && param.dtype != tensors[i]->dtype) return false;
    param.dtype = tensors[i]->dtype;
    for (int j = 0; j < i; ++j) {
      const TensorParam& earlier = signature->tensors[j];
      if (!param.dtype_var.empty() && earlier.dtype_var == param.dtype_var && earlier.dtype != param.dtype)
        return false;
    }
  }
  return true;
}

}  // namespace

void KernelEntry::start_generation() {
  generations_.push_back(std::make_unique<Generation>());
  generation_.store(generations_.back().get(), std::memory_order_release);
}

void KernelEntry::invalidate() {
  std::lock_guard<std::mutex> lock(mutex_);
  start_generation();
}

void KernelEntry::report_later(Status status) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (reported_.is_ok()) reported_ = std::move(status);
}

Status KernelEntry::add_tables(const KernelTable* tables, size_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  bool is_changed = false;
  for (size_t i = 0; i < count; ++i) {
    const KernelTable& table = tables[i];
    if (table.abi_version != kKernelTableAbi) {
      return make_status(Code::kUnsupported, name_, ": table ", table.hardware, " has ABI version ", table.abi_version,
                         ", this runtime has ", kKernelTableAbi, "; generate it again");
    }
    auto same_pack = [&](const PackSource& source) {
      return source.is_linked && source.tables[0]->pack_begin == table.pack_begin;
    };
    auto source = std::find_if(sources_.begin(), sources_.end(), same_pack);
    if (source == sources_.end()) {
      sources_.push_back({table.hardware, true, nullptr, {}, {}});
      source = sources_.end() - 1;
    }
    auto same_key = [&](const KernelTable* known) { return strcmp(known->dtype_key, table.dtype_key) == 0; };
    if (std::any_of(source->tables.begin(), source->tables.end(), same_key)) continue;
    source->tables.push_back(&table);
    is_changed = true;
  }
  if (is_changed) start_generation();
  return Status::ok();
}

void KernelEntry::add_pack(std::shared_ptr<const Pack> pack) {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<void*> handles(pack->images().size(), nullptr);
  std::string hardware = pack->hardware();
  sources_.push_back({hardware, false, std::move(pack), {}, std::move(handles)});
  start_generation();
}

Status KernelEntry::add_directory_packs() {
  if (has_directory_packs_) return Status::ok();
  std::vector<std::shared_ptr<const Pack>> packs;
  KAON_RETURN_IF_ERROR(directory_packs(&packs));
  // In front of packs that the program loaded itself: the later one of a kind is asked first. No table was made ready
  // yet, so no index into sources_ is held anywhere.
  std::vector<PackSource> found;
  for (const auto& pack : packs) {
    if (pack->kernel() != name_) continue;
    found.push_back({pack->hardware(), false, pack, {}, std::vector<void*>(pack->images().size(), nullptr)});
  }
  for (PackSource& source : sources_) found.push_back(std::move(source));
  sources_.swap(found);
  has_directory_packs_ = true;
  return Status::ok();
}

Status KernelEntry::read_pack(PackSource& source) {
  if (source.pack != nullptr) return Status::ok();
  const KernelTable& first = *source.tables[0];
  std::string name = cat("linked pack ", name_, "_", first.hardware);
  size_t bytes = static_cast<size_t>(first.pack_end - first.pack_begin);
  KAON_ASSIGN_OR_RETURN(std::shared_ptr<const Pack> pack, Pack::borrow(first.pack_begin, bytes, name));
  for (const KernelTable* table : source.tables) {
    if (table->pack_hash != pack->hash()) {
      return make_status(Code::kStale, name, ": its generated source was made with another pack; generate it again");
    }
    if (pack->find_table(table->dtype_key) == nullptr || pack->kernel() != name_) {
      return make_status(Code::kStale, name, ": holds no table ", table->dtype_key, " of ", name_);
    }
  }
  source.image_handles.assign(pack->images().size(), nullptr);
  source.pack = std::move(pack);
  return Status::ok();
}

const PackTable* KernelEntry::find_table(const Pack& pack, uint64_t dtypes) const {
  for (const PackTable& table : pack.tables()) {
    if (signature_dtypes(table.signature) == dtypes) return &table;
  }
  return nullptr;
}

Result<const ResolvedTable*> KernelEntry::publish(ResolveInput input, std::string* log) {
  KAON_ASSIGN_OR_RETURN(std::unique_ptr<ResolvedTable> table, ResolvedTable::make(input));
  ResolvedTable* raw = table.get();
  tables_.push_back(std::move(table));
  std::atomic<ResolvedTable*>& bucket = generations_.back()->buckets[input.key.bucket(kBuckets)];
  raw->next.store(bucket.load(std::memory_order_relaxed), std::memory_order_relaxed);
  bucket.store(raw, std::memory_order_release);
  *log = raw->summary();
  return raw;
}

// Null without an error when no table with these dtypes can run on the device; `log` then has the reasons.
Result<const ResolvedTable*> KernelEntry::resolve_locked(Backend& backend, const ResolvedKey& key, std::string* log) {
  if (const ResolvedTable* ready = find(key)) return ready;
  KAON_RETURN_IF_ERROR(reported_);
  KAON_RETURN_IF_ERROR(backend.check_context(key.device));
  KAON_RETURN_IF_ERROR(add_directory_packs());
  ResolveInput input;
  input.key = key;
  input.backend = &backend;
  KAON_ASSIGN_OR_RETURN(input.facts, backend.device_facts(key.device));
  KAON_ASSIGN_OR_RETURN(input.forced, forced_variant(name_));
  for (const LookupEntry& entry : lookup_order(sources_, input.facts)) {
    PackSource& source = sources_[entry.source];
    KAON_RETURN_IF_ERROR(read_pack(source));
    input.table = find_table(*source.pack, key.dtypes);
    if (input.table == nullptr) continue;
    input.pack = source.pack.get();
    input.source = entry.source;
    input.fit = entry.fit;
    input.variants = fit_variants(*input.table, *source.pack, input.facts, ptx_rule());
    const VariantFit* missing = missing_generic(*input.table, input.variants);
    if (missing != nullptr) {
      append_to(log, log->empty() ? "" : "; ", "table ", source.hardware, ": the generic variant ", missing->reason);
      continue;
    }
    input.select = nullptr;
    for (const KernelTable* linked : source.tables) {
      if (input.table->dtype_key == linked->dtype_key) input.select = linked->select;
    }
    log->clear();
    return publish(std::move(input), log);
  }
  return static_cast<const ResolvedTable*>(nullptr);
}

Result<const ResolvedTable*> KernelEntry::resolve_and_log(Backend& backend, const ResolvedKey& key,
                                                          std::string* reasons) {
  start_recording_from_environment();
  start_ranges_from_environment();
  const ResolvedTable* table = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    KAON_ASSIGN_OR_RETURN(table, resolve_locked(backend, key, reasons));
  }
  if (table != nullptr && !reasons->empty()) log_line(LogLevel::kInfo, *reasons);
  return table;
}

Result<const ResolvedTable*> KernelEntry::resolve(Backend& backend, const ResolvedKey& key,
                                                  const TensorView* const* tensors, int num_tensors, int num_scalars) {
  std::string reasons;
  KAON_ASSIGN_OR_RETURN(const ResolvedTable* table, resolve_and_log(backend, key, &reasons));
  if (table != nullptr) return table;
  KAON_ASSIGN_OR_RETURN(DeviceFacts facts, backend.device_facts(key.device));
  std::lock_guard<std::mutex> lock(mutex_);
  return no_table(facts, tensors, num_tensors, num_scalars, reasons);
}

Status KernelEntry::no_table(const DeviceFacts& facts, const TensorView* const* tensors, int num_tensors,
                             int num_scalars, const std::string& reasons) const {
  if (!reasons.empty()) return make_status(Code::kUnsupported, name_, " cannot run on ", facts.hardware, ": ", reasons);
  std::string keys, hardware;
  const PackTable* nearest = nullptr;
  for (const LookupEntry& entry : lookup_order(sources_, facts)) {
    for (const PackTable& table : sources_[entry.source].pack->tables()) {
      if (nearest == nullptr) nearest = &table;
      if (keys.find(table.dtype_key) == std::string::npos) append_to(&keys, keys.empty() ? "" : ", ", table.dtype_key);
    }
  }
  for (const PackSource& source : sources_) append_to(&hardware, " ", source.hardware);
  if (nearest == nullptr) {
    return make_status(Code::kNotFound, name_, ": no table serves ", facts.hardware, ", there are",
                       hardware.empty() ? " none" : hardware,
                       "; link a generated table, load a pack or set KAON_HEURISTIC_DIR");
  }
  Status status = ArgumentChecker::check_types(nearest->signature, tensors, num_tensors, num_scalars);
  // With one binding the first wrong argument says it best; with several, what would have been right.
  if (nearest->dtype_key.empty() || num_tensors != nearest->signature.num_tensors()) {
    if (!status.is_ok()) return status;
  }
  return make_status(Code::kInvalidArgument, name_, ": no table for dtypes (", dtypes_text(tensors, num_tensors),
                     "), compiled for ", keys);
}

void KernelEntry::record_unserved(const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars,
                                  int num_scalars) {
  for (const Signature& signature : signatures()) {
    Signature bound = signature;
    if (!bind_dtypes(tensors, num_tensors, &bound) || num_scalars != static_cast<int>(bound.scalars.size())) continue;
    int64_t slots[kMaxSlots];
    Status refused;
    if (ArgumentChecker(bound).fill(tensors, scalars, slots, &refused)) return record_call(bound, slots);
  }
}

std::vector<Signature> KernelEntry::signatures() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<Signature> all;
  for (PackSource& source : sources_) {
    if (!read_pack(source).is_ok()) continue;
    for (const PackTable& table : source.pack->tables()) all.push_back(table.signature);
  }
  return all;
}

void KernelEntry::note_match(const ResolvedTable& table, const Candidate& candidate, Match match, int leaf,
                             const int64_t* slots) {
  if (!is_logged(LogLevel::kWarning)) return;
  const unsigned bit = 1u << static_cast<int>(match);
  if ((noted_.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  const std::string line = fallback_line(table, candidate, match, leaf, slots);
  if (!line.empty()) log_line(LogLevel::kWarning, line);
}

Status KernelEntry::load(const ResolvedTable& table, Candidate& candidate, void* stream, LoadRule rule) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (candidate.function.load(std::memory_order_acquire) != nullptr) return Status::ok();
  Backend& backend = table.backend();
  std::string what = cat(name_, " variant ", candidate.facts.index, " (", candidate.facts.config, ")");
  if (rule == LoadRule::kOnCall) {
    const Result<bool> is_capturing = backend.is_capturing(stream);
    if (!is_capturing.is_ok()) {
      return make_status(is_capturing.status().code(), what, ": ", is_capturing.status().message());
    }
    if (*is_capturing) {
      return make_status(Code::kNotPreloaded, what,
                         " is first used inside a stream capture; call preload() before capturing");
    }
  }
  const PackImageView& image = table.pack().images()[candidate.image];
  void*& handle = sources_[table.source()].image_handles[candidate.image];
  if (handle == nullptr) {
    KAON_ASSIGN_OR_RETURN(handle,
                          backend.load_image({image.kind, image.data, image.bytes}, cat(what, " ", image.target)));
  }
  Result<void*> function =
      backend.load_function(handle, candidate.facts.symbol, table.key().device, candidate.dims.shared_bytes);
  if (!function.is_ok()) return make_status(function.status().code(), what, ": ", function.status().message());
  candidate.function.store(*function, std::memory_order_release);
  return Status::ok();
}

Status KernelEntry::preload(Backend& backend, int device) {
  ResolvedKey key;
  key.device = device;
  KAON_RETURN_IF_ERROR(backend.current_context(device, &key.context));
  std::vector<uint64_t> dtypes;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    KAON_RETURN_IF_ERROR(add_directory_packs());
    KAON_ASSIGN_OR_RETURN(DeviceFacts facts, backend.device_facts(device));
    for (const LookupEntry& entry : lookup_order(sources_, facts)) {
      KAON_RETURN_IF_ERROR(read_pack(sources_[entry.source]));
      for (const PackTable& table : sources_[entry.source].pack->tables()) {
        uint64_t bits = signature_dtypes(table.signature);
        if (std::find(dtypes.begin(), dtypes.end(), bits) == dtypes.end()) dtypes.push_back(bits);
      }
    }
  }
  bool is_any_loaded = false;
  Status unsupported;
  for (uint64_t bits : dtypes) {
    key.dtypes = bits;
    std::string reasons;
    KAON_ASSIGN_OR_RETURN(const ResolvedTable* table, resolve_and_log(backend, key, &reasons));
    if (table == nullptr) {
      // A binding that only tables of other hardware have: no call can reach it.
      KAON_ASSIGN_OR_RETURN(DeviceFacts facts, backend.device_facts(device));
      std::lock_guard<std::mutex> lock(mutex_);
      unsupported = no_table(facts, nullptr, 0, 0, reasons);
      continue;
    }
    for (const auto& candidate : table->candidates()) {
      KAON_RETURN_IF_ERROR(load(*table, *candidate, nullptr, LoadRule::kPreload));
    }
    is_any_loaded = true;
  }
  if (is_any_loaded || !unsupported.is_ok()) return is_any_loaded ? Status::ok() : unsupported;
  KAON_ASSIGN_OR_RETURN(DeviceFacts facts, backend.device_facts(device));
  std::lock_guard<std::mutex> lock(mutex_);
  return no_table(facts, nullptr, 0, 0, "");
}

}  // namespace kaon
