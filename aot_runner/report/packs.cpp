// How packs are found in folders and asked for by name.
#include "aot_runner/report/packs.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>

#include "pretuned/pretuned.h"
#include "runtime/base/text.h"
#include "runtime/host/machine.h"
#include "runtime/launch/control.h"
#include "runtime/launch/known_devices.h"
#include "runtime/launch/registry.h"

namespace kaon::runner {
namespace {

constexpr int kNewestChip = 200;

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const std::string& name : names) append_to(&text, text.empty() ? "" : ", ", name);
  return text;
}

DeviceFacts host_facts() {
  DeviceFacts facts;
  facts.hardware = "host";
  facts.name = "SIMT machine";
  facts.max_shared_bytes = host::kMaxSharedBytes;
  facts.max_threads = host::kMaxThreads;
  return facts;
}

Status pack_files(const std::string& path, std::vector<std::string>* files) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) {
    files->push_back(path);  // what it is, and whether it exists, the reader says
    return Status::ok();
  }
  const size_t before = files->size();
  for (std::filesystem::recursive_directory_iterator at(path, error), end; at != end && !error; at.increment(error)) {
    if (at->path().extension() == ".kpack") files->push_back(at->path().string());
  }
  if (error) return make_status(Code::kIo, path, ": cannot be searched: ", error.message());
  std::sort(files->begin() + static_cast<std::ptrdiff_t>(before), files->end());
  if (files->size() == before) return make_status(Code::kNotFound, path, ": holds no .kpack, nor do folders below it");
  return Status::ok();
}

}  // namespace

Result<DeviceFacts> facts_by_name(const std::string& name) {
  if (name == "host") return host_facts();
  std::string_view digits = name;
  for (const std::string_view prefix : {"sm_", "sm"}) {
    if (digits.substr(0, prefix.size()) == prefix) {
      digits.remove_prefix(prefix.size());
      break;
    }
  }
  int sm = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), sm);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  if (const DeviceFacts* known = is_number ? known_device(sm) : nullptr; known != nullptr) return *known;
  std::string chips;
  for (int chip = 1; chip < kNewestChip; ++chip) {
    if (known_device(chip) != nullptr) append_to(&chips, "sm_", chip, ", ");
  }
  return make_status(Code::kInvalidArgument, "--device-facts '", name, "': expected one of ", chips, "host");
}

Status load_packs(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) KAON_RETURN_IF_ERROR(pack_files(path, &files));
  for (const std::string& file : files) KAON_RETURN_IF_ERROR(load_pack(file));
  return Status::ok();
}

Result<KernelEntry*> open_packs(const std::string& kernel, const std::vector<std::string>& paths) {
  kaon_register_pretuned();
  KAON_RETURN_IF_ERROR(load_packs(paths));
  KernelEntry* entry = find_kernel_entry(kernel);
  if (entry != nullptr) return entry;
  std::set<std::string> known;
  for (const KernelEntry* other : kernel_entries()) known.insert(other->name());
  return make_status(Code::kNotFound, "no pack of a kernel ", kernel, ", there are some of ", joined(known),
                     "; name a folder with --packs");
}

Result<std::string> only_dtypes(KernelEntry& kernel, const std::string& dtypes) {
  if (!dtypes.empty()) return dtypes;
  KAON_ASSIGN_OR_RETURN(const std::vector<PackSource> sources, kernel.sources());
  std::set<std::string> keys;
  for (const PackSource& source : sources) {
    for (const PackTable& table : source.pack->tables()) keys.insert(table.dtype_key);
  }
  if (keys.size() == 1) return *keys.begin();
  return make_status(Code::kInvalidArgument, "--dtypes is missing: ", kernel.name(), " has tables for ", joined(keys));
}

}  // namespace kaon::runner
