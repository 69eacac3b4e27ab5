// The steps: first use, other variants, clearing, clusters, preload, other devices and contexts, hot swap, owners.
#include "tests/unit/runtime/failure_scenario.h"

#include <functional>
#include <memory>

#include "runtime/driver/handles.h"
#include "runtime/kaon.hpp"
#include "tests/unit/runtime/sample_pack.h"
#include "tests/unit/runtime/stub.h"

namespace kaon::testing {
namespace {

struct Step {
  const char* name;
  std::function<Status()> act;
};

Kernel link(const PackContents& contents) {
  static std::vector<std::unique_ptr<LinkedPack>>* const all = new std::vector<std::unique_ptr<LinkedPack>>;
  all->push_back(std::make_unique<LinkedPack>(contents, sample_select));
  return Kernel(contents.records.kernel.c_str(), {all->back()->list()});
}

Kernel plain(const char* name) { return link(sample_pack(name, "sm90", {"sm_90", "sm_120"})); }

Kernel clearing() {
  PackContents contents = sample_pack("clearing", "sm90", {"sm_90"});
  for (PackVariant& variant : contents.records.tables[1].variants) {
    variant.info.plan.steps = {{StepKind::kZero, 2}, {StepKind::kKernel, 0}};
  }
  return link(contents);
}

Kernel clustered() {
  PackContents contents = sample_pack("clustered", "sm90", {"sm_90"});
  for (PackVariant& variant : contents.records.tables[0].variants) variant.info.plan.cluster = 2;
  return link(contents);
}

Status call(const Kernel& kernel, int64_t n, DType dtype = DType::kF16, int device = 0) {
  static float memory[3][64 * 256];  // the stub clears what it is told to
  Device where = Device::cuda(device);
  const bool is_small = n <= 256;
  auto at = [&](int i) {
    return is_small ? static_cast<void*>(memory[i]) : reinterpret_cast<void*>(int64_t{1 + i} << 45);
  };
  TensorView x = TensorView::contiguous(at(0), dtype, {64, n}, where);
  TensorView w = TensorView::contiguous(at(1), dtype, {n}, where);
  TensorView out = TensorView::contiguous(at(2), dtype, {64, n}, where);
  const TensorView* tensors[] = {&x, &w, &out};
  return kernel.call(reinterpret_cast<void*>(0x5), tensors, 3);
}

Status call_loaded() {
  KAON_ASSIGN_OR_RETURN(Kernel kernel, Kernel::find("swapped"));
  return call(kernel, 256);
}

// What the tools that measure own of the driver.
Status own_everything() {
  KAON_ASSIGN_OR_RETURN(const cuda::Driver* driver, cuda::driver());
  KAON_ASSIGN_OR_RETURN(cuda::PrimaryContext primary, cuda::PrimaryContext::retain(*driver, 0));
  KAON_ASSIGN_OR_RETURN(cuda::ContextGuard guard, cuda::ContextGuard::enter(*driver, primary.get()));
  KAON_ASSIGN_OR_RETURN(cuda::Stream stream, cuda::create_stream(*driver));
  KAON_ASSIGN_OR_RETURN(cuda::Event event, cuda::create_event(*driver));
  KAON_ASSIGN_OR_RETURN(cuda::DeviceMemory memory, cuda::allocate_device(*driver, 64));
  KAON_ASSIGN_OR_RETURN(cuda::PinnedMemory pinned, cuda::allocate_pinned(*driver, 64));
  KAON_ASSIGN_OR_RETURN(cuda::Library library, cuda::load_library(*driver, "an image with some_symbol"));
  KAON_ASSIGN_OR_RETURN(cuda::CuFunction function, cuda::load_function(*driver, library.get(), "some_symbol", 0));
  KAON_CUDA_RETURN_IF_ERROR(*driver, stream_begin_capture, stream.get(), cuda::kCaptureThreadLocal);
  KAON_ASSIGN_OR_RETURN(cuda::GraphExec graph, cuda::end_capture(*driver, stream.get()));
  return function != nullptr && graph && event && memory && pinned ? Status::ok()
                                                                   : Status(Code::kInternal, "a handle is null");
}

}  // namespace

std::string scenario_pack() { return *write_pack(sample_pack("swapped", "sm90", {"sm_90"})); }

Outcome run_scenario(const std::string& pack_path) {
  const StubDevice devices[] = {{90, 232448, 132}, {120, 101376, 170}};
  stub().set_devices(devices, 2);
  stub().set_context(-1);
  const Kernel first = plain("first"), preloaded = plain("preloaded"), clears = clearing(), clusters = clustered();
  int user_context = -1;
  const Step steps[] = {
      {"the first call, without a context", [&] { return call(first, 256); }},
      {"the same again", [&] { return call(first, 256); }},
      {"another variant", [&] { return call(first, 8192); }},
      {"a variant that clears its output", [&] { return call(clears, 256, DType::kF32); }},
      {"a variant with clusters", [&] { return call(clusters, 256); }},
      {"preload", [&] { return preloaded.preload(Device::cuda(0)); }},
      {"a call after preload", [&] { return call(preloaded, 8192, DType::kF32); }},
      {"another device",
       [&] {
         stub().set_context(1);
         Status status = call(first, 8192, DType::kF16, 1);
         stub().set_context(0);
         return status;
       }},
      {"a context of the program",
       [&] {
         if (user_context < 0) user_context = stub().make_context(0);
         stub().set_context(user_context);
         Status status = call(first, 256);
         stub().set_context(0);
         return status;
       }},
      {"loading a pack under way", [&] { return load_pack(pack_path); }},
      {"a call of that pack", call_loaded},
      {"owners", own_everything},
  };
  Outcome outcome;
  for (const Step& step : steps) {
    Status status = step.act();
    if (status.is_ok()) continue;
    outcome.failures.push_back(std::string(step.name) + ": " + status.to_string());
    outcome.codes.push_back(status.code());
    status = step.act();
    if (!status.is_ok()) outcome.lost.push_back(std::string(step.name) + ": " + status.to_string());
  }
  return outcome;
}

std::string scenario_state() {
  std::string text = "launches " + std::to_string(stub().last_launch().count);
  text += ", context " + std::to_string(stub().current_context());
  for (const char* kind : {"library", "primary", "stream", "event", "memory", "graph", "graph_exec"}) {
    text += std::string(", ") + kind + " " + std::to_string(stub().live(kind));
  }
  return text;
}

}  // namespace kaon::testing
