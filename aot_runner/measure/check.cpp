// The checks of a variant, in the order in which a fault is best explained: run, red zones, inputs, coverage, values.
#include "aot_runner/measure/check.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "aot_runner/measure/device_pages.h"
#include "aot_runner/measure/element.h"
#include "aot_runner/measure/host_memory.h"
#include "compiler/ir/updates.h"

namespace kaon::runner {

namespace {

// Two patterns that no kernel writes everywhere in two runs. The first is a NaN in every float type.
constexpr uint8_t kPoison = 0xff;
constexpr uint8_t kOtherPoison = 0x5a;
/// Calls of at most this many elements are interpreted whole.
constexpr int64_t kWholeElements = 1 << 16;
/// Larger ones by a few programs at first, which says how large a program is, then by as many as make about this many
/// elements: the time of a check should not grow with the length of a row.
constexpr int64_t kFirstPrograms = 3;
constexpr int64_t kSampleElements = 1 << 17;
/// When two variants differ, calls of this many elements are interpreted whole, larger ones at so many more programs.
constexpr int64_t kSettleElements = 1 << 22;
constexpr int64_t kSettleFactor = 8;

uint64_t repeated(uint8_t byte) { return byte * 0x0101010101010101ull; }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

void fail(CheckOutcome* outcome, Failure failure, std::string message) {
  outcome->failure = failure;
  outcome->message = std::move(message);
}

/// Copies the parts of a tensor that hold `elements` (sorted by offset) from the device.
Status read_elements(Device& device, const PlacedTensor& t, const std::vector<compiler::OracleElement>& elements,
                     uint8_t* destination) {
  constexpr int64_t kMaxGap = 4096;  // elements; a longer gap is worth another transfer
  constexpr size_t kMaxTransfers = 64;
  std::vector<std::pair<int64_t, int64_t>> parts;
  for (const compiler::OracleElement& e : elements) {
    if (!parts.empty() && e.offset - parts.back().second <= kMaxGap) {
      parts.back().second = e.offset + 1;
    } else {
      parts.emplace_back(e.offset, e.offset + 1);
    }
  }
  if (parts.size() > kMaxTransfers) parts = {{parts.front().first, parts.back().second}};
  for (const auto& [begin, end] : parts) {
    const int64_t from = begin * t.data.element_bytes;
    KAON_RETURN_IF_ERROR(device.read(destination + from, t.data.address + from, (end - begin) * t.data.element_bytes));
  }
  return Status::ok();
}

}  // namespace

std::string Checker::place(size_t tensor, int64_t offset) const {
  const PlacedTensor& t = call_.tensors()[tensor];
  std::string text = name(tensor) + "[";
  for (size_t axis = 0; axis < t.sizes.size(); ++axis) {
    text += (axis > 0 ? ", " : "") + std::to_string(offset / t.strides[axis] % t.sizes[axis]);
  }
  return text + "]";
}

/// The input that output `tensor` begins as, where the kernel changes what it finds in it; null for others.
const PlacedTensor* Checker::beginning(size_t tensor) const {
  const int input = kernel_.signature.find_tensor(kernel_.signature.tensors[tensor].aliases);
  if (input < 0 || !compiler::starts_as_memory(kernel_, static_cast<int>(tensor))) return nullptr;
  return &call_.tensors()[static_cast<size_t>(input)];
}

Status Checker::prepare() {
  if (is_prepared_) return Status::ok();
  for (const PlacedTensor& t : call_.tensors()) {
    if (t.is_output) {
      input_hashes_.push_back(0);
      continue;
    }
    KAON_ASSIGN_OR_RETURN(const uint64_t hash, device_.hash(t.data));
    input_hashes_.push_back(hash);
  }
  KAON_RETURN_IF_ERROR(run_oracle());
  is_prepared_ = true;
  return Status::ok();
}

Status Checker::run_oracle() {
  expected_ = cache_.find(cache_key_);
  if (expected_ != nullptr) return Status::ok();
  KAON_ASSIGN_OR_RETURN(expected_, interpret(kWholeElements, options_.oracle_programs, options_.seed));
  cache_.keep(cache_key_, expected_);
  return Status::ok();
}

/// All programs of a call of at most `most_whole` elements, else at most `programs` of them.
Result<std::shared_ptr<const compiler::OracleResult>> Checker::interpret(int64_t most_whole, int64_t programs,
                                                                         uint64_t seed) {
  std::vector<compiler::HostTensor> tensors;
  std::vector<DevicePages> pages;
  pages.reserve(call_.tensors().size());  // the tensors point at them
  int64_t elements = 0;
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    const PlacedTensor& t = call_.tensors()[i];
    const PlacedTensor* from = t.is_output ? beginning(i) : &t;  // null: nobody reads it
    Span data = t.data;
    if (from != nullptr) data.address = from->pristine != 0 ? from->pristine : from->data.address;
    KAON_ASSIGN_OR_RETURN(DevicePages opened, DevicePages::open(device_, data));
    pages.push_back(std::move(opened));
    tensors.push_back({t.dtype, pages.back().data(), t.sizes, t.strides, from == nullptr ? nullptr : &pages.back()});
    elements += t.data.count;
  }
  const std::vector<int64_t> scalars = call_.scalars(kernel_.signature);
  compiler::OracleOptions oracle;
  oracle.max_programs = elements <= most_whole ? 0 : kFirstPrograms;
  oracle.seed = seed;
  auto result = compiler::interpret(kernel_, tensors, scalars, oracle);
  if (result.is_ok() && result->programs_run < result->programs_total) {
    const int64_t per_program = std::max<int64_t>(1, elements / result->programs_total);
    const int64_t sample = kSampleElements * programs / std::max(1, options_.oracle_programs);
    oracle.max_programs = std::min(programs, sample / per_program);
    if (oracle.max_programs > result->programs_run) result = compiler::interpret(kernel_, tensors, scalars, oracle);
  }
  for (const DevicePages& tensor : pages) KAON_RETURN_IF_ERROR(tensor.status());
  if (!result.is_ok()) return Status(result.status().code(), "oracle: " + result.status().message());
  return std::make_shared<const compiler::OracleResult>(std::move(result).value());
}

Status Checker::run(const Launch& launch, uint8_t poison, CheckOutcome* outcome) {
  KAON_RETURN_IF_ERROR(call_.restore_inputs());
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    const PlacedTensor& t = call_.tensors()[i];
    if (!t.is_output || t.alias >= 0) continue;
    const PlacedTensor* from = beginning(i);
    KAON_RETURN_IF_ERROR(from == nullptr ? device_.set_bytes(t.data.address, t.data.bytes(), poison)
                                         : device_.copy(t.data.address, from->data.address, t.data.bytes()));
  }
  Status ran = device_.run_checked(launch, options_.seed);
  if (ran.is_ok()) return ran;
  Failure failure = ran.code() == Code::kInternal ? Failure::kMachine : Failure::kLaunch;
  if (device_.is_lost()) failure = Failure::kCrash;
  fail(outcome, failure, ran.message());
  return Status::ok();
}

Status Checker::check_zones(CheckOutcome* outcome) {
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    const PlacedTensor& t = call_.tensors()[i];
    if (t.alias >= 0) continue;
    for (const Span& zone : {t.before, t.after}) {
      KAON_ASSIGN_OR_RETURN(const Found found, device_.find(zone, Call::kZonePattern, /*differing=*/true));
      if (found.count == 0) continue;
      const bool before = zone.address < t.data.address;
      const int64_t distance = before ? zone.count - found.first : found.first;
      fail(outcome, Failure::kRedZone,
           "wrote " + std::to_string(distance) + " bytes " + (before ? "before the start of " : "past the end of ") +
               name(i) + " (" + std::to_string(found.count) + " bytes of its red zone changed)");
      return call_.refill(kernel_.signature, options_);
    }
  }
  return Status::ok();
}

Status Checker::check_inputs(CheckOutcome* outcome) {
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    const PlacedTensor& t = call_.tensors()[i];
    if (t.is_output || t.pristine != 0) continue;
    KAON_ASSIGN_OR_RETURN(const uint64_t hash, device_.hash(t.data));
    if (hash == input_hashes_[i]) continue;
    fail(outcome, Failure::kInputModified, "changed its input " + name(i));
    return call_.refill(kernel_.signature, options_);
  }
  return Status::ok();
}

/// Second opinion on output `tensor`, which holds poison somewhere after a run: runs again with another poison, and
/// looks for an element that kept both. Sets *index to it. Elements that the kernel does not write at all, as the
/// oracle knows when it interpreted every program, are in order.
Result<bool> Checker::is_left_unwritten(const Launch& launch, size_t tensor, int64_t* index, CheckOutcome* outcome) {
  const PlacedTensor& t = call_.tensors()[tensor];
  const size_t bytes = static_cast<size_t>(t.data.bytes());
  std::vector<uint8_t> first(bytes), second(bytes);
  KAON_RETURN_IF_ERROR(device_.read(first.data(), t.data.address, t.data.bytes()));
  KAON_RETURN_IF_ERROR(run(launch, kOtherPoison, outcome));
  if (outcome->failure != Failure::kNone) return false;
  KAON_RETURN_IF_ERROR(device_.read(second.data(), t.data.address, t.data.bytes()));
  const uint64_t poison = repeated(kPoison), other = repeated(kOtherPoison);
  const size_t size = static_cast<size_t>(t.data.element_bytes);
  const std::vector<compiler::OracleElement>& written = expected_->outputs[tensor];
  const bool knows_all = expected_->programs_run == expected_->programs_total;
  for (int64_t i = 0; i < t.data.count; ++i) {
    const size_t at = static_cast<size_t>(i) * size;
    if (std::memcmp(&first[at], &poison, size) != 0 || std::memcmp(&second[at], &other, size) != 0) continue;
    const auto element = std::lower_bound(written.begin(), written.end(), i,
                                          [](const compiler::OracleElement& e, int64_t o) { return e.offset < o; });
    if (knows_all && (element == written.end() || element->offset != i)) continue;
    *index = i;
    return true;
  }
  return false;
}

Status Checker::check_written(const Launch& launch, CheckOutcome* outcome) {
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    const PlacedTensor& t = call_.tensors()[i];
    if (!t.is_output || t.alias >= 0 || t.data.count == 0) continue;
    KAON_ASSIGN_OR_RETURN(const Found found, device_.find(t.data, repeated(kPoison), /*differing=*/false));
    if (found.count == 0) continue;
    int64_t index = -1;
    KAON_ASSIGN_OR_RETURN(const bool unwritten, is_left_unwritten(launch, i, &index, outcome));
    if (unwritten)
      fail(outcome, Failure::kNotWritten,
           "left " + place(i, index) + " unwritten, as about " + std::to_string(found.count) + " of " +
               std::to_string(t.data.count) + " elements");
    if (outcome->failure != Failure::kNone) return Status::ok();
  }
  return Status::ok();
}

/// The outputs, or those of the trusted variant, where the oracle knows them.
Result<Checker::Sample> Checker::sample(bool of_trusted) {
  Sample sample;
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    PlacedTensor t = call_.tensors()[i];
    if (of_trusted && t.is_output) t.data.address = call_.trusted(static_cast<int>(i));
    KAON_ASSIGN_OR_RETURN(SparseMemory space, SparseMemory::reserve(t.data.bytes()));
    if (t.is_output && !expected_->outputs[i].empty()) {
      KAON_RETURN_IF_ERROR(read_elements(device_, t, expected_->outputs[i], space.data()));
    }
    sample.tensors.push_back({t.dtype, space.data(), t.sizes, t.strides, nullptr});
    sample.memory.push_back(std::move(space));
  }
  return sample;
}

std::string Checker::describe(const compiler::Judgement& judgement) const {
  std::string message =
      std::to_string(judgement.wrong) + " of " + std::to_string(judgement.compared) + " compared elements are wrong";
  if (judgement.examples.empty()) return message;
  const compiler::Mismatch& m = judgement.examples.front();
  return place(static_cast<size_t>(m.tensor), m.offset) + " is " + number(m.got) + ", expected " + number(m.expected) +
         " within " + number(m.bound) + "; " + message;
}

Status Checker::check_oracle(CheckOutcome* outcome) {
  KAON_ASSIGN_OR_RETURN(Sample own, sample(/*of_trusted=*/false));
  // Variants differ in the last bits of some elements: the rest need not be judged again.
  const compiler::Judgement judgement =
      compiler::judge(kernel_, *expected_, own.tensors, right_.has_value() ? &right_->tensors : nullptr);
  outcome->compared = judgement.compared;
  outcome->worst_ratio = std::max(judgement.worst_ratio, right_.has_value() ? right_ratio_ : 0);
  if (!judgement.passed()) {
    fail(outcome, Failure::kWrongResult, describe(judgement));
  } else if (!right_.has_value()) {
    right_ = std::move(own);
    right_ratio_ = judgement.worst_ratio;
  }
  return Status::ok();
}

/// Keeps the outputs for later variants to be compared with.
Status Checker::trust() {
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    const PlacedTensor& t = call_.tensors()[i];
    if (!t.is_output) continue;
    KAON_RETURN_IF_ERROR(device_.copy(call_.trusted(static_cast<int>(i)), t.data.address, t.data.bytes()));
  }
  has_trusted_ = true;
  return Status::ok();
}

/// The variant and the trusted one differ outside the oracle's sample: looks at the whole call, or at a much larger
/// sample of a huge one, and says whether that showed who is right.
Result<bool> Checker::settle(CheckOutcome* outcome) {
  right_.reset();  // of another sample
  KAON_ASSIGN_OR_RETURN(
      expected_, interpret(kSettleElements, kSettleFactor * int64_t{options_.oracle_programs}, options_.seed + 1));
  KAON_RETURN_IF_ERROR(check_oracle(outcome));
  KAON_ASSIGN_OR_RETURN(const Sample theirs, sample(/*of_trusted=*/true));
  const compiler::Judgement trusted = compiler::judge(kernel_, *expected_, theirs.tensors);
  const bool is_wrong = outcome->failure != Failure::kNone;
  if (!trusted.passed()) {
    dethroned_ = describe(trusted);
    has_trusted_ = false;
    if (!is_wrong) KAON_RETURN_IF_ERROR(trust());
  }
  return is_wrong || !trusted.passed() || expected_->programs_run == expected_->programs_total;
}

/// Where the oracle saw a sample, the rest is compared with the first variant that agreed with the oracle. The bound
/// there is unknown; that of the sample, doubled for two variants and doubled again because a maximum of a sample is
/// not one of the whole, finds misplaced, missing and garbled parts.
Status Checker::check_trusted(CheckOutcome* outcome) {
  if (!has_trusted_) return trust();
  for (size_t i = 0; i < call_.tensors().size(); ++i) {
    const PlacedTensor& t = call_.tensors()[i];
    if (!t.is_output || static_cast<int64_t>(expected_->outputs[i].size()) == t.data.count) continue;
    const int64_t trusted = call_.trusted(static_cast<int>(i));
    double bound = 0;
    for (const compiler::OracleElement& e : expected_->outputs[i]) {
      if (std::isfinite(e.bound)) bound = std::max(bound, e.bound);
    }
    const double ulp = dtype_is_float(t.dtype) ? std::ldexp(1.0, 1 - dtype_row(t.dtype).significand_bits) : 0;
    KAON_ASSIGN_OR_RETURN(const Found found,
                          device_.compare(t.data.address, trusted, t.data.count, t.dtype, 4 * bound, 2 * ulp));
    if (found.count == 0) continue;
    uint8_t got[8], want[8];
    const int64_t at = found.first * t.data.element_bytes;
    KAON_RETURN_IF_ERROR(device_.read(got, t.data.address + at, t.data.element_bytes));
    KAON_RETURN_IF_ERROR(device_.read(want, trusted + at, t.data.element_bytes));
    KAON_ASSIGN_OR_RETURN(const bool is_settled, settle(outcome));
    if (is_settled) return Status::ok();
    fail(outcome, Failure::kWrongResult,
         place(i, found.first) + " is " + number(load_element(got, 0, t.dtype)) + ", the first trusted variant gave " +
             number(load_element(want, 0, t.dtype)) + "; " + std::to_string(found.count) + " of " +
             std::to_string(t.data.count) + " elements differ by more than " + number(4 * bound));
    return Status::ok();
  }
  return Status::ok();
}

Result<CheckOutcome> Checker::check(const Launch& launch) {
  const auto start = std::chrono::steady_clock::now();
  KAON_RETURN_IF_ERROR(prepare());
  CheckOutcome outcome;
  KAON_RETURN_IF_ERROR(run(launch, kPoison, &outcome));
  if (outcome.failure == Failure::kNone) KAON_RETURN_IF_ERROR(check_zones(&outcome));
  if (outcome.failure == Failure::kNone) KAON_RETURN_IF_ERROR(check_inputs(&outcome));
  if (outcome.failure == Failure::kNone) KAON_RETURN_IF_ERROR(check_written(launch, &outcome));
  if (outcome.failure == Failure::kNone) KAON_RETURN_IF_ERROR(check_oracle(&outcome));
  if (outcome.failure == Failure::kNone) KAON_RETURN_IF_ERROR(check_trusted(&outcome));
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

}  // namespace kaon::runner
