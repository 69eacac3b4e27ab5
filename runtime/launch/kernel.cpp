// The path of every call, from arguments to a launch. Keep it free of allocation, locks and shared writes.
#include "runtime/launch/kernel.h"

#include "runtime/base/text.h"
#include "runtime/launch/counters.h"
#include "runtime/launch/cuda_backend.h"
#include "runtime/launch/kernel_entry.h"
#include "runtime/launch/known_devices.h"
#include "runtime/launch/ranges.h"
#include "runtime/launch/record.h"
#include "runtime/launch/registry.h"
#include "runtime/launch/zero.h"

namespace kaon {
namespace {

#define KAON_COLD __attribute__((noinline, cold))

constexpr const char* kFirstTable =
    " (its shapes cannot be recorded without: tune it once for a few shapes, for any device, and record with that "
    "pack)";
constexpr int64_t kMaxPrograms = 0x7fffffff;  // blocks along x in one grid

KAON_COLD Status no_host_backend(const std::string& kernel) {
  return make_status(Code::kUnsupported, kernel,
                     ": the tensors lie on the CPU, and no host backend is installed; "
                     "link kaon::host and call kaon::host::install()");
}

KAON_COLD Status bad_arguments(const std::string& kernel, int num_tensors) {
  return make_status(Code::kInvalidArgument, kernel, ": got ", num_tensors, " tensors, expected 1 to ", kMaxTensors,
                     ", none of them null");
}

KAON_COLD std::string title(const Candidate& candidate) {
  return cat(candidate.facts.kernel, " variant ", candidate.facts.index, " (", candidate.facts.config, ")");
}

KAON_COLD Status too_many_programs(const Candidate& candidate, int64_t programs) {
  return make_status(Code::kUnsupported, title(candidate), " needs a grid of ", programs, " blocks, at most ",
                     kMaxPrograms);
}

KAON_COLD Status launch_failed(const Candidate& candidate, int64_t programs, const Status& status) {
  return make_status(status.code(), title(candidate), ", ", programs, " blocks of ", candidate.dims.threads,
                     " threads: ", status.message());
}

KAON_COLD Status clear_failed(const Candidate& candidate, int tensor, const Status& status) {
  return make_status(status.code(), title(candidate), ", clearing ", candidate.signature->tensors[tensor].name, ": ",
                     status.message());
}

// The backend of a kind of device; null with the reason in `*error`.
Backend* backend_for(DeviceKind kind, const std::string& kernel, Status* error) {
  Backend* backend = kind == DeviceKind::kCuda ? ready_cuda_backend() : host_backend();
  if (backend != nullptr) return backend;
  *error = kind == DeviceKind::kCuda ? cuda_backend(&backend) : no_host_backend(kernel);
  return backend;
}

Status run_kernel(const ResolvedTable& table, const Candidate& candidate, int64_t programs, const int64_t* slots,
                  void* stream) {
  if (programs <= 0) return Status::ok();
  LaunchDims dims = candidate.dims;
  dims.programs = static_cast<uint64_t>(programs);
  void* function = candidate.function.load(std::memory_order_acquire);
  Status status = table.backend().launch(function, dims, slots, table.checker().num_slots(), stream);
  return status.is_ok() ? status : launch_failed(candidate, programs, status);
}

Status run_steps(const ResolvedTable& table, const Candidate& candidate, int64_t programs, const int64_t* slots,
                 void* stream) {
  Status status;
  for (const LaunchStep& step : *candidate.steps) {
    if (step.kind == StepKind::kKernel) {
      status = run_kernel(table, candidate, programs, slots, stream);
    } else if (status = zero_tensor(table, step.tensor, slots, stream); !status.is_ok()) {
      return clear_failed(candidate, step.tensor, status);
    }
    if (!status.is_ok()) return status;
  }
  return status;
}

}  // namespace

Kernel::Kernel(const char* name, std::initializer_list<const KernelTableList*> lists) : entry_(kernel_entry(name)) {
  for (const KernelTableList* list : lists) {
    Status status = entry_->add_tables(list->tables, list->count);
    if (!status.is_ok()) entry_->report_later(std::move(status));
  }
}

Result<Kernel> Kernel::find(const std::string& name) {
  start_recording_from_environment();
  KernelEntry* entry = find_kernel_entry(name);
  if (entry == nullptr) {
    return make_status(Code::kNotFound, "no kernel ", name,
                       " is registered; register its tables or load its pack first", is_recording() ? kFirstTable : "");
  }
  return Kernel(entry);
}

const std::string& Kernel::name() const { return entry_->name(); }

Status Kernel::preload(Device device) const {
  Status status;
  Backend* backend = backend_for(device.kind, name(), &status);
  if (backend == nullptr) return status;
  return entry_->preload(*backend, device.ordinal);
}

Result<std::string> Kernel::explain(const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars,
                                    int num_scalars, int sm) const {
  bool is_well_formed = num_tensors >= 1 && num_tensors <= kMaxTensors;
  for (int i = 0; is_well_formed && i < num_tensors; ++i) is_well_formed = tensors[i] != nullptr;
  if (!is_well_formed) return bad_arguments(name(), num_tensors);
  DeviceFacts facts;
  if (sm != 0) {
    const DeviceFacts* known = known_device(sm);
    if (known == nullptr) return make_status(Code::kNotFound, "no facts of a chip sm_", sm, " are known");
    facts = *known;
  } else {
    Status status;
    Backend* backend = backend_for(tensors[0]->device.kind, name(), &status);
    if (backend == nullptr) return status;
    KAON_ASSIGN_OR_RETURN(facts, backend->device_facts(tensors[0]->device.ordinal));
  }
  return entry_->explain(facts, tensors, num_tensors, scalars, num_scalars);
}

CallCounts Kernel::counts() const { return read_counts(entry_->id()); }

void Kernel::reset_counts() const { kaon::reset_counts(entry_->id()); }

inline __attribute__((always_inline)) Status Kernel::serve(void* stream, const TensorView* const* tensors,
                                                           int num_tensors, const ScalarValue* scalars, int num_scalars,
                                                           CallInfo* info, Action action, uint64_t fingerprint) const {
  ResolvedKey key;
  bool is_well_formed = num_tensors >= 1 && num_tensors <= kMaxTensors;
  for (int i = 0; is_well_formed && i < num_tensors; ++i) {
    is_well_formed = tensors[i] != nullptr;
    if (is_well_formed) key.dtypes |= dtype_bits(tensors[i]->dtype, i);
  }
  if (!is_well_formed) return bad_arguments(name(), num_tensors);
  Status status;
  Backend* backend = backend_for(tensors[0]->device.kind, name(), &status);
  if (backend == nullptr) return status;
  key.device = tensors[0]->device.ordinal;
  if (Status failed = backend->current_context(key.device, &key.context); !failed.is_ok()) return failed;

  const ResolvedTable* table = entry_->find(key);
  if (table == nullptr) {
    Result<const ResolvedTable*> resolved = entry_->resolve(*backend, key, tensors, num_tensors, num_scalars);
    if (!resolved.is_ok()) {
      if (is_recording() && action != Action::kQuery) {
        entry_->record_unserved(tensors, num_tensors, scalars, num_scalars);
      }
      return resolved.status();
    }
    table = *resolved;
  }
  const ArgumentChecker& checker = table->checker();
  if (num_tensors != checker.num_tensors() || num_scalars != table->num_scalars()) {
    return ArgumentChecker::check_types(checker.signature(), tensors, num_tensors, num_scalars);
  }
  int64_t slots[kMaxSlots];
  if (!checker.fill(tensors, scalars, slots, &status)) return status;

  int leaf = -1;
  Candidate* candidate = nullptr;
  if (__builtin_expect(action == Action::kLaunchVariant, 0)) {
    candidate = table->route(fingerprint, slots, &status);
    if (candidate == nullptr) return status;
  } else {
    candidate = table->choose(slots, &leaf);
    if (candidate == nullptr) return table->choose_failure(slots, leaf);
  }
  int64_t programs = candidate->num_programs(slots);
  if (programs > kMaxPrograms) return too_many_programs(*candidate, programs);
  const Match match = table->match(*candidate, leaf, slots);
  if (info != nullptr) *info = {match, &candidate->facts, leaf, programs < 0 ? 0 : programs};
  if (action == Action::kQuery) return Status::ok();
  if (is_recording() && programs > 0) record_call(checker.signature(), slots);
  if (candidate->function.load(std::memory_order_acquire) == nullptr) {
    KAON_RETURN_IF_ERROR(entry_->load(*table, *candidate, stream, LoadRule::kOnCall));
  }
  LaunchRange range(name().c_str(), candidate->facts.index, programs, entry_->range_name());
  status = candidate->is_single_step ? run_kernel(*table, *candidate, programs, slots, stream)
                                     : run_steps(*table, *candidate, programs, slots, stream);
  if (!status.is_ok()) return status;
  if (programs > 0 && count_call(entry_->id(), match)) entry_->note_match(*table, *candidate, match, leaf, slots);
  return status;
}

Status Kernel::run(void* stream, const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars,
                   int num_scalars, CallInfo* info, Action action, uint64_t fingerprint) const {
  Status status = serve(stream, tensors, num_tensors, scalars, num_scalars, info, action, fingerprint);
  if (__builtin_expect(!status.is_ok(), 0)) count_error(status.code());
  return status;
}

}  // namespace kaon
