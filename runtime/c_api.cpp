// The C interface over the C++ one: conversions, and the calling thread's last message.
#include "runtime/kaon.h"

#include <cstddef>
#include <new>
#include <string>

#include "runtime/base/text.h"
#include "runtime/kaon.hpp"

namespace {

using kaon::Code;
using kaon::Status;

static_assert(static_cast<int>(Code::kInternal) == KAON_INTERNAL, "codes are mirrored one by one");
static_assert(static_cast<int>(Code::kNotPreloaded) == KAON_NOT_PRELOADED, "codes are mirrored one by one");
static_assert(static_cast<int>(kaon::Match::kForced) == KAON_MATCH_FORCED, "matches are mirrored one by one");
static_assert(KAON_NUM_MATCHES == kaon::kNumMatches, "matches are mirrored one by one");
static_assert(sizeof(kaon_kernel_table) == sizeof(kaon::KernelTable), "tables have one layout");
static_assert(offsetof(kaon_kernel_table, select) == offsetof(kaon::KernelTable, select), "tables have one layout");
static_assert(offsetof(kaon_kernel_table, pack_hash) == offsetof(kaon::KernelTable, pack_hash),
              "tables have one layout");

std::string& last_error() {
  static thread_local std::string message;
  return message;
}

kaon_code report(const Status& status) {
  if (status.is_ok()) return KAON_OK;
  last_error() = status.message();
  return static_cast<kaon_code>(status.code());
}

Status null_argument(const char* name) { return make_status(Code::kInvalidArgument, name, " is null"); }

// Exceptions end here; only memory can run out, since nothing else in the runtime throws.
template <typename Function>
kaon_code guarded(Function function) {
  try {
    return report(function());
  } catch (const std::bad_alloc&) {
    // The message would need memory as well; the code says it all.
    last_error().clear();
    return KAON_OUT_OF_MEMORY;
  } catch (...) {
    return report({Code::kInternal, "an exception reached the C interface"});
  }
}

void fill_info(const kaon::CallInfo& from, kaon_call_info* info) {
  *info = {};
  info->match = static_cast<int32_t>(from.match);
  info->leaf = from.leaf;
  info->programs = from.programs;
  info->variant = from.variant->index;
  info->fingerprint = from.variant->fingerprint;
  info->config = from.variant->config;
  info->symbol = from.variant->symbol;
  info->dtype_key = from.variant->dtype_key;
  info->hardware = from.variant->hardware;
  info->image_target = from.variant->image_target;
  info->image_trust = from.variant->image_trust;
}

// As much of the text as there is room for.
Status copy_text(const std::string& text, char* buffer, size_t bytes, size_t* length) {
  if (buffer == nullptr && bytes > 0) return null_argument("buffer");
  if (length != nullptr) *length = text.size();
  if (bytes > 0) buffer[text.copy(buffer, bytes - 1)] = '\0';
  return Status::ok();
}

// Arguments of a C call as the C++ runtime takes them: on the stack, and only as many as there are.
class Arguments {
 public:
  Status take(const kaon_tensor* const* from, int32_t num_tensors, const kaon_scalar* values, int32_t num_scalars) {
    if (num_tensors < 0 || num_tensors > kaon::kMaxTensors || num_scalars < 0 || num_scalars > kaon::kMaxSlots) {
      return make_status(Code::kInvalidArgument, "got ", num_tensors, " tensors and ", num_scalars,
                         " scalars, at most ", kaon::kMaxTensors, " and ", kaon::kMaxSlots);
    }
    if (num_tensors > 0 && from == nullptr) return null_argument("tensors");
    if (num_scalars > 0 && values == nullptr) return null_argument("scalars");
    for (int32_t i = 0; i < num_tensors; ++i) {
      if (from[i] == nullptr) return null_argument("a tensor");
      auto* view = new (view_storage_ + i * sizeof(kaon::TensorView)) kaon::TensorView;
      tensors_[i] = view;
      if (Status status = kaon::TensorView::from_abi(*from[i], view); !status.is_ok()) {
        return make_status(status.code(), "argument ", i, ": ", status.message());
      }
    }
    for (int32_t i = 0; i < num_scalars; ++i) {
      void* place = scalar_storage_ + i * sizeof(kaon::ScalarValue);
      new (place) kaon::ScalarValue(values[i].i);
      if (values[i].is_float != 0) new (place) kaon::ScalarValue(values[i].f);
    }
    return Status::ok();
  }

  const kaon::TensorView* const* tensors() const { return tensors_; }
  const kaon::ScalarValue* scalars() const { return reinterpret_cast<const kaon::ScalarValue*>(scalar_storage_); }

 private:
  // Bytes, because constructing all of them would cost more than the rest of the call.
  alignas(kaon::TensorView) unsigned char view_storage_[kaon::kMaxTensors * sizeof(kaon::TensorView)];
  alignas(kaon::ScalarValue) unsigned char scalar_storage_[kaon::kMaxSlots * sizeof(kaon::ScalarValue)];
  const kaon::TensorView* tensors_[kaon::kMaxTensors];
};

}  // namespace

extern "C" {

int32_t kaon_abi_version(void) { return KAON_ABI_VERSION; }

const char* kaon_code_name(int32_t code) { return kaon::code_name(static_cast<Code>(code)); }

const char* kaon_last_error(void) { return last_error().c_str(); }

const char* kaon_match_name(int32_t match) {
  return match < 0 || match > KAON_MATCH_FORCED ? "unknown" : kaon::match_name(static_cast<kaon::Match>(match));
}

kaon_code kaon_register_tables(const kaon_kernel_table* tables, size_t count) {
  return guarded([&]() -> Status {
    if (tables == nullptr && count > 0) return null_argument("tables");
    return kaon::register_tables({reinterpret_cast<const kaon::KernelTable*>(tables), count});
  });
}

kaon_code kaon_load_pack(const char* path) {
  return guarded([&] { return path == nullptr ? null_argument("path") : kaon::load_pack(path); });
}

kaon_code kaon_reclaim(void) {
  return guarded([] { return kaon::reclaim(); });
}

kaon_code kaon_bundle_id(uint64_t* id) {
  return guarded([&]() -> Status {
    if (id == nullptr) return null_argument("id");
    KAON_ASSIGN_OR_RETURN(*id, kaon::bundle_id());
    return Status::ok();
  });
}

kaon_code kaon_force_variant(const char* spec) {
  return guarded([&] { return kaon::force_variant(spec == nullptr ? "" : spec); });
}

kaon_code kaon_kernel_find(const char* name, const kaon_kernel** kernel) {
  return guarded([&]() -> Status {
    if (name == nullptr || kernel == nullptr) return null_argument(name == nullptr ? "name" : "kernel");
    *kernel = nullptr;
    KAON_ASSIGN_OR_RETURN(kaon::Kernel found, kaon::Kernel::find(name));
    *kernel = static_cast<const kaon_kernel*>(found.handle());
    return Status::ok();
  });
}

kaon_code kaon_call(const kaon_kernel* kernel, void* stream, const kaon_tensor* const* tensors, int32_t num_tensors,
                    const kaon_scalar* scalars, int32_t num_scalars, kaon_call_info* info) {
  return guarded([&]() -> Status {
    if (kernel == nullptr) return null_argument("kernel");
    Arguments arguments;
    if (Status status = arguments.take(tensors, num_tensors, scalars, num_scalars); !status.is_ok()) return status;
    kaon::CallInfo served;
    Status status =
        kaon::Kernel::from_handle(kernel).call(stream, arguments.tensors(), num_tensors, arguments.scalars(),
                                               num_scalars, info != nullptr ? &served : nullptr);
    if (info != nullptr && served.variant != nullptr) fill_info(served, info);
    return status;
  });
}

kaon_code kaon_call_variant(const kaon_kernel* kernel, uint64_t fingerprint, void* stream,
                            const kaon_tensor* const* tensors, int32_t num_tensors, const kaon_scalar* scalars,
                            int32_t num_scalars, kaon_call_info* info) {
  return guarded([&]() -> Status {
    if (kernel == nullptr) return null_argument("kernel");
    Arguments arguments;
    KAON_RETURN_IF_ERROR(arguments.take(tensors, num_tensors, scalars, num_scalars));
    kaon::CallInfo served;
    Status status = kaon::Kernel::from_handle(kernel).call_variant(
        fingerprint, stream, arguments.tensors(), num_tensors, arguments.scalars(), num_scalars, &served);
    if (info != nullptr && served.variant != nullptr) fill_info(served, info);
    return status;
  });
}

kaon_code kaon_config_fingerprint(const char* config, uint64_t* fingerprint) {
  return guarded([&]() -> Status {
    if (config == nullptr || fingerprint == nullptr) return null_argument(config == nullptr ? "config" : "fingerprint");
    KAON_ASSIGN_OR_RETURN(*fingerprint, kaon::config_fingerprint(config));
    return Status::ok();
  });
}

kaon_code kaon_query(const kaon_kernel* kernel, const kaon_tensor* const* tensors, int32_t num_tensors,
                     const kaon_scalar* scalars, int32_t num_scalars, kaon_call_info* info) {
  return guarded([&]() -> Status {
    if (kernel == nullptr || info == nullptr) return null_argument(kernel == nullptr ? "kernel" : "info");
    Arguments arguments;
    KAON_RETURN_IF_ERROR(arguments.take(tensors, num_tensors, scalars, num_scalars));
    kaon::CallInfo served;
    KAON_RETURN_IF_ERROR(kaon::Kernel::from_handle(kernel).query(arguments.tensors(), num_tensors, arguments.scalars(),
                                                                 num_scalars, &served));
    fill_info(served, info);
    return Status::ok();
  });
}

kaon_code kaon_explain(const kaon_kernel* kernel, const kaon_tensor* const* tensors, int32_t num_tensors,
                       const kaon_scalar* scalars, int32_t num_scalars, int32_t sm, char* buffer, size_t bytes,
                       size_t* length) {
  return guarded([&]() -> Status {
    if (kernel == nullptr) return null_argument("kernel");
    Arguments arguments;
    KAON_RETURN_IF_ERROR(arguments.take(tensors, num_tensors, scalars, num_scalars));
    KAON_ASSIGN_OR_RETURN(const std::string text,
                          kaon::Kernel::from_handle(kernel).explain(arguments.tensors(), num_tensors,
                                                                    arguments.scalars(), num_scalars, sm));
    return copy_text(text, buffer, bytes, length);
  });
}

kaon_code kaon_preload(const kaon_kernel* kernel, kaon_device device) {
  return guarded([&]() -> Status {
    if (kernel == nullptr) return null_argument("kernel");
    if (device.type != KAON_CPU && device.type != KAON_CUDA) {
      return make_status(Code::kInvalidArgument, "device type ", device.type, ", expected KAON_CPU or KAON_CUDA");
    }
    kaon::Device wanted = device.type == KAON_CPU ? kaon::Device::cpu() : kaon::Device::cuda(device.id);
    return kaon::Kernel::from_handle(kernel).preload(wanted);
  });
}

kaon_code kaon_read_counts(const kaon_kernel* kernel, kaon_call_counts* counts) {
  return guarded([&]() -> Status {
    if (kernel == nullptr || counts == nullptr) return null_argument(kernel == nullptr ? "kernel" : "counts");
    const kaon::CallCounts read = kaon::Kernel::from_handle(kernel).counts();
    for (int match = 0; match < KAON_NUM_MATCHES; ++match) counts->by_match[match] = read.by_match[match];
    return Status::ok();
  });
}

kaon_code kaon_reset_counts(const kaon_kernel* kernel) {
  return guarded([&]() -> Status {
    if (kernel == nullptr) return null_argument("kernel");
    kaon::Kernel::from_handle(kernel).reset_counts();
    return Status::ok();
  });
}

kaon_code kaon_metrics_text(char* buffer, size_t bytes, size_t* length) {
  return guarded([&] { return copy_text(kaon::metrics_text(), buffer, bytes, length); });
}

kaon_code kaon_record_start(const char* path) {
  return guarded([&] { return path == nullptr ? null_argument("path") : kaon::start_recording(path); });
}

kaon_code kaon_record_flush(void) {
  return guarded([] { return kaon::flush_recording(); });
}

kaon_code kaon_record_stop(void) {
  return guarded([] { return kaon::stop_recording(); });
}

kaon_code kaon_ranges_start(void) {
  return guarded([] { return kaon::start_ranges(); });
}

void kaon_ranges_stop(void) { kaon::stop_ranges(); }

void kaon_set_log_sink(void (*sink)(void* user, const char* line), void* user) { kaon::set_log_sink(sink, user); }

}  // extern "C"
