// Calls a kernel of the program's own, which add_kaon_kernels() built from a folder, by a variant that the program chose.
#include <kaon/kaon.hpp>

#include <cstdio>

#include "kaon_kernels.h"

static kaon::Status call(kaon::CallInfo* info) {
  kaon::Status registered = register_kaon_kernels();
  if (!registered) return registered;
  kaon::Result<kaon::Kernel> kernel = kaon::Kernel::find("scale_rows");
  if (!kernel) return kernel.status();
  kaon::Result<std::uint64_t> variant = kaon::config_fingerprint("block.m=8");
  if (!variant) return variant.status();
  auto at = [](std::uintptr_t gigabyte) { return reinterpret_cast<void*>(gigabyte << 30); };
  kaon::TensorView x = kaon::TensorView::contiguous(at(4), kaon::DType::kF16, {64, 256});
  kaon::TensorView w = kaon::TensorView::contiguous(at(8), kaon::DType::kF16, {256});
  const kaon::TensorView* tensors[] = {&x, &w, &x};
  return kernel->call_variant(*variant, nullptr, tensors, 3, nullptr, 0, info);
}

int main() {
  kaon::CallInfo info;
  kaon::Status status = call(&info);
  if (!status) return std::printf("%s\n", status.to_string().c_str()), 1;
  std::printf("%s: %s table %s, %s\n", info.variant->kernel, kaon::match_name(info.match), info.variant->hardware,
              info.variant->config);
  return 0;
}
