// A plugin that carries a Kaon of its own: what it forces is its own as well. Two of them go into one process.
#include <kaon/kaon.hpp>

#include <string>

// What served one call, after `forced` was forced; the text lives until the next call.
extern "C" __attribute__((visibility("default"))) const char* plugin_call(const char* pack, const char* forced) {
  static std::string text;
  kaon::Status status = kaon::force_variant(forced);
  if (status) status = kaon::load_pack(pack);
  kaon::Result<kaon::Kernel> kernel = kaon::Kernel::find("scale_rows");
  if (!status || !kernel) return text = (status ? kernel.status() : status).to_string(), text.c_str();
  const auto at = [](std::uintptr_t gigabyte) { return reinterpret_cast<void*>(gigabyte << 30); };
  const kaon::TensorView x = kaon::TensorView::contiguous(at(4), kaon::DType::kF16, {64, 256});
  const kaon::TensorView w = kaon::TensorView::contiguous(at(8), kaon::DType::kF16, {256});
  const kaon::TensorView* tensors[] = {&x, &w, &x};
  kaon::CallInfo info;
  status = kernel->call(nullptr, tensors, 3, nullptr, 0, &info);
  text = status ? std::string(kaon::match_name(info.match)) + " " + info.variant->config : status.to_string();
  text += ", calls " + std::to_string(kernel->counts().total());
  return text.c_str();
}
