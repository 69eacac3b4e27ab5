// The CUDA driver as a table of functions, found at run time: a program that links Kaon starts without a GPU.
#pragma once

#include <string>

#include "runtime/base/status.h"
#include "runtime/driver/cuda_types.h"

namespace kaon::cuda {

/// The functions of cuda_functions.inc, as driver().launch_kernel(...). Optional ones may be null.
struct Driver {
#define KAON_CUDA_FUNCTION(name, symbol, required, parameters) CuResult(*name) parameters = nullptr;
#include "runtime/driver/cuda_functions.inc"
#undef KAON_CUDA_FUNCTION
};

/// The exported symbol behind each member of Driver, for messages.
namespace symbols {
#define KAON_CUDA_FUNCTION(name, symbol, required, parameters) constexpr const char* name = symbol;
#include "runtime/driver/cuda_functions.inc"
#undef KAON_CUDA_FUNCTION
}  // namespace symbols

/// The process's driver: $KAON_CUDA_DRIVER or libcuda.so.1, opened and initialised by the first call, never closed.
/// kNoDevice when there is no driver, it is too old or it finds no GPU, saying what is missing and the mend; the next
/// call tries again. Thread-safe.
Result<const Driver*> driver();

/// Opens one driver library without initialising it. As driver() otherwise.
Result<Driver> load_driver(const std::string& path);

/// Ok for success; else a status of the matching code with `what` and the driver's own name of the error:
/// "cuLaunchKernel: CUDA_ERROR_INVALID_VALUE (1)".
Status to_status(const Driver& driver, CuResult result, const char* what);

}  // namespace kaon::cuda

/// KAON_CUDA_RETURN_IF_ERROR(driver, launch_kernel, args...): calls, and returns the Status of a failure.
#define KAON_CUDA_RETURN_IF_ERROR(driver, name, ...)                                            \
  do {                                                                                          \
    ::kaon::cuda::CuResult kaon_cuda_result_ = (driver).name(__VA_ARGS__);                      \
    if (kaon_cuda_result_ != ::kaon::cuda::kCudaSuccess) {                                      \
      return ::kaon::cuda::to_status((driver), kaon_cuda_result_, ::kaon::cuda::symbols::name); \
    }                                                                                           \
  } while (false)
