#include "compiler/codegen/assemble.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Object/ObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include "compiler/codegen/child_process.h"

namespace kaon::compiler {
namespace {

/// 0 when `path` is a file that may be executed, else the errno that says why not.
int why_not_executable(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

/// Where ptxas may lie, and the same places as the reader knows them.
struct Places {
  std::vector<std::string> paths;
  std::string words;
};

Places places_of_ptxas() {
  Places search;
  const std::string path = variable("PATH");
  std::string folder;
  for (const char c : path + ":") {
    if (c != ':') {
      folder += c;
      continue;
    }
    if (!folder.empty()) search.paths.push_back(folder + "/ptxas");
    folder.clear();
  }
  search.words = "KAON_PTXAS (not set), PATH (" + (path.empty() ? "not set" : path) + ")";
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string home = variable(name);
    if (!home.empty()) search.paths.push_back(home + "/bin/ptxas");
    search.words += std::string(", ") + name + "/bin (" + (home.empty() ? "not set" : home + "/bin") + ")";
  }
  search.paths.push_back("/usr/local/cuda/bin/ptxas");
  search.words += ", /usr/local/cuda/bin";
  return search;
}

const std::string kPtxasMend =
    "install a CUDA toolkit of 12.4 or newer (its compiler package alone will do) or set KAON_PTXAS to its ptxas; the "
    "device and target host needs none";

}  // namespace

Result<std::string> find_ptxas() {
  const std::string chosen = variable("KAON_PTXAS");
  if (!chosen.empty()) {
    const int error = why_not_executable(chosen);
    if (error == 0) return chosen;
    return Status(Code::kUnsupported, "KAON_PTXAS is " + chosen + ", expected an executable file: errno " +
                                          std::to_string(error) + ": " + std::strerror(error) + "; " + kPtxasMend +
                                          ", or unset it to look in PATH, CUDA_HOME/bin and /usr/local/cuda/bin");
  }
  const Places search = places_of_ptxas();
  for (const std::string& path : search.paths) {
    if (why_not_executable(path) == 0) return path;
  }
  return Status(Code::kUnsupported, "found no ptxas; looked at " + search.words + "; " + kPtxasMend);
}

Result<std::string> ptxas_version(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  std::lock_guard<std::mutex> lock(mutex);
  if (auto it = known.find(path); it != known.end()) return it->second;
  KAON_ASSIGN_OR_RETURN(codegen::ChildResult child, codegen::run_child({path, "--version"}, 30));
  const size_t mark = child.output.find(", V");
  if (child.exit_code != 0 || mark == std::string::npos) {
    return Status(Code::kUnsupported, path + " --version does not answer as ptxas does: " + child.output);
  }
  std::string version;
  for (size_t i = mark + 3;
       i < child.output.size() && (std::isdigit(static_cast<unsigned char>(child.output[i])) || child.output[i] == '.');
       ++i) {
    version += child.output[i];
  }
  known[path] = version;
  return version;
}

namespace codegen {
namespace {

/// The number that stands before `unit` in `text`; none when `unit` does not occur.
std::optional<uint32_t> number_before(const std::string& text, const std::string& unit) {
  const size_t end = text.find(unit);
  if (end == std::string::npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(text[begin - 1]))) --begin;
  if (begin == end) return std::nullopt;
  return static_cast<uint32_t>(std::strtoul(text.substr(begin, end - begin).c_str(), nullptr, 10));
}

Status ptxas_failure(const std::string& path, const Target& target, const ChildResult& child) {
  if (child.output.find("is not defined for option 'gpu-name'") != std::string::npos ||
      child.output.find("Unsupported .version") != std::string::npos) {
    Result<std::string> version = ptxas_version(path);
    return Status(Code::kUnsupported,
                  "ptxas " + (version ? *version : std::string("of unknown version")) + " at " + path +
                      " does not know " + target.ptxas_arch + " or PTX " + target.ptx_feature.substr(1) +
                      "; expected the ptxas of CUDA 12.4, or 12.9 for sm_100 and newer: " + child.output);
  }
  return Status(Code::kInternal,
                "ptxas failed with exit code " + std::to_string(child.exit_code) + ": " + child.output);
}

}  // namespace

Result<Resources> parse_ptxas_report(const std::string& text) {
  const auto registers = number_before(text, " registers");
  const auto stack = number_before(text, " bytes stack frame");
  const auto stores = number_before(text, " bytes spill stores");
  const auto loads = number_before(text, " bytes spill loads");
  if (!registers || !stack || !stores || !loads) {
    return Status(Code::kInternal, "expected a report of registers and spills from ptxas -v, got: " + text);
  }
  Resources resources;
  resources.registers = *registers;
  resources.stack_bytes = *stack;
  resources.spill_store_bytes = *stores;
  resources.spill_load_bytes = *loads;
  resources.static_shared_bytes = number_before(text, " bytes smem").value_or(0);
  return resources;
}

namespace {

Result<Assembled> assemble_once(const std::string& path, const std::string& ptx, const Target& target,
                                double timeout_s) {
  KAON_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::create());
  const std::string input = folder.file("kernel.ptx");
  const std::string output = folder.file("kernel.cubin");
  KAON_RETURN_IF_ERROR(write_file(input, ptx));
  Result<ChildResult> answer =
      run_child({path, "-v", "-O3", "-arch=" + target.ptxas_arch, input, "-o", output}, timeout_s);
  if (!answer && answer.status().code() == Code::kTimeout) {
    return Status(Code::kTimeout,
                  answer.status().message() +
                      "; give a thread less code: fewer resident elements, smaller tiles, fewer turns of "
                      "static_range");
  }
  KAON_ASSIGN_OR_RETURN(const ChildResult child, std::move(answer));
  if (child.exit_code != 0) return ptxas_failure(path, target, child);
  Assembled assembled;
  KAON_ASSIGN_OR_RETURN(assembled.resources, parse_ptxas_report(child.output));
  KAON_ASSIGN_OR_RETURN(assembled.image, read_file(output));
  assembled.ptx = ptx;
  return assembled;
}

/// Blocks that would be resident if each thread gave up three eighths of its registers at most; 0: no more than are.
uint32_t better_residency(uint32_t registers, uint32_t threads, const Target& target) {
  constexpr uint32_t kMaxBlocks = 16;  // beyond, registers are not what keeps loads from being in flight
  const uint32_t resident = target.registers_per_sm / (registers * threads);
  const uint32_t wanted = resident + 1;
  const uint32_t available = target.registers_per_sm / (threads * wanted) / 8 * 8;
  const bool fits = wanted * threads <= target.max_threads_per_sm && wanted <= kMaxBlocks;
  return resident > 0 && fits && available * 8 >= registers * 5 ? wanted : 0;
}

const std::string kResidency = ".minnctapersm ";

/// How many blocks the PTX asks to be resident; none when it says nothing of that.
std::optional<uint32_t> residency_asked(const std::string& ptx) {
  const size_t at = ptx.find(kResidency);
  if (at == std::string::npos) return std::nullopt;
  return static_cast<uint32_t>(std::strtoul(ptx.c_str() + at + kResidency.size(), nullptr, 10));
}

/// `ptx` with another line in place of that on residency.
std::string with_limit(std::string ptx, const std::string& line) {
  const size_t at = ptx.find(kResidency);
  return ptx.replace(at, ptx.find('\n', at) + 1 - at, line);
}

bool spills(const Assembled& assembled) {
  return assembled.resources.spill_store_bytes > 0 || assembled.resources.stack_bytes > 0;
}

}  // namespace

Result<Assembled> assemble_ptx(const std::string& ptx, uint32_t threads, const Target& target,
                               const CompileOptions& options) {
  std::string path = options.ptxas;
  if (path.empty()) {
    KAON_ASSIGN_OR_RETURN(path, find_ptxas());
  }
  KAON_ASSIGN_OR_RETURN(Assembled first, assemble_once(path, ptx, target, options.child_timeout_s));
  const std::optional<uint32_t> asked = residency_asked(ptx);
  if (!asked) return first;
  uint32_t wanted = *asked;
  if (wanted == 1 && spills(first)) return first;
  if (wanted == 1) wanted = better_residency(first.resources.registers, threads, target);
  if (wanted == 0 || (wanted == *asked && !spills(first))) return first;
  if (wanted != *asked) {
    const std::string line = ".minnctapersm " + std::to_string(wanted) + "\n";
    Result<Assembled> denser = assemble_once(path, with_limit(ptx, line), target, options.child_timeout_s);
    if (denser && !spills(*denser)) return denser;
  }
  // Told the number of registers that is left, ptxas spills a few; told a little more, it may need no more than that.
  constexpr uint32_t kSlack = 4;
  const uint32_t available = target.registers_per_sm / (threads * wanted) / 8 * 8;
  const uint32_t limit = std::min(available + kSlack, target.max_registers_per_thread);
  const std::string line = ".maxnreg " + std::to_string(limit) + "\n";
  Result<Assembled> looser = assemble_once(path, with_limit(ptx, line), target, options.child_timeout_s);
  if (looser && !spills(*looser) && looser->resources.registers <= available) return looser;
  return first;
}

namespace {

/// The names that an object leaves for others to define, joined; empty when it stands alone.
Result<std::string> undefined_symbols(const std::string& object) {
  auto buffer = llvm::MemoryBuffer::getMemBuffer(object, "host image", /*RequiresNullTerminator=*/false);
  auto parsed = llvm::object::ObjectFile::createELFObjectFile(buffer->getMemBufferRef());
  if (!parsed) return Status(Code::kInternal, "the host object cannot be read: " + llvm::toString(parsed.takeError()));
  std::string names;
  for (const llvm::object::SymbolRef& symbol : (*parsed)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (!flags || !name) return Status(Code::kInternal, "the host object has a broken symbol table");
    if ((*flags & llvm::object::SymbolRef::SF_Undefined) != 0 && !name->empty())
      names += (names.empty() ? "" : ", ") + name->str();
  }
  return names;
}

}  // namespace

Result<std::string> link_host_object(const std::string& object, const CompileOptions& options) {
  KAON_ASSIGN_OR_RETURN(std::string undefined, undefined_symbols(object));
  if (!undefined.empty())
    return Status(Code::kInternal, "the host object needs symbols that no image may need: " + undefined);
  KAON_ASSIGN_OR_RETURN(ScratchFolder folder, ScratchFolder::create());
  KAON_RETURN_IF_ERROR(write_file(folder.file("kernel.o"), object));
  Result<ChildResult> child = run_child({"ld", "-shared", "--no-undefined", "--build-id=none", "-z", "noexecstack",
                                         "-s", "-o", folder.file("kernel.so"), folder.file("kernel.o")},
                                        options.child_timeout_s);
  if (!child && child.status().code() == Code::kUnsupported) {
    return Status(Code::kUnsupported, "no ld in PATH (" + child.status().message() + "); install binutils");
  }
  if (!child) return child.status();
  if (child->exit_code != 0) return Status(Code::kInternal, "ld failed: " + child->output);
  return read_file(folder.file("kernel.so"));
}

}  // namespace codegen
}  // namespace kaon::compiler
