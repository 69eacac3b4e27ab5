// A `host` image in memory: an ELF shared object that is checked, loaded and asked for its kernels.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/host/block.h"

namespace kaon::host {

/// Unloads on destruction; no kernel of it may be running then.
class Image {
 public:
  /// Loads the shared object in `bytes`, which need not outlive the call. kCorrupt when it is no complete ELF shared
  /// object, needs symbols that do not exist, or was made for another version of the SIMT ABI; kUnsupported when it
  /// is for another processor; kIo when the system refuses memory for it.
  static Result<std::unique_ptr<Image>> load(std::string_view bytes);
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  ~Image();

  /// kNotFound when the image has no such entry.
  Result<KernelFunction> find(const std::string& symbol) const;

 private:
  Image(void* library, int file) : library_(library), file_(file) {}
  void* library_;
  int file_;  // stays open: the loader knows libraries by path, and the path is this number
};

}  // namespace kaon::host
