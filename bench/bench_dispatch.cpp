// What a call costs on the host: select() alone, the whole call beside a bare launch of the same code, the first call.
//
// With a GPU the launches are real (a softmax of one short row, so that the stream never fills up); without one, name the
// stub driver of the tests in KAON_CUDA_DRIVER. Bare and whole calls alternate in batches within one benchmark, and the
// counters give medians of batches and of their paired differences, in nanoseconds.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <random>
#include <vector>

#include "pretuned/softmax/softmax.h"
#include "pretuned/vector_add/vector_add.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/handles.h"
#include "runtime/launch/kernel_table.h"
#include "runtime/launch/pack.h"

namespace kaon::tables {
extern const KernelTableList softmax_sm90_list;
extern const KernelTableList vector_add_sm90_list;
}  // namespace kaon::tables

namespace {

using Clock = std::chrono::steady_clock;
using kaon::Device;
using kaon::DType;
using kaon::TensorView;

double nanoseconds(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[std::min(values.size() - 1, static_cast<size_t>(q * static_cast<double>(values.size())))];
}

/// select() over batches of 1000 random shapes, 1000 batches: mean and 99th percentile of a batch's mean.
void BM_select(benchmark::State& state, const kaon::KernelTable& table, int first_dim_slot, int num_dims) {
  constexpr int kBatch = 1000, kSlots = 16;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> log_extent(0, 17);
  std::vector<int64_t> rows(static_cast<size_t>(kBatch) * kSlots);
  std::vector<double> batches;
  int64_t sum = 0;
  for (auto _ : state) {
    for (int i = 0; i < kBatch; ++i) {
      for (int d = 0; d < num_dims; ++d) {
        rows[static_cast<size_t>(i * kSlots + first_dim_slot + d)] = static_cast<int64_t>(std::exp2(log_extent(random)));
      }
    }
    const auto begin = Clock::now();
    for (int i = 0; i < kBatch; ++i) sum += table.select(&rows[static_cast<size_t>(i * kSlots)]);
    const auto end = Clock::now();
    batches.push_back(nanoseconds(begin, end) / kBatch);
    state.SetIterationTime(nanoseconds(begin, end) / 1e9);
  }
  benchmark::DoNotOptimize(sum);
  double mean = 0;
  for (double batch : batches) mean += batch / static_cast<double>(batches.size());
  state.counters["select_mean_ns"] = mean;
  state.counters["select_p99_ns"] = quantile(batches, 0.99);
}
BENCHMARK_CAPTURE(BM_select, softmax_f16_sm90, kaon::tables::softmax_sm90_list.tables[0], 2, 2)->UseManualTime()->Iterations(1000);
BENCHMARK_CAPTURE(BM_select, vector_add_f16_sm90, kaon::tables::vector_add_sm90_list.tables[0], 3, 1)->UseManualTime()->Iterations(1000);

/// A CUDA context with memory and the loaded code of one variant, as a program without Kaon would hold it.
struct BareKernel {
  const kaon::cuda::Driver* driver = nullptr;
  kaon::cuda::CuFunction function = nullptr;
  kaon::cuda::CuDevicePtr memory = 0;
  kaon::cuda::CuStream stream = nullptr;
};

TensorView matrix(const BareKernel& bare, int64_t offset_bytes, int64_t rows, int64_t columns) {
  return TensorView::contiguous(reinterpret_cast<void*>(bare.memory + static_cast<uint64_t>(offset_bytes)), DType::kF16, {rows, columns});
}

/// Tells the stub driver, if it is one, that it is being timed.
void quieten_stub() {
  const char* path = std::getenv("KAON_CUDA_DRIVER");
  void* library = path != nullptr ? dlopen(path, RTLD_NOW) : nullptr;
  void* symbol = library != nullptr ? dlsym(library, "stub_set_recording") : nullptr;
  if (symbol != nullptr) reinterpret_cast<void (*)(int)>(symbol)(0);
}

bool set_up(benchmark::State& state, BareKernel* bare) {
  quieten_stub();
  auto driver = kaon::cuda::driver();
  if (!driver) {
    state.SkipWithError(driver.status().to_string().c_str());
    return false;
  }
  bare->driver = *driver;
  kaon::cuda::CuContext context = nullptr;
  if (bare->driver->device_primary_ctx_retain(&context, 0) != 0 || bare->driver->ctx_set_current(context) != 0 ||
      bare->driver->mem_alloc(&bare->memory, 1 << 20) != 0 || bare->driver->stream_create(&bare->stream, 1) != 0) {
    state.SkipWithError("cannot make a context, memory and a stream on device 0");
    return false;
  }
  return true;
}

/// Nanoseconds per call of queueing `kBatch` of them; the stream is empty before and after.
template <typename Call>
double time_batch(const BareKernel& bare, Call&& call) {
  constexpr int kBatch = 64;
  const auto begin = Clock::now();
  for (int i = 0; i < kBatch; ++i) call();
  const auto end = Clock::now();
  bare.driver->stream_synchronize(bare.stream);
  return nanoseconds(begin, end) / kBatch;
}

/// Batches of the two alternate, and so does which comes first: whatever follows a pause of the GPU is slower.
template <typename Bare, typename Whole>
void compare(benchmark::State& state, const BareKernel& bare, Bare&& launch_bare, Whole&& call_whole) {
  std::vector<double> bares, wholes, differences;
  bool is_bare_first = true;
  for (auto _ : state) {
    if (is_bare_first) bares.push_back(time_batch(bare, launch_bare));
    wholes.push_back(time_batch(bare, call_whole));
    if (!is_bare_first) bares.push_back(time_batch(bare, launch_bare));
    differences.push_back(wholes.back() - bares.back());
    is_bare_first = !is_bare_first;
  }
  state.counters["bare_launch_p50_ns"] = quantile(bares, 0.5);
  state.counters["call_p50_ns"] = quantile(wholes, 0.5);
  state.counters["call_p99_ns"] = quantile(wholes, 0.99);
  state.counters["call_minus_bare_p50_ns"] = quantile(differences, 0.5);
}

void BM_call(benchmark::State& state) {
  BareKernel bare;
  if (!set_up(state, &bare)) return;
  const TensorView x = matrix(bare, 0, 1, 1024), out = matrix(bare, 4096, 1, 1024);
  kaon::CallInfo info;
  if (auto status = kaon::softmax(bare.stream, x, out, &info); !status) {
    state.SkipWithError(status.to_string().c_str());
    return;
  }
  // The same handle: what the runtime itself launches for this call.
  const kaon::KernelTable& table = kaon::tables::softmax_sm90_list.tables[0];
  auto pack = kaon::Pack::borrow(table.pack_begin, static_cast<size_t>(table.pack_end - table.pack_begin), "softmax");
  if (!pack) {
    state.SkipWithError(pack.status().to_string().c_str());
    return;
  }
  const kaon::PackVariant& variant = (*pack)->tables()[0].variants[static_cast<size_t>(info.variant->index)];
  const kaon::PackImageView& image = (*pack)->images()[variant.images[0].image];
  kaon::cuda::CuLibrary library = nullptr;
  kaon::cuda::CuKernel kernel = nullptr;
  if (bare.driver->library_load_data(&library, image.data, nullptr, nullptr, 0, nullptr, nullptr, 0) != 0 ||
      bare.driver->library_get_kernel(&kernel, library, variant.info.symbol.c_str()) != 0 ||
      bare.driver->kernel_get_function(&bare.function, kernel) != 0) {
    state.SkipWithError("cannot load the variant's image");
    return;
  }
  int64_t slots[] = {reinterpret_cast<int64_t>(x.data), reinterpret_cast<int64_t>(out.data), 1, 1024, 1024, 1, 1024, 1};
  void* parameters[8];
  for (int i = 0; i < 8; ++i) parameters[i] = &slots[i];
  const unsigned threads = variant.info.plan.threads, shared = variant.info.plan.shared_bytes;
  compare(
      state, bare,
      [&] { bare.driver->launch_kernel(bare.function, 1, 1, 1, threads, 1, 1, shared, bare.stream, parameters, nullptr); },
      [&] { benchmark::DoNotOptimize(kaon::softmax(bare.stream, x, out)); });
}
BENCHMARK(BM_call)->Iterations(2000);

/// The first call of a process on a context: packs validated, code loaded; and the first call of another shape after it.
void BM_first_call(benchmark::State& state) {
  BareKernel bare;
  if (!set_up(state, &bare)) return;
  for (auto _ : state) {
    const auto begin = Clock::now();
    const auto status = kaon::vector_add_kernel().preload(Device::cuda(0));
    const auto loaded = Clock::now();
    const TensorView x = TensorView::contiguous(reinterpret_cast<void*>(bare.memory), DType::kF16, {5000});
    const TensorView y = TensorView::contiguous(reinterpret_cast<void*>(bare.memory + 16384), DType::kF16, {5000});
    const TensorView out = TensorView::contiguous(reinterpret_cast<void*>(bare.memory + 32768), DType::kF16, {5000});
    const auto called = kaon::vector_add(bare.stream, x, y, out);
    const auto end = Clock::now();
    if (!status || !called) state.SkipWithError((status ? called : status).to_string().c_str());
    state.counters["preload_us"] = nanoseconds(begin, loaded) / 1000;
    state.counters["first_call_after_preload_ns"] = nanoseconds(loaded, end);
  }
}
BENCHMARK(BM_first_call)->Iterations(1);

}  // namespace

BENCHMARK_MAIN();
