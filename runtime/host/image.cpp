// Loading through an anonymous file, after the checks without which a damaged image would kill the process.
#include "runtime/host/image.h"

#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace kaon::host {

namespace {

#if defined(__x86_64__)
constexpr uint16_t kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr uint16_t kMachine = EM_AARCH64;
#else
#error "add this processor's ELF machine number"
#endif

Status corrupt(const std::string& what) { return Status(Code::kCorrupt, "host image: " + what); }

/// The loader maps what the headers promise: a file cut short would fault on first touch.
Status check_elf(std::string_view bytes) {
  Elf64_Ehdr header;
  if (bytes.size() < sizeof header) {
    return corrupt("has " + std::to_string(bytes.size()) + " bytes, an ELF header needs " +
                   std::to_string(sizeof header));
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    return corrupt("is not a 64-bit ELF file");
  }
  if (header.e_type != ET_DYN)
    return corrupt("is not a shared object (ELF type " + std::to_string(header.e_type) + ")");
  if (header.e_machine != kMachine) {
    return Status(Code::kUnsupported, "host image: made for ELF machine " + std::to_string(header.e_machine) +
                                          ", this processor is " + std::to_string(kMachine));
  }
  const uint64_t table_bytes = uint64_t{header.e_phnum} * sizeof(Elf64_Phdr);
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phoff > bytes.size() ||
      table_bytes > bytes.size() - header.e_phoff) {
    return corrupt("its program headers lie outside its " + std::to_string(bytes.size()) + " bytes");
  }
  for (uint16_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset) {
      return corrupt("segment " + std::to_string(i) + " ends at byte " +
                     std::to_string(segment.p_offset + segment.p_filesz) + " of " + std::to_string(bytes.size()));
    }
  }
  return Status::ok();
}

Result<int> to_file(std::string_view bytes) {
  const int file = memfd_create("kaon_host_image", MFD_CLOEXEC);
  if (file < 0) return Status(Code::kIo, std::string("host image: memfd_create: ") + std::strerror(errno));
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(file, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const std::string why = std::strerror(errno);
      close(file);
      return Status(Code::kIo, "host image: write: " + why);
    }
    done += static_cast<size_t>(n);
  }
  return file;
}

}  // namespace

Result<std::unique_ptr<Image>> Image::load(std::string_view bytes) {
  KAON_RETURN_IF_ERROR(check_elf(bytes));
  KAON_ASSIGN_OR_RETURN(const int file, to_file(bytes));
  void* library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = dlerror();
    close(file);
    return corrupt(std::string("does not load: ") + (why != nullptr ? why : "no reason given"));
  }
  std::unique_ptr<Image> image(new Image(library, file));
  // Images say which ABI they were made for; one that says nothing is taken for the first version.
  const auto* version = static_cast<const uint64_t*>(dlsym(library, KAON_SIMT_ABI_SYMBOL));
  const uint64_t made_for = version != nullptr ? *version : 1;
  if (made_for > KAON_SIMT_ABI_VERSION) {
    return corrupt("made for version " + std::to_string(made_for) + " of the SIMT ABI, this machine has version " +
                   std::to_string(KAON_SIMT_ABI_VERSION) + "; compile it again");
  }
  return image;
}

Image::~Image() {
  dlclose(library_);
  close(file_);
}

Result<KernelFunction> Image::find(const std::string& symbol) const {
  void* address = dlsym(library_, symbol.c_str());
  if (address == nullptr) return Status(Code::kNotFound, "host image: has no kernel named " + symbol);
  return reinterpret_cast<KernelFunction>(address);
}

}  // namespace kaon::host
