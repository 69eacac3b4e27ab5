// Many calls from many threads for a long time, on CPU tensors: random shapes, sampled results, packs that are replaced
// under way, memory that stays as it is. soak FOLDER [--calls N] [--threads N] [--seed N], FOLDER as pretuned/
// is: with vector_add/host/vector_add_host.kpack and the like.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "runtime/host/backend.h"
#include "runtime/kaon.hpp"

namespace {

using kaon::DType;
using kaon::Kernel;
using kaon::Status;
using kaon::TensorView;

constexpr int kSwaps = 4;
constexpr int64_t kSampled = 16;                  // one call of so many is checked
constexpr int64_t kMaxElems = 512;                // of a tensor: the calls count, not what they compute
#ifdef __SANITIZE_THREAD__  // keeps a record of what each page was accessed by
constexpr int64_t kRoomBytes = INT64_MAX;
#else
constexpr int64_t kRoomBytes = int64_t{8} << 20;  // for pages that a run touches late
#endif

struct Options {
  std::string folder;
  int64_t calls = 5000;
  int threads = 16;
  unsigned long seed = 1;
};

struct Soak {
  std::atomic<int64_t> done{0};
  std::atomic<int64_t> checked{0};
  std::atomic<int64_t> faults{0};

  // Says the first few faults.
  void fault(const char* what, int64_t m, int64_t n, const std::string& why) {
    if (faults.fetch_add(1) < 5) std::fprintf(stderr, "%s %ld x %ld: %s\n", what, m, n, why.c_str());
  }
};

int64_t resident_bytes() {
  int64_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

class Caller {
 public:
  Caller(Soak* soak, Kernel add, Kernel softmax, unsigned long seed)
      : soak_(soak), add_(add), softmax_(softmax), random_(seed), x_(kMaxElems), y_(kMaxElems), out_(kMaxElems) {
    for (int64_t i = 0; i < kMaxElems; ++i) x_[i] = value(), y_[i] = value();
  }

  void call() {
    const bool is_checked = below(kSampled) == 0;
    if (below(4) == 0) {
      const int64_t m = 1 + below(4), n = 1 + below(kMaxElems / 4);
      call_softmax(m, n, is_checked);
    } else {
      call_add(1 + below(kMaxElems), is_checked);
    }
    soak_->checked += is_checked ? 1 : 0;
    ++soak_->done;
  }

 private:
  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  float value() { return static_cast<float>(below(2001) - 1000) / 256; }
  static TensorView view(std::vector<float>& data, std::initializer_list<int64_t> sizes) {
    return TensorView::contiguous(data.data(), DType::kF32, sizes, kaon::Device::cpu());
  }

  void call_add(int64_t n, bool is_checked) {
    const TensorView x = view(x_, {n}), y = view(y_, {n}), out = view(out_, {n});
    const TensorView* tensors[] = {&x, &y, &out};
    if (is_checked) std::fill(out_.begin(), out_.end(), NAN);
    if (Status status = add_.call(nullptr, tensors, 3); !status) return soak_->fault("add", 1, n, status.to_string());
    for (int64_t i = 0; is_checked && i < kMaxElems; ++i) {
      const bool is_right = i < n ? out_[i] == x_[i] + y_[i] : std::isnan(out_[i]);
      if (!is_right) return soak_->fault("add", 1, n, "element " + std::to_string(i));
    }
  }

  void call_softmax(int64_t m, int64_t n, bool is_checked) {
    const TensorView x = view(x_, {m, n}), out = view(out_, {m, n});
    const TensorView* tensors[] = {&x, &out};
    if (Status status = softmax_.call(nullptr, tensors, 2); !status) {
      return soak_->fault("softmax", m, n, status.to_string());
    }
    for (int64_t row = 0; is_checked && row < m; ++row) {
      double sum = 0, largest = -INFINITY;
      for (int64_t i = 0; i < n; ++i) largest = std::fmax(largest, x_[row * n + i]);
      for (int64_t i = 0; i < n; ++i) sum += std::exp(x_[row * n + i] - largest);
      for (int64_t i = 0; i < n; ++i) {
        const double expected = std::exp(x_[row * n + i] - largest) / sum;
        if (std::fabs(out_[row * n + i] - expected) > 1e-5) {
          return soak_->fault("softmax", m, n, "row " + std::to_string(row) + " element " + std::to_string(i));
        }
      }
    }
  }

  Soak* soak_;
  Kernel add_, softmax_;
  std::mt19937_64 random_;
  std::vector<float> x_, y_, out_;
};

bool parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg.rfind("--", 0) != 0) {
      options->folder = arg;
      continue;
    }
    if (++i == argc) return false;
    const long number = std::atol(argv[i]);
    if (arg == "--calls") {
      options->calls = number;
    } else if (arg == "--threads") {
      options->threads = static_cast<int>(number);
    } else if (arg == "--seed") {
      options->seed = static_cast<unsigned long>(number);
    } else {
      return false;
    }
  }
  return !options->folder.empty() && options->calls > 0 && options->threads > 0;
}

Status load(const Options& options) {
  for (const char* kernel : {"vector_add", "softmax"}) {
    const std::string path = options.folder + "/" + kernel + "/host/" + kernel + "_host.kpack";
    if (Status status = kaon::load_pack(path); !status) return status;
  }
  return Status::ok();
}

int run(const Options& options) {
  kaon::host::install();
  if (Status status = load(options); !status) return std::fprintf(stderr, "%s\n", status.to_string().c_str()), 1;
  const Kernel add = *Kernel::find("vector_add"), softmax = *Kernel::find("softmax");
  Soak soak;
  std::vector<std::thread> threads;
  const auto start = std::chrono::steady_clock::now();
  for (int t = 0; t < options.threads; ++t) {
    threads.emplace_back([&, t] {
      Caller caller(&soak, add, softmax, options.seed * 1000 + static_cast<unsigned long>(t));
      while (soak.done.load() < options.calls && soak.faults.load() == 0) caller.call();
    });
  }
  // Packs are replaced at even distances; memory counts from the first time, when all threads have what they need.
  int64_t early = 0, swaps = 0;
  while (soak.done.load() < options.calls && soak.faults.load() == 0) {
    if (soak.done.load() >= options.calls * (swaps + 1) / (kSwaps + 1)) {
      if (Status status = load(options); !status) soak.fault("swap", 0, 0, status.to_string());
      if (swaps++ == 0) early = resident_bytes();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const int64_t grown = resident_bytes() - early;
  if (Status status = kaon::reclaim(); !status) soak.fault("reclaim", 0, 0, status.to_string());
  std::printf(
      "%ld calls from %d threads in %.0f s, %ld checked, %ld wrong; packs replaced %ld times; resident memory "
      "%.1f MB, %+.1f MB since the first time\n",
      soak.done.load(), options.threads, seconds, soak.checked.load(), soak.faults.load(), swaps,
      static_cast<double>(resident_bytes()) / 1e6, static_cast<double>(grown) / 1e6);
  const int64_t counted = add.counts().total() + softmax.counts().total();
  if (counted != soak.done.load()) return std::fprintf(stderr, "the counters say %ld calls\n", counted), 1;
  return soak.faults.load() == 0 && swaps > 0 && soak.checked.load() > 0 && grown < kRoomBytes ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, &options)) {
    std::fprintf(stderr, "usage: soak FOLDER [--calls N] [--threads N] [--seed N]\n");
    return 2;
  }
  return run(options);
}
