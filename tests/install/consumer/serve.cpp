// Serves softmax and vector_add on CPU tensors of several shapes; says which variant served each, and checks the
// results.
#include <pretuned/softmax/softmax.h>
#include <pretuned/vector_add/vector_add.h>
#include <runtime/host/backend.h>

#include <cmath>
#include <cstdio>
#include <vector>

static kaon::TensorView view(std::vector<float>& data, std::initializer_list<int64_t> sizes) {
  return kaon::TensorView::contiguous(data.data(), kaon::DType::kF32, sizes, kaon::Device::cpu());
}

static bool report(const char* name, const kaon::Status& status, const kaon::CallInfo& info, double error) {
  if (!status) return std::printf("%s: %s\n", name, status.to_string().c_str()), false;
  std::printf("%s %s %s %s\n", name, error < 1e-5 ? "right" : "WRONG", kaon::match_name(info.match),
              info.variant->config);
  return error < 1e-5;
}

int main() {
  kaon::host::install();
  bool is_right = true;
  for (int64_t n : {1, 64, 127, 512, 3000}) {
    const int64_t m = 5;
    std::vector<float> x(m * n), out(m * n), sum(m * n);
    for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    kaon::CallInfo info;
    kaon::Status status = kaon::softmax(nullptr, view(x, {m, n}), view(out, {m, n}), &info);
    double worst = 0;
    for (int64_t row = 0; row < m; ++row) {
      double total = 0;
      for (int64_t i = row * n; i < row * n + n; ++i) total += std::exp(static_cast<double>(x[i]));
      for (int64_t i = row * n; i < row * n + n; ++i)
        worst = std::fmax(worst, std::fabs(out[i] - std::exp(x[i]) / total));
    }
    is_right &= report("softmax", status, info, worst);

    status = kaon::vector_add(nullptr, view(x, {m * n}), view(out, {m * n}), view(sum, {m * n}), &info);
    worst = 0;
    for (size_t i = 0; i < x.size(); ++i) worst = std::fmax(worst, std::fabs(sum[i] - (x[i] + out[i])));
    is_right &= report("vector_add", status, info, worst);
  }
  return is_right ? 0 : 1;
}
