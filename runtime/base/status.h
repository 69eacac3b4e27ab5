// What can go wrong, as values: the code, the message, and Result<T> for what may not exist.
#pragma once

#include <cstdint>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace kaon {

/// Every failure that Kaon reports, stable across the C++ and the C API. The text of each code is in status.cpp.
enum class Code : int32_t {
  kOk = 0,
  kInvalidArgument = 1,    // the caller passed something that no device could accept: wrong rank, dtype, extent, null
  kNotFound = 2,           // a kernel, variant, file or symbol of that name does not exist
  kUnsupported = 3,        // legal, but this build, target or device cannot do it
  kValueNotCompiled = 4,   // a specialised dimension has a value that the pack was not compiled for
  kNoDevice = 5,           // no driver, no GPU, or the GPU named does not exist
  kDriver = 6,             // the CUDA driver refused; the message carries the driver's own name of the error
  kOutOfMemory = 7,        // host or device memory
  kNotPreloaded = 8,       // first use of a variant inside a stream capture; call preload() before capturing
  kCorrupt = 9,            // a pack, bundle or store fails its checksum or bounds
  kStale = 10,             // an artifact was made from another source than the one beside it
  kIo = 11,                // the operating system refused to read or write
  kCompile = 12,           // a kernel source has errors; the message is the rendered diagnostic
  kIllegalConfig = 13,     // a config cannot be compiled for this kernel and target; the message has the numbers
  kWrongResult = 14,       // a variant's output lies outside the oracle's error bound
  kTimeout = 15,           // a child process or a kernel exceeded its limit
  kInternal = 16,          // a bug in Kaon; please report it with the message
};

/// Stable lower-case name of a code, such as "invalid_argument". Never null.
const char* code_name(Code code);

/// A code and, unless it is kOk, a message: lower-case, no final period, with what was expected and what was got.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}
  static Status ok() { return {}; }

  bool is_ok() const { return code_ == Code::kOk; }
  explicit operator bool() const { return is_ok(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  /// "invalid_argument: softmax: x has rank 3, expected 2", or "ok".
  std::string to_string() const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

/// Either a T or a Status that is not ok. value() on an error is a bug of the caller and traps.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : has_value_(true) { new (&value_) T(std::move(value)); }
  Result(Status status) : status_(std::move(status)) {
    if (status_.is_ok()) status_ = Status(Code::kInternal, "Result made from an ok Status");
  }
  Result(Result&& other) noexcept : status_(std::move(other.status_)), has_value_(other.has_value_) {
    if (has_value_) new (&value_) T(std::move(other.value_));
  }
  Result(const Result& other) : status_(other.status_), has_value_(other.has_value_) {
    if (has_value_) new (&value_) T(other.value_);
  }
  Result& operator=(Result other) noexcept {
    if (has_value_) value_.~T();
    status_ = std::move(other.status_);
    has_value_ = other.has_value_;
    if (has_value_) new (&value_) T(std::move(other.value_));
    return *this;
  }
  ~Result() {
    if (has_value_) value_.~T();
  }

  bool is_ok() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  const Status& status() const { return status_; }
  T& value() & { return check(), value_; }
  const T& value() const& { return check(), value_; }
  T&& value() && { return check(), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void check() const {
    if (!has_value_) __builtin_trap();
  }
  Status status_;
  bool has_value_ = false;
  union {
    T value_;
  };
};

}  // namespace kaon

/// Returns the Status of `expr` from the enclosing function unless it is ok.
#define KAON_RETURN_IF_ERROR(expr)                      \
  do {                                                  \
    if (::kaon::Status kaon_status_ = (expr); !kaon_status_.is_ok()) return kaon_status_; \
  } while (false)

#define KAON_CONCAT_INNER(a, b) a##b
#define KAON_CONCAT(a, b) KAON_CONCAT_INNER(a, b)

/// KAON_ASSIGN_OR_RETURN(auto x, f()): declares x from a Result, or returns its Status.
#define KAON_ASSIGN_OR_RETURN(declaration, expr) \
  KAON_ASSIGN_OR_RETURN_INNER(KAON_CONCAT(kaon_result_, __LINE__), declaration, expr)
#define KAON_ASSIGN_OR_RETURN_INNER(result, declaration, expr) \
  auto result = (expr);                                        \
  if (!result.is_ok()) return result.status();                 \
  declaration = std::move(result).value()
