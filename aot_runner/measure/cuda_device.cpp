// A GPU as a device: calls captured in graphs, timed between events after the L2 cache was overwritten.
#include <algorithm>
#include <optional>
#include <utility>

#include "aot_runner/measure/device.h"
#include "aot_runner/measure/device_kernels.h"
#include "aot_runner/measure/nvml.h"
#include "runtime/base/text.h"
#include "runtime/driver/device.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/handles.h"

namespace kaon::runner {

namespace {

using cuda::CuDevicePtr;

constexpr int64_t kMinFlushBytes = int64_t{256} << 20;
constexpr uint64_t kMaxBlocks = 0x7fffffff;

CuDevicePtr pointer(int64_t address) { return static_cast<CuDevicePtr>(address); }

struct CudaKernel final : LoadedKernel {
  std::string image;  // the driver may load code from it later
  cuda::Library library;
  cuda::CuFunction function = nullptr;
};

struct GraphReplay final : Replay {
  cuda::GraphExec graph;
  std::vector<Launch::Restore> restores;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(const cuda::Driver& driver, const cuda::DeviceInfo& info, cuda::PrimaryContext context)
      : driver_(driver), info_(info), context_(std::move(context)), nvml_(info.pci_bus_id) {}
  Status start();

  const MachineFacts& facts() const override { return facts_; }
  bool is_lost() const override { return is_lost_; }

  Result<int64_t> allocate(int64_t bytes) override;
  void free(int64_t address) override { driver_.mem_free(pointer(address)); }
  Status set_bytes(int64_t address, int64_t bytes, uint8_t value) override;
  Status copy(int64_t destination, int64_t source, int64_t bytes) override;
  Status read(void* destination, int64_t source, int64_t bytes) override;
  Status write(int64_t destination, const void* source, int64_t bytes) override;
  Status fill_random(const Span& span, DType dtype, const FillPlan& plan, uint64_t seed) override;
  Result<uint64_t> hash(const Span& span) override;
  Result<Found> find(const Span& span, uint64_t pattern, bool differing) override;
  Result<Found> compare(int64_t got, int64_t want, int64_t count, DType dtype, double absolute,
                        double relative) override;

  Result<std::unique_ptr<LoadedKernel>> load(std::string_view image, const std::string& symbol,
                                             uint32_t shared_bytes) override;
  Status run_checked(const Launch& launch, uint64_t seed) override;
  Result<std::unique_ptr<Replay>> make_replay(const Launch& launch) override;
  Result<std::unique_ptr<Replay>> make_empty_replay() override;
  Result<std::unique_ptr<Replay>> make_copy_replay(int64_t bytes) override;
  Status time(const std::vector<Replay*>& round, std::vector<double>* us) override;
  Health health() override { return {nvml_.is_throttled(), nvml_.clock_mhz()}; }

 private:
  Status finish(Status status);
  Status start_results();
  Result<Found> finish_found(Status status);
  Status enqueue(const Launch& launch);
  Status enqueue_kernel(const Launch& launch);
  Status enqueue_timed(const GraphReplay& replay, size_t index);
  Status grow(cuda::DeviceMemory& memory, int64_t& have, int64_t bytes);
  template <typename Body>
  Result<std::unique_ptr<Replay>> capture(const Body& body);

  const cuda::Driver& driver_;
  const cuda::DeviceInfo info_;
  cuda::PrimaryContext context_;
  Nvml nvml_;
  MachineFacts facts_;
  bool is_lost_ = false;
  cuda::Stream stream_;
  std::optional<DeviceKernels> kernels_;
  cuda::DeviceMemory results_;  // two u64: number, first index
  cuda::DeviceMemory flush_;
  int64_t flush_bytes_ = 0;
  cuda::DeviceMemory copy_from_, copy_to_;
  int64_t copy_from_bytes_ = 0, copy_to_bytes_ = 0;
  std::vector<std::pair<cuda::Event, cuda::Event>> events_;
};

/// The context is current on this thread from here on: a worker has one thread and one device.
Status CudaDevice::start() {
  KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_set_current, context_.get());
  KAON_ASSIGN_OR_RETURN(stream_, cuda::create_stream(driver_));
  KAON_ASSIGN_OR_RETURN(kernels_, DeviceKernels::load(driver_, stream_.get(), info_.num_sms));
  KAON_ASSIGN_OR_RETURN(results_, cuda::allocate_device(driver_, 16));
  facts_.name = info_.name;
  facts_.hardware = "sm" + std::to_string(info_.sm);
  facts_.target = "sm_" + std::to_string(info_.sm);
  facts_.driver = nvml_.driver_version();
  if (facts_.driver.empty()) {
    int version = 0;
    KAON_CUDA_RETURN_IF_ERROR(driver_, driver_get_version, &version);
    facts_.driver = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  }
  facts_.sm_count = info_.num_sms;
  facts_.memory_bytes = static_cast<int64_t>(info_.memory_bytes);
  facts_.l2_bytes = info_.l2_bytes;
  facts_.max_shared_bytes = info_.max_shared_bytes;
  facts_.clock_mhz = info_.clock_khz / 1000;
  facts_.memory_clock_mhz = info_.memory_clock_khz / 1000;
  return Status::ok();
}

/// Waits for the stream. A fault of the device shows in every later call as well; that is how it is known.
Status CudaDevice::finish(Status status) {
  const cuda::CuResult waited = driver_.stream_synchronize(stream_.get());
  if (status.is_ok()) status = cuda::to_status(driver_, waited, "cuStreamSynchronize");
  if (!status.is_ok() && driver_.ctx_synchronize() != cuda::kCudaSuccess) is_lost_ = true;
  return status;
}

Result<int64_t> CudaDevice::allocate(int64_t bytes) {
  CuDevicePtr memory = 0;
  const cuda::CuResult result = driver_.mem_alloc(&memory, static_cast<size_t>(bytes));
  if (result != cuda::kCudaSuccess) {
    return finish(cuda::to_status(driver_, result, cat("cuMemAlloc of ", bytes, " bytes").c_str()));
  }
  return static_cast<int64_t>(memory);
}

Status CudaDevice::set_bytes(int64_t address, int64_t bytes, uint8_t value) {
  if (bytes == 0) return Status::ok();
  KAON_CUDA_RETURN_IF_ERROR(driver_, memset_d8_async, pointer(address), value, static_cast<size_t>(bytes),
                            stream_.get());
  return Status::ok();
}

Status CudaDevice::copy(int64_t destination, int64_t source, int64_t bytes) {
  if (bytes == 0) return Status::ok();
  KAON_CUDA_RETURN_IF_ERROR(driver_, memcpy_dtod_async, pointer(destination), pointer(source),
                            static_cast<size_t>(bytes), stream_.get());
  return Status::ok();
}

Status CudaDevice::read(void* destination, int64_t source, int64_t bytes) {
  if (bytes == 0) return Status::ok();
  const cuda::CuResult result =
      driver_.memcpy_dtoh_async(destination, pointer(source), static_cast<size_t>(bytes), stream_.get());
  return finish(cuda::to_status(driver_, result, cuda::symbols::memcpy_dtoh_async));
}

Status CudaDevice::write(int64_t destination, const void* source, int64_t bytes) {
  if (bytes == 0) return Status::ok();
  const cuda::CuResult result =
      driver_.memcpy_htod_async(pointer(destination), source, static_cast<size_t>(bytes), stream_.get());
  return finish(cuda::to_status(driver_, result, cuda::symbols::memcpy_htod_async));
}

Status CudaDevice::fill_random(const Span& span, DType dtype, const FillPlan& plan, uint64_t seed) {
  if (span.count == 0) return Status::ok();
  return finish(kernels_->fill(span.address, span.count, dtype, plan, seed));
}

Status CudaDevice::start_results() {
  KAON_RETURN_IF_ERROR(set_bytes(static_cast<int64_t>(results_.get()), 8, 0));
  return set_bytes(static_cast<int64_t>(results_.get()) + 8, 8, 0xff);
}

Result<uint64_t> CudaDevice::hash(const Span& span) {
  KAON_RETURN_IF_ERROR(start_results());
  const int64_t results = static_cast<int64_t>(results_.get());
  KAON_RETURN_IF_ERROR(kernels_->hash(span.address, span.count, span.element_bytes, results));
  uint64_t value = 0;
  KAON_RETURN_IF_ERROR(read(&value, results, sizeof value));
  return value;
}

Result<Found> CudaDevice::finish_found(Status status) {
  if (!status.is_ok()) return finish(status);
  int64_t values[2] = {};
  KAON_RETURN_IF_ERROR(read(values, static_cast<int64_t>(results_.get()), sizeof values));
  return Found{values[0], values[1]};
}

Result<Found> CudaDevice::find(const Span& span, uint64_t pattern, bool differing) {
  KAON_RETURN_IF_ERROR(start_results());
  return finish_found(kernels_->find(span.address, span.count, span.element_bytes, pattern, differing,
                                     static_cast<int64_t>(results_.get())));
}

Result<Found> CudaDevice::compare(int64_t got, int64_t want, int64_t count, DType dtype, double absolute,
                                  double relative) {
  KAON_RETURN_IF_ERROR(start_results());
  return finish_found(
      kernels_->compare(got, want, count, dtype, absolute, relative, static_cast<int64_t>(results_.get())));
}

Result<std::unique_ptr<LoadedKernel>> CudaDevice::load(std::string_view image, const std::string& symbol,
                                                       uint32_t shared_bytes) {
  auto kernel = std::make_unique<CudaKernel>();
  kernel->image.assign(image);  // with the zero byte that ends PTX text
  Result<cuda::Library> library = cuda::load_library(driver_, kernel->image.c_str());
  if (!library.is_ok()) return finish(library.status());
  kernel->library = std::move(library).value();
  Result<cuda::CuFunction> function = cuda::load_function(driver_, kernel->library.get(), symbol.c_str(), shared_bytes);
  if (!function.is_ok()) return finish(function.status());
  kernel->function = *function;
  return std::unique_ptr<LoadedKernel>(std::move(kernel));
}

Status CudaDevice::enqueue_kernel(const Launch& launch) {
  if (launch.programs > kMaxBlocks) {
    return Status(Code::kUnsupported, "a grid of " + std::to_string(launch.programs) + " blocks, the device takes " +
                                          std::to_string(kMaxBlocks));
  }
  const auto& kernel = static_cast<const CudaKernel&>(*launch.kernel);
  const unsigned blocks = static_cast<unsigned>(launch.programs);
  size_t bytes = launch.slots.size() * sizeof(int64_t);
  void* extra[] = {cuda::launch_param_buffer_pointer(), const_cast<int64_t*>(launch.slots.data()),
                   cuda::launch_param_buffer_size(), &bytes, cuda::launch_param_end()};
  if (launch.cluster == 1) {
    KAON_CUDA_RETURN_IF_ERROR(driver_, launch_kernel, kernel.function, blocks, 1, 1, launch.threads, 1, 1,
                              launch.shared_bytes, stream_.get(), nullptr, extra);
    return Status::ok();
  }
  if (driver_.launch_kernel_ex == nullptr) return Status(Code::kUnsupported, "this driver knows no clusters");
  cuda::CuLaunchAttribute attribute = {};
  attribute.id = cuda::kLaunchClusterDimension;
  attribute.value.cluster = {launch.cluster, 1, 1};
  const cuda::CuLaunchConfig config = {blocks,        1,          1, launch.threads, 1, 1, launch.shared_bytes,
                                       stream_.get(), &attribute, 1};
  KAON_CUDA_RETURN_IF_ERROR(driver_, launch_kernel_ex, &config, kernel.function, nullptr, extra);
  return Status::ok();
}

Status CudaDevice::enqueue(const Launch& launch) {
  for (const Step& step : launch.steps) {
    KAON_RETURN_IF_ERROR(step.kind == Step::Kind::kZero ? set_bytes(step.zero.address, step.zero.bytes(), 0)
                                                        : enqueue_kernel(launch));
  }
  return Status::ok();
}

Status CudaDevice::run_checked(const Launch& launch, uint64_t) { return finish(enqueue(launch)); }

/// What `body` sends to the stream, as a graph.
template <typename Body>
Result<std::unique_ptr<Replay>> CudaDevice::capture(const Body& body) {
  KAON_CUDA_RETURN_IF_ERROR(driver_, stream_begin_capture, stream_.get(), cuda::kCaptureThreadLocal);
  const Status sent = body();
  Result<cuda::GraphExec> graph = cuda::end_capture(driver_, stream_.get());
  if (!sent.is_ok()) return sent;
  if (!graph.is_ok()) return finish(graph.status());
  auto replay = std::make_unique<GraphReplay>();
  replay->graph = std::move(graph).value();
  return std::unique_ptr<Replay>(std::move(replay));
}

Result<std::unique_ptr<Replay>> CudaDevice::make_replay(const Launch& launch) {
  KAON_ASSIGN_OR_RETURN(std::unique_ptr<Replay> replay, capture([&] { return enqueue(launch); }));
  static_cast<GraphReplay&>(*replay).restores = launch.restores;
  return replay;
}

Result<std::unique_ptr<Replay>> CudaDevice::make_empty_replay() {
  return capture([] { return Status::ok(); });
}

Status CudaDevice::grow(cuda::DeviceMemory& memory, int64_t& have, int64_t bytes) {
  if (have >= bytes) return Status::ok();
  memory = {};
  have = 0;
  KAON_ASSIGN_OR_RETURN(memory, cuda::allocate_device(driver_, static_cast<size_t>(bytes)));
  have = bytes;
  return Status::ok();
}

Result<std::unique_ptr<Replay>> CudaDevice::make_copy_replay(int64_t bytes) {
  const int64_t half = std::max<int64_t>(16, bytes / 2 / 16 * 16);
  KAON_RETURN_IF_ERROR(grow(copy_from_, copy_from_bytes_, half));
  KAON_RETURN_IF_ERROR(grow(copy_to_, copy_to_bytes_, half));
  return capture([&] {
    return kernels_->copy(static_cast<int64_t>(copy_from_.get()), static_cast<int64_t>(copy_to_.get()), half);
  });
}

Status CudaDevice::enqueue_timed(const GraphReplay& replay, size_t index) {
  for (const Launch::Restore& r : replay.restores) KAON_RETURN_IF_ERROR(copy(r.destination, r.source, r.bytes));
  KAON_RETURN_IF_ERROR(set_bytes(static_cast<int64_t>(flush_.get()), flush_bytes_, 0));
  KAON_CUDA_RETURN_IF_ERROR(driver_, event_record, events_[index].first.get(), stream_.get());
  KAON_CUDA_RETURN_IF_ERROR(driver_, graph_launch, replay.graph.get(), stream_.get());
  KAON_CUDA_RETURN_IF_ERROR(driver_, event_record, events_[index].second.get(), stream_.get());
  return Status::ok();
}

Status CudaDevice::time(const std::vector<Replay*>& round, std::vector<double>* us) {
  KAON_RETURN_IF_ERROR(grow(flush_, flush_bytes_, std::max(kMinFlushBytes, 4 * facts_.l2_bytes)));
  while (events_.size() < round.size()) {
    KAON_ASSIGN_OR_RETURN(cuda::Event begin, cuda::create_event(driver_));
    KAON_ASSIGN_OR_RETURN(cuda::Event end, cuda::create_event(driver_));
    events_.emplace_back(std::move(begin), std::move(end));
  }
  Status sent;
  for (size_t i = 0; i < round.size() && sent.is_ok(); ++i) {
    sent = enqueue_timed(static_cast<const GraphReplay&>(*round[i]), i);
  }
  KAON_RETURN_IF_ERROR(finish(sent));
  us->clear();
  for (size_t i = 0; i < round.size(); ++i) {
    float milliseconds = 0;
    KAON_CUDA_RETURN_IF_ERROR(driver_, event_elapsed_time, &milliseconds, events_[i].first.get(),
                              events_[i].second.get());
    us->push_back(double{milliseconds} * 1e3);
  }
  return Status::ok();
}

}  // namespace

Result<std::unique_ptr<Device>> open_cuda_device(int ordinal) {
  KAON_ASSIGN_OR_RETURN(const cuda::Driver* driver, cuda::driver());
  KAON_ASSIGN_OR_RETURN(const cuda::DeviceInfo info, cuda::device_info(*driver, ordinal));
  KAON_ASSIGN_OR_RETURN(cuda::PrimaryContext context, cuda::PrimaryContext::retain(*driver, info.device));
  auto device = std::make_unique<CudaDevice>(*driver, info, std::move(context));
  KAON_RETURN_IF_ERROR(device->start());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace kaon::runner
