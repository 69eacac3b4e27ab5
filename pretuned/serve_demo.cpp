// A serving program in small: calls softmax and vector_add on CPU tensors of several shapes, prints which variant served
// each and how it was found, and checks the results.
#include <cmath>
#include <cstdio>
#include <vector>

#include "pretuned/softmax/softmax.h"
#include "pretuned/vector_add/vector_add.h"
#include "runtime/host/backend.h"

namespace {

using kaon::CallInfo;
using kaon::Device;
using kaon::DType;
using kaon::Status;
using kaon::TensorView;

TensorView view(const std::vector<float>& data, std::initializer_list<int64_t> sizes) {
  return TensorView::contiguous(data.data(), DType::kF32, sizes, Device::cpu());
}

std::vector<float> some_numbers(int64_t count, float phase) {
  std::vector<float> data(static_cast<size_t>(count));
  for (size_t i = 0; i < data.size(); ++i) data[i] = 4 * std::sin(phase + 0.37f * static_cast<float>(i % 1009));
  return data;
}

bool report(const char* what, const Status& status, const CallInfo& info, double error) {
  if (!status) {
    std::printf("%-22s %s\n", what, status.to_string().c_str());
    return false;
  }
  std::printf("%-22s %-12s error %.1e  variant %d: %s\n", what, kaon::match_name(info.match), error,
              info.variant ? info.variant->index : -1, info.variant ? info.variant->config : "nothing to do");
  return error < 1e-5;
}

bool serve_softmax(int64_t rows, int64_t columns) {
  const std::vector<float> x = some_numbers(rows * columns, 1);
  std::vector<float> out(x.size(), NAN);
  CallInfo info;
  const Status status = kaon::softmax(nullptr, view(x, {rows, columns}), view(out, {rows, columns}), &info);
  double worst = 0;
  for (int64_t m = 0; status && m < rows; ++m) {
    const float* row = x.data() + m * columns;
    double sum = 0;
    for (int64_t n = 0; n < columns; ++n) sum += std::exp(static_cast<double>(row[n]));
    for (int64_t n = 0; n < columns; ++n) {
      worst = std::fmax(worst, std::fabs(out[static_cast<size_t>(m * columns + n)] / (std::exp(static_cast<double>(row[n])) / sum) - 1));
    }
  }
  char what[32];
  std::snprintf(what, sizeof what, "softmax %ldx%ld", static_cast<long>(rows), static_cast<long>(columns));
  return report(what, status, info, worst);
}

bool serve_vector_add(int64_t count) {
  const std::vector<float> x = some_numbers(count, 1), y = some_numbers(count, 2);
  std::vector<float> out(x.size(), NAN);
  CallInfo info;
  const Status status = kaon::vector_add(nullptr, view(x, {count}), view(y, {count}), view(out, {count}), &info);
  double worst = 0;
  for (size_t i = 0; status && i < out.size(); ++i) worst = std::fmax(worst, std::fabs(out[i] - (x[i] + y[i])));
  char what[32];
  std::snprintf(what, sizeof what, "vector_add %ld", static_cast<long>(count));
  return report(what, status, info, worst);
}

}  // namespace

int main() {
  kaon::host::install();
  bool good = true;
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{1, 64}, {16, 127}, {7, 512}, {64, 1000}, {3, 2048}, {2, 5000}, {0, 64}}) {
    good &= serve_softmax(rows, columns);
  }
  for (int64_t count : {1, 1000, 8193, 40000}) good &= serve_vector_add(count);
  std::printf(good ? "every result is right\n" : "a result is wrong\n");
  return good ? 0 : 1;
}
