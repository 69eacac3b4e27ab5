// How kernels are held by name, and how the environment's wishes are read.
#include "runtime/launch/registry.h"

#include <dirent.h>
#include <pthread.h>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/base/text.h"

namespace kaon {
namespace {

struct ForcedItem {
  std::string kernel;  // empty: all
  ForcedVariant variant;
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<KernelEntry>> entries;

  std::mutex directory_mutex;
  bool is_directory_read = false;
  std::vector<std::shared_ptr<const Pack>> directory;
  Status directory_status;

  std::mutex forced_mutex;
  bool is_forced_read = false;
  std::vector<ForcedItem> forced;
  Status forced_status;
};

void before_fork();
void after_fork();

Registry& registry() {
  // Leaked on purpose: functions that captured graphs hold must outlive static destruction.
  static Registry* const instance = [] {
    auto* made = new Registry;
    pthread_atfork(before_fork, after_fork, after_fork);
    return made;
  }();
  return *instance;
}

// No lock may be held by a thread that the child does not have. In the order in which calls take them.
void before_fork() {
  Registry& r = registry();
  r.mutex.lock();
  for (auto& [name, entry] : r.entries) entry->mutex().lock();
  r.directory_mutex.lock();
  r.forced_mutex.lock();
}

void after_fork() {
  Registry& r = registry();
  r.forced_mutex.unlock();
  r.directory_mutex.unlock();
  for (auto& [name, entry] : r.entries) entry->mutex().unlock();
  r.mutex.unlock();
}

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

Status read_directory(const std::string& path, std::vector<std::shared_ptr<const Pack>>* packs) {
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) {
    return make_status(Code::kIo, "KAON_HEURISTIC_DIR ", path, ": cannot open: ", strerror(errno));
  }
  std::vector<std::string> names;
  while (const dirent* item = readdir(directory)) {
    std::string name = item->d_name;
    if (name.size() > 6 && name.compare(name.size() - 6, 6, ".kpack") == 0) {
      names.insert(std::upper_bound(names.begin(), names.end(), name), name);
    }
  }
  closedir(directory);
  for (const std::string& name : names) {
    KAON_ASSIGN_OR_RETURN(std::shared_ptr<const Pack> pack, Pack::map_file(cat(path, "/", name)));
    packs->push_back(std::move(pack));
  }
  return Status::ok();
}

bool parse_variant(std::string_view text, ForcedVariant* out) {
  out->is_set = true;
  out->is_fingerprint = text.substr(0, 2) == "0x";
  if (out->is_fingerprint) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  auto [stop, error] = std::from_chars(text.data(), end, out->value, out->is_fingerprint ? 16 : 10);
  return error == std::errc() && stop == end && !text.empty();
}

Status parse_forced(const std::string& spec, std::vector<ForcedItem>* items) {
  std::string_view rest = spec;
  while (!rest.empty()) {
    size_t comma = std::min(rest.find(','), rest.size());
    std::string_view text = rest.substr(0, comma);
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    ForcedItem item;
    size_t equals = text.find('=');
    std::string_view variant = text;
    if (equals != std::string_view::npos) {
      item.kernel = std::string(text.substr(0, equals));
      variant.remove_prefix(equals + 1);
    }
    if (!parse_variant(variant, &item.variant)) {
      return make_status(Code::kInvalidArgument, "forced variant '", text,
                         "': expected an index or 0x and a fingerprint, "
                         "with kernel= before it or not");
    }
    items->push_back(std::move(item));
  }
  return Status::ok();
}

void invalidate_all() {
  for (KernelEntry* entry : kernel_entries()) entry->invalidate();
}

uint64_t mix(uint64_t hash, const std::string& text) {
  return (hash ^ pack_checksum(text.data(), text.size())) * 0x9e3779b97f4a7c15u;
}

}  // namespace

std::vector<KernelEntry*> kernel_entries() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  std::vector<KernelEntry*> all;
  for (auto& [name, entry] : registry().entries) all.push_back(entry.get());
  return all;
}

Result<uint64_t> bundle_id() {
  std::vector<std::shared_ptr<const Pack>> packs;
  KAON_RETURN_IF_ERROR(directory_packs(&packs));
  // A pack whose kernel nobody has asked for yet decides all the same.
  for (const auto& pack : packs) kernel_entry(pack->kernel());
  uint64_t hash = mix(kPackFormatVersion, ptx_rule() == PtxRule::kAllowed ? "ptx" : "");
  for (KernelEntry* entry : kernel_entries()) {
    KAON_ASSIGN_OR_RETURN(const std::string text, entry->sources_text());
    if (text.empty()) continue;  // a name without tables chooses nothing
    KAON_ASSIGN_OR_RETURN(const ForcedVariant forced, forced_variant(entry->name()));
    hash = mix(hash, cat(entry->name(), "\n", text));
    if (forced.is_set) hash = mix(hash, cat(forced.is_fingerprint ? "0x" : "", forced.value));
  }
  return hash;
}

Status reclaim() {
  Status status;
  for (KernelEntry* entry : kernel_entries()) {
    if (Status failed = entry->reclaim(); status.is_ok()) status = std::move(failed);
  }
  return status;
}

KernelEntry* kernel_entry(const std::string& name) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  std::unique_ptr<KernelEntry>& entry = registry().entries[name];
  if (entry == nullptr) {
    entry = std::make_unique<KernelEntry>(name, static_cast<uint32_t>(registry().entries.size() - 1));
  }
  return entry.get();
}

KernelEntry* find_kernel_entry(const std::string& name) {
  std::vector<std::shared_ptr<const Pack>> packs;
  Status status = directory_packs(&packs);
  auto is_of_kernel = [&](const std::shared_ptr<const Pack>& pack) { return pack->kernel() == name; };
  // With an unreadable directory the entry is made all the same, so that the first call reports why.
  if (!status.is_ok() || std::any_of(packs.begin(), packs.end(), is_of_kernel)) return kernel_entry(name);
  std::lock_guard<std::mutex> lock(registry().mutex);
  auto it = registry().entries.find(name);
  return it == registry().entries.end() ? nullptr : it->second.get();
}

Status load_pack(const std::string& path) {
  KAON_ASSIGN_OR_RETURN(std::shared_ptr<const Pack> pack, Pack::map_file(path));
  KernelEntry* entry = kernel_entry(pack->kernel());
  entry->add_pack(std::move(pack));
  return Status::ok();
}

Status register_tables(const KernelTableList& list) {
  for (size_t i = 0; i < list.count; ++i) {
    const KernelTable& table = list.tables[i];
    if (table.kernel == nullptr || table.dtype_key == nullptr || table.hardware == nullptr ||
        table.pack_begin == nullptr || table.pack_end < table.pack_begin) {
      return make_status(Code::kInvalidArgument, "kernel table ", i, " lacks a name or its pack");
    }
    KAON_RETURN_IF_ERROR(kernel_entry(table.kernel)->add_tables(&table, 1));
  }
  return Status::ok();
}

Status directory_packs(std::vector<std::shared_ptr<const Pack>>* packs) {
  Registry& r = registry();
  std::lock_guard<std::mutex> lock(r.directory_mutex);
  if (!r.is_directory_read) {
    std::string path = environment("KAON_HEURISTIC_DIR");
    if (!path.empty()) r.directory_status = read_directory(path, &r.directory);
    r.is_directory_read = true;
  }
  *packs = r.directory;
  return r.directory_status;
}

Status force_variant(const std::string& spec) {
  std::vector<ForcedItem> items;
  KAON_RETURN_IF_ERROR(parse_forced(spec, &items));
  {
    std::lock_guard<std::mutex> lock(registry().forced_mutex);
    registry().forced = std::move(items);
    registry().forced_status = Status::ok();
    registry().is_forced_read = true;
  }
  invalidate_all();
  return Status::ok();
}

Result<uint64_t> config_fingerprint(const std::string& config) {
  KAON_ASSIGN_OR_RETURN(const Config parsed, Config::from_text(config));
  return parsed.fingerprint();
}

Result<ForcedVariant> forced_variant(const std::string& kernel) {
  Registry& r = registry();
  std::lock_guard<std::mutex> lock(r.forced_mutex);
  if (!r.is_forced_read) {
    r.forced_status = parse_forced(environment("KAON_FORCE_VARIANT"), &r.forced);
    if (!r.forced_status.is_ok()) {
      r.forced_status = make_status(Code::kInvalidArgument, "KAON_FORCE_VARIANT: ", r.forced_status.message());
    }
    r.is_forced_read = true;
  }
  if (!r.forced_status.is_ok()) return r.forced_status;
  ForcedVariant answer;
  for (const ForcedItem& item : r.forced) {
    if (item.kernel == kernel) return item.variant;
    if (item.kernel.empty()) answer = item.variant;
  }
  return answer;
}

PtxRule ptx_rule() { return environment("KAON_ALLOW_PTX") == "1" ? PtxRule::kAllowed : PtxRule::kForbidden; }

}  // namespace kaon
