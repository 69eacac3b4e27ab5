// How a machine is looked at, and how the findings are told.
#include "aot_runner/report/doctor.h"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "aot_runner/report/packs.h"
#include "compiler/compile.h"
#include "pretuned/pretuned.h"
#include "runtime/launch/cuda_backend.h"
#include "runtime/launch/registry.h"

namespace kaon::runner {
namespace {

void examine_driver(Findings* f) {
  const char* chosen = std::getenv("KAON_CUDA_DRIVER");
  f->driver_library = chosen != nullptr && *chosen != '\0' ? chosen : "libcuda.so.1";
  const Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver.is_ok()) {
    f->driver_error = driver.status().message();
    f->problems.push_back(f->driver_error);
    return;
  }
  int version = 0;
  if ((*driver)->driver_get_version(&version) == cuda::kCudaSuccess) {
    f->driver_version = fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  }
  const Result<int> count = cuda::device_count(**driver);
  if (!count.is_ok()) f->problems.push_back(count.status().message() + "; check that nvidia-smi lists a GPU");
  if (count.is_ok() && *count == 0) {
    f->problems.push_back("the driver shows no GPU; check nvidia-smi and CUDA_VISIBLE_DEVICES");
  }
  for (int i = 0; count.is_ok() && i < *count; ++i) {
    Result<cuda::DeviceInfo> info = cuda::device_info(**driver, i);
    if (info.is_ok()) {
      f->devices.push_back(*info);
    } else {
      f->problems.push_back(fmt::format("cuda:{}: {}", i, info.status().message()));
    }
  }
}

void examine_tools(Findings* f) {
  const Result<std::string> ptxas = compiler::find_ptxas();
  if (!ptxas.is_ok()) {
    f->notes.push_back("no tuning for GPUs: " + ptxas.status().message());
    return;
  }
  f->ptxas = *ptxas;
  const Result<std::string> version = compiler::ptxas_version(*ptxas);
  if (version.is_ok()) {
    f->ptxas_version = *version;
  } else {
    f->notes.push_back("no tuning for GPUs: " + version.status().message());
  }
}

PackFinding pack_finding(const std::string& kernel, const PackSource& source) {
  PackFinding found{kernel, source.hardware, "", source.is_linked ? "pretuned" : source.pack->name()};
  for (const PackTable& table : source.pack->tables()) {
    found.dtypes += (found.dtypes.empty() ? "" : ", ") + table.dtype_key;
  }
  found.hash = source.pack->hash();
  for (const PackImageView& image : source.pack->images()) found.image_bytes += image.bytes;
  return found;
}

/// The first source in the order of lookup that has a table whose generic variant runs there.
ServiceFinding service(const std::string& kernel, const std::vector<PackSource>& sources, const DeviceFacts& facts) {
  for (const LookupEntry& entry : lookup_order(sources, facts)) {
    const Pack& pack = *sources[static_cast<size_t>(entry.source)].pack;
    for (const PackTable& table : pack.tables()) {
      if (missing_generic(table, fit_variants(table, pack, facts, ptx_rule())) != nullptr) continue;
      const char* fit = entry.fit == TableFit::kExact ? "exact" : entry.fit == TableFit::kOlder ? "older" : "generic";
      return {kernel, facts.device, pack.hardware(), fit};
    }
  }
  return {kernel, facts.device, "", "none"};
}

void examine_services(const std::string& kernel, const std::vector<PackSource>& sources, Findings* f) {
  std::set<std::string> told;  // one problem for devices of one kind
  for (const cuda::DeviceInfo& info : f->devices) {
    const DeviceFacts facts = facts_of(info);
    const ServiceFinding found = service(kernel, sources, facts);
    f->services.push_back(found);
    if (found.fit == "exact" || !told.insert(facts.hardware).second) continue;
    f->problems.push_back(
        found.fit == "none"
            ? fmt::format("{} has no image that runs on sm_{}; run: aot_runner tune {}.tile on this machine", kernel,
                          facts.sm, kernel)
            : fmt::format("{} was not tuned for sm_{}, its table of {} serves{}; run: aot_runner tune {}.tile on this "
                          "machine",
                          kernel, facts.sm, found.hardware, found.fit == "generic" ? " with the generic variant" : "",
                          kernel));
  }
}

void examine_packs(const std::vector<std::string>& paths, Findings* f) {
  kaon_register_pretuned();
  for (const std::string& path : paths) {
    if (const Status status = load_packs({path}); !status.is_ok()) f->problems.push_back(status.message());
  }
  std::vector<std::shared_ptr<const Pack>> of_directory;
  if (const Status status = directory_packs(&of_directory); !status.is_ok()) {
    f->problems.push_back(status.message() + "; every call fails until KAON_HEURISTIC_DIR is mended or unset");
    return;
  }
  for (const auto& pack : of_directory) kernel_entry(pack->kernel());
  for (KernelEntry* entry : kernel_entries()) {
    const Result<std::vector<PackSource>> sources = entry->sources();
    if (!sources.is_ok()) {
      f->problems.push_back(sources.status().message());
      continue;
    }
    for (const PackSource& source : *sources) f->packs.push_back(pack_finding(entry->name(), source));
    if (!sources->empty()) examine_services(entry->name(), *sources, f);
  }
  if (f->packs.empty()) f->problems.push_back("no packs; tune a kernel, or name a folder of packs");
}

std::string device_lines(const Findings& f) {
  std::string text;
  for (const cuda::DeviceInfo& d : f.devices) {
    text += fmt::format(
        "cuda:{}   {}, sm_{}, {} SMs, {} bytes of shared memory and {} registers per block, {} MiB, {}\n", d.ordinal,
        d.name, d.sm, d.num_sms, d.max_shared_bytes, d.registers_per_block, d.memory_bytes >> 20, d.pci_bus_id);
    for (const ServiceFinding& s : f.services) {
      if (s.device != d.ordinal) continue;
      text += fmt::format("         {}: {}\n", s.kernel,
                          s.fit == "none" ? "nothing runs here" : fmt::format("table {}, {}", s.hardware, s.fit));
    }
  }
  return text;
}

}  // namespace

Findings examine(const std::vector<std::string>& paths) {
  Findings findings;
  examine_driver(&findings);
  examine_tools(&findings);
  examine_packs(paths, &findings);
  return findings;
}

std::string findings_text(const Findings& f) {
  std::string text = fmt::format("driver   {}: {}\n", f.driver_library,
                                 f.driver_error.empty() ? "CUDA " + f.driver_version : f.driver_error);
  text += device_lines(f);
  text += f.ptxas.empty() ? "ptxas    none\n" : fmt::format("ptxas    {} {}\n", f.ptxas, f.ptxas_version);
  for (const PackFinding& p : f.packs) {
    text += fmt::format("pack     {} {} ({}), {} KB of images, hash {:016x}, {}\n", p.kernel, p.hardware, p.dtypes,
                        (p.image_bytes + 1023) / 1024, p.hash, p.place);
  }
  for (const std::string& note : f.notes) text += "note: " + note + "\n";
  for (const std::string& problem : f.problems) text += "problem: " + problem + "\n";
  return text + (f.problems.empty() ? "nothing is missing\n" : "");
}

std::string findings_json(const Findings& f) {
  using nlohmann::json;
  json all;
  all["driver"] = {{"library", f.driver_library}, {"cuda", f.driver_version}, {"error", f.driver_error}};
  all["devices"] = json::array();
  for (const cuda::DeviceInfo& d : f.devices) {
    all["devices"].push_back({{"ordinal", d.ordinal},
                              {"name", d.name},
                              {"sm", d.sm},
                              {"num_sms", d.num_sms},
                              {"max_shared_bytes", d.max_shared_bytes},
                              {"registers_per_block", d.registers_per_block},
                              {"max_threads", d.max_threads_per_block},
                              {"memory_bytes", d.memory_bytes},
                              {"pci_bus_id", d.pci_bus_id}});
  }
  all["ptxas"] = {{"path", f.ptxas}, {"version", f.ptxas_version}};
  all["packs"] = json::array();
  for (const PackFinding& p : f.packs) {
    all["packs"].push_back({{"kernel", p.kernel},
                            {"hardware", p.hardware},
                            {"dtypes", p.dtypes},
                            {"place", p.place},
                            {"hash", fmt::format("{:016x}", p.hash)},
                            {"image_bytes", p.image_bytes}});
  }
  all["services"] = json::array();
  for (const ServiceFinding& s : f.services) {
    all["services"].push_back({{"kernel", s.kernel}, {"device", s.device}, {"table", s.hardware}, {"fit", s.fit}});
  }
  all["notes"] = f.notes;
  all["problems"] = f.problems;
  // Names come from drivers and files: what is no UTF-8 is replaced rather than thrown at.
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace kaon::runner
