// Calls a kernel whose pack is embedded, and prints what served it.
#include <kaon/kaon.hpp>

#include <cstdio>

extern "C" {
extern const unsigned char kaon_pack_scale_rows_begin[];
extern const unsigned char kaon_pack_scale_rows_end[];
}

int main(int, char** argv) {
  // The checksum of a pack's header, its last eight bytes, is what generated tables carry.
  uint64_t hash = 0;
  for (int i = 7; i >= 0; --i) hash = hash << 8 | kaon_pack_scale_rows_begin[120 + i];
  static const kaon::KernelTable tables[] = {{kaon::kKernelTableAbi, "scale_rows", "f16", "sm90", nullptr,
                                              kaon_pack_scale_rows_begin, kaon_pack_scale_rows_end, hash}};
  static const kaon::KernelTableList list = {tables, 1};
  kaon::Kernel kernel("scale_rows", {&list});

  void* memory = reinterpret_cast<void*>(std::uintptr_t{1} << 32);
  kaon::TensorView x = kaon::TensorView::contiguous(memory, kaon::DType::kF16, {64, 256});
  kaon::TensorView w = kaon::TensorView::contiguous(argv, kaon::DType::kF16, {256});
  const kaon::TensorView* tensors[] = {&x, &w, &x};
  kaon::CallInfo info;
  kaon::Status status = kernel.call(nullptr, tensors, 3, nullptr, 0, &info);
  if (!status) return std::printf("%s\n", status.to_string().c_str()), 1;
  std::printf("%s: %s table %s, %s\n", info.variant->kernel, kaon::match_name(info.match), info.variant->hardware,
              info.variant->config);
  return 0;
}
