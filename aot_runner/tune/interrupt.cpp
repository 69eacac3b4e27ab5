#include <csignal>

#include <unistd.h>

#include "aot_runner/tune/services.h"

namespace kaon::runner {
namespace {

volatile std::sig_atomic_t g_signals = 0;

void on_signal(int) {
  if (g_signals > 0) _exit(130);
  g_signals = 1;
}

constexpr const char* kInterrupted = "interrupted";

}  // namespace

bool interrupted() { return g_signals > 0; }

void install_interrupt_handlers() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Status interrupt_status() { return {Code::kTimeout, kInterrupted}; }

bool is_interrupt(const Status& status) { return status.code() == Code::kTimeout && status.message() == kInterrupted; }

}  // namespace kaon::runner
