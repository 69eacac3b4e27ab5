// Sums in any order have a bound that grows with their number and their absolute values; the rest is exact.
#include "compiler/oracle/atomics.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/oracle/memory.h"
#include "compiler/oracle/rounding.h"

namespace kaon::compiler {
namespace {

bool same_bits(double a, double b) { return std::memcmp(&a, &b, sizeof a) == 0; }

int64_t combine(AtomicFn fn, DType dtype, int64_t a, int64_t b) {
  switch (fn) {
    case AtomicFn::kAdd:
      return wrap_int(dtype, static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)));
    case AtomicFn::kMin: return std::min(a, b);
    case AtomicFn::kMax: return std::max(a, b);
    case AtomicFn::kAnd: return a & b;
    case AtomicFn::kOr: return a | b;
    case AtomicFn::kXor: return a ^ b;
    default: return b;
  }
}

}  // namespace

void AtomicLedger::note(size_t tensor, int64_t offset, DType dtype, const AtomicLane& lane) {
  Account& account = tensors_[tensor][offset];
  if (account.count > 0 && account.fn != lane.fn) account.is_unknown = true;
  account.is_unknown = account.is_unknown || lane.is_unknown;
  account.fn = lane.fn;
  dtype_is_float(dtype) ? add_float(&account, lane) : add_integer(&account, dtype, lane);
  ++account.count;
}

void AtomicLedger::add_float(Account* account, const AtomicLane& lane) {
  const double x = lane.value;
  const bool is_first = account->count == 0;
  // Whoever comes last stands, so all must say the same.
  if (lane.fn == AtomicFn::kXchg || lane.fn == AtomicFn::kCas) {
    if (!is_first && !(same_bits(account->sum, x) && same_bits(account->expected, lane.expected)))
      account->is_unknown = true;
    account->sum = x;
    account->expected = lane.expected;
    account->bounds = std::max(account->bounds, lane.bound);
    return;
  }
  account->has_nan = account->has_nan || std::isnan(x);
  if (lane.bound == kUnknown) account->is_unknown = true;
  const double term = x - account->rest;
  const double sum = account->sum + term;
  account->rest = std::isfinite(sum) ? (sum - account->sum) - term : 0;
  account->sum = sum;
  account->magnitude += std::fabs(x);
  account->bounds += lane.bound;
  account->most = is_first ? x : std::max(account->most, x);
  account->least = is_first ? x : std::min(account->least, x);
  const bool is_max = lane.fn == AtomicFn::kMax;
  const double low = x - lane.bound, high = x + lane.bound;
  account->low = is_first ? low : is_max ? std::max(account->low, low) : std::min(account->low, low);
  account->high = is_first ? high : is_max ? std::max(account->high, high) : std::min(account->high, high);
}

void AtomicLedger::add_integer(Account* account, DType dtype, const AtomicLane& lane) {
  const bool is_last_stands = lane.fn == AtomicFn::kXchg || lane.fn == AtomicFn::kCas;
  if (account->count == 0) {
    account->integer = lane.integer;
    account->expected_integer = lane.expected_integer;
    return;
  }
  if (is_last_stands && (account->integer != lane.integer || account->expected_integer != lane.expected_integer)) {
    account->is_unknown = true;
  }
  account->integer = combine(lane.fn, dtype, account->integer, lane.integer);
}

void AtomicLedger::finish_float(const Account& account, DType dtype, double start, OracleElement* out) {
  const Rounding rounding(dtype);
  const auto count = static_cast<double>(account.count);
  if (account.fn == AtomicFn::kXchg || account.fn == AtomicFn::kCas) {
    const bool is_taken = account.fn == AtomicFn::kXchg || same_bits(start, account.expected);
    out->value = is_taken ? account.sum : start;
    out->bound = is_taken ? account.bounds : 0;
    return;
  }
  if (account.has_nan || std::isnan(start)) {
    out->value = std::nan("");
    return;
  }
  if (account.fn == AtomicFn::kMin || account.fn == AtomicFn::kMax) {
    const bool is_max = account.fn == AtomicFn::kMax;
    auto pick = [&](double a) { return is_max ? std::max(a, start) : std::min(a, start); };
    out->value = pick(is_max ? account.most : account.least);
    out->bound = std::isinf(out->value) ? 0 : std::max(pick(account.high) - out->value, out->value - pick(account.low));
    return;
  }
  out->value = account.sum + start;
  if (!std::isfinite(out->value)) return;
  const double magnitude = account.magnitude + std::fabs(start) + account.bounds;
  // The first sum of a zeroed element is exact. A GPU flushes subnormal f32 sums to zero.
  const double roundings = start == 0 ? std::max(count - 2, 0.0) : count - 1;
  const double flushed = dtype == DType::kF32 ? count * rounding.min_normal() : 0;
  out->bound = account.bounds + roundings * (rounding.unit() * magnitude + rounding.half_subnormal()) + flushed +
               count * 0x1p-52 * magnitude;
  if (!(magnitude * (1 + count * rounding.unit()) < rounding.max_finite())) out->bound = kUnknown;
}

void AtomicLedger::finish_integer(const Account& account, DType dtype, int64_t start, OracleElement* out) {
  const bool stays = account.fn == AtomicFn::kCas && start != account.expected_integer;
  out->integer = stays ? start : combine(account.fn, dtype, start, account.integer);
  out->value = static_cast<double>(out->integer);
}

void AtomicLedger::finish(const Signature& signature, const std::vector<HostTensor>& tensors,
                          std::vector<std::vector<OracleElement>>* outputs) const {
  for (size_t t = 0; t < tensors_.size(); ++t) {
    const DType dtype = signature.tensors[t].dtype;
    Tile start;
    for (const auto& [offset, account] : tensors_[t]) {
      start.shape(dtype, {1}, /*is_exact=*/true);
      if (signature.tensors[t].is_zeroed) {
        (start.is_float() ? void(start.floats[0] = 0) : void(start.ints[0] = 0));
      } else {
        load_elements(tensors[t], {offset}, 1, &start);
      }
      OracleElement element;
      element.offset = offset;
      if (start.is_float()) {
        finish_float(account, dtype, start.floats[0], &element);
      } else {
        finish_integer(account, dtype, start.ints[0], &element);
      }
      if (account.is_unknown) element.bound = kUnknown;
      (*outputs)[t].push_back(element);
    }
  }
}

}  // namespace kaon::compiler
