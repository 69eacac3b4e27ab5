// How calls are counted and written: one JSON object a line, in the format that aot_runner reads as a recording.
#include "runtime/launch/record.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>

#include "runtime/base/text.h"
#include "runtime/launch/control.h"
#include "runtime/launch/log.h"

namespace kaon {

namespace detail {
std::atomic<bool> is_recording{false};
}  // namespace detail

namespace {

struct Recorder {
  std::mutex mutex;
  std::string path;                        // absolute: the program may change its folder
  std::map<std::string, uint64_t> counts;  // by the line up to its count; since the last flush
  bool has_hooks = false;
};

Recorder& recorder() {
  // Leaked on purpose: calls may come from threads that outlive static destruction.
  static Recorder* const instance = new Recorder;
  return *instance;
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      out += escape;
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string line_start(const Signature& signature, const int64_t* slots) {
  std::string line =
      cat("{\"kernel\": ", quoted(signature.kernel), ", \"dtypes\": ", quoted(signature.dtype_key()), ", \"dims\": {");
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    append_to(&line, i == 0 ? "" : ", ", quoted(signature.dims[i]), ": ",
              slots[signature.dim_slot(static_cast<int>(i))]);
  }
  return cat(line, "}, \"count\": ");
}

int open_file(const std::string& path) { return open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666); }

Status failure(const std::string& path, const char* what, const std::string& lost) {
  return make_status(Code::kIo, "recording ", path, ": cannot ", what, ": ", strerror(errno), lost);
}

// Appends whole lines; each write() lands in one piece behind those of other processes.
Status append_lines(const std::string& path, const std::string& lines) {
  const std::string lost = ", the calls counted since the last flush are lost";
  int file = open_file(path);
  if (file < 0) return failure(path, "open", lost);
  Status status;
  for (size_t done = 0; done < lines.size() && status.is_ok();) {
    ssize_t wrote = write(file, lines.data() + done, lines.size() - done);
    if (wrote < 0 && errno != EINTR) status = failure(path, "write", lost);
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
  if (close(file) != 0 && status.is_ok()) status = failure(path, "close", lost);
  return status;
}

Status write_counts(const std::string& path, const std::map<std::string, uint64_t>& counts) {
  std::string lines;
  for (const auto& [line, count] : counts) append_to(&lines, line, count, "}\n");
  return lines.empty() ? Status::ok() : append_lines(path, lines);
}

void flush_at_exit() {
  if (Status status = flush_recording(); !status.is_ok()) log_line(LogLevel::kError, status.message());
}

// A child counts its own calls; those of the parent before the fork are the parent's to write.
void lock_recorder() { recorder().mutex.lock(); }
void unlock_recorder() { recorder().mutex.unlock(); }
void start_recorder_anew() {
  recorder().counts.clear();
  recorder().mutex.unlock();
}

Status absolute_path(const std::string& path, std::string* out) {
  *out = path;
  if (!path.empty() && path[0] == '/') return Status::ok();
  char* folder = getcwd(nullptr, 0);
  if (folder == nullptr) return failure(path, "find the current folder", "");
  *out = cat(folder, "/", path);
  free(folder);
  return Status::ok();
}

}  // namespace

Status start_recording(const std::string& path) {
  if (path.empty()) return {Code::kInvalidArgument, "recording: the file has no name"};
  std::string absolute;
  KAON_RETURN_IF_ERROR(absolute_path(path, &absolute));
  int file = open_file(absolute);
  if (file < 0) return failure(absolute, "open", "");
  close(file);
  KAON_RETURN_IF_ERROR(stop_recording());
  std::lock_guard<std::mutex> lock(recorder().mutex);
  recorder().path = absolute;
  if (!recorder().has_hooks) {
    recorder().has_hooks = true;
    pthread_atfork(lock_recorder, unlock_recorder, start_recorder_anew);
    std::atexit(flush_at_exit);
  }
  detail::is_recording.store(true, std::memory_order_relaxed);
  return Status::ok();
}

Status flush_recording() {
  std::string path;
  std::map<std::string, uint64_t> counts;
  {
    std::lock_guard<std::mutex> lock(recorder().mutex);
    path = recorder().path;
    counts.swap(recorder().counts);
  }
  return write_counts(path, counts);
}

Status stop_recording() {
  detail::is_recording.store(false, std::memory_order_relaxed);
  return flush_recording();
}

void start_recording_from_environment() {
  static std::once_flag once;
  std::call_once(once, [] {
    const char* path = getenv("KAON_RECORD");
    if (path == nullptr || *path == '\0' || is_recording()) return;
    if (Status status = start_recording(path); !status.is_ok())
      log_line(LogLevel::kError, cat("KAON_RECORD: ", status.message()));
  });
}

void record_call(const Signature& signature, const int64_t* slots) noexcept {
  try {
    const std::string line = line_start(signature, slots);
    std::lock_guard<std::mutex> lock(recorder().mutex);
    ++recorder().counts[line];
  } catch (const std::bad_alloc&) {
    // A call is worth more than its record.
  }
}

}  // namespace kaon
