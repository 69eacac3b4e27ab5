// The smallest program that serves a kernel, for check_size.sh. Without a pack it ends before the first call.
#include "runtime/kaon.hpp"

int main(int argc, char** argv) {
  kaon::Result<kaon::Kernel> kernel = kaon::Kernel::find("softmax");
  if (argc < 2) return kernel.status().code() == kaon::Code::kNotFound ? 0 : 1;
  if (!kaon::load_pack(argv[1]) || !kernel || !kernel->preload(kaon::Device::cuda(0))) return 1;
  const kaon::TensorView x = kaon::TensorView::contiguous(argv, kaon::DType::kF16, {256});
  const kaon::TensorView* tensors[] = {&x, &x};
  return kernel->call(nullptr, tensors, 2) ? 0 : 1;
}
