// The loop between two file descriptors and a session.
#include <unistd.h>

#include <cerrno>
#include <string>

#include "aot_runner/measure/session.h"

namespace kaon::runner {

namespace {

constexpr int kExitNoDevice = 3;
constexpr int kExitDeviceLost = 4;

/// One write per event: the parent sees it at once, and a crash right after loses nothing.
void write_line(int output, std::string line) {
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(output, line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;  // the parent is gone; its closed input ends the loop
    done += static_cast<size_t>(n);
  }
}

void write_error(int output, uint64_t request, const Status& error) {
  Event event;
  event.kind = EventKind::kError;
  event.request = request;
  event.error = error;
  write_line(output, encode(event));
}

/// Lines of a file descriptor.
class LineReader {
 public:
  explicit LineReader(int file) : file_(file) {}

  /// False at the end of the input.
  bool next(std::string* line) {
    for (size_t from = 0;;) {
      const size_t end = buffer_.find('\n', from);
      if (end != std::string::npos) {
        line->assign(buffer_, 0, end);
        buffer_.erase(0, end + 1);
        return true;
      }
      from = buffer_.size();
      char part[1 << 16];
      const ssize_t n = read(file_, part, sizeof part);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      buffer_.append(part, static_cast<size_t>(n));
    }
  }

 private:
  int file_;
  std::string buffer_;
};

}  // namespace

int serve(const std::string& device_name, int input, int output) {
  Result<std::unique_ptr<Device>> device = open_device(device_name);
  if (!device.is_ok()) {
    write_error(output, 0, device.status());
    return kExitNoDevice;
  }
  Session session(std::move(device).value(), [output](const Event& event) { write_line(output, encode(event)); });
  LineReader lines(input);
  for (std::string line; lines.next(&line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<Request> request = decode_request(line);
    if (!request.is_ok()) {
      write_error(output, 0, request.status());
      continue;
    }
    const Session::Next next = session.handle(*request);
    if (next == Session::Next::kQuit) return 0;
    if (next == Session::Next::kDeviceLost) return kExitDeviceLost;
  }
  return 0;
}

}  // namespace kaon::runner
