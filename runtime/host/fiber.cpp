// Fibers on Boost.Context's assembly switch, with the notes that AddressSanitizer and ThreadSanitizer need.
#include "runtime/host/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <boost/context/detail/fcontext.hpp>
#include <cerrno>
#include <cstring>
#include <string>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace kaon::host {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

namespace {

size_t page_bytes() {
  static const size_t bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

StackPool::~StackPool() {
  const size_t bytes = kStacksPerChunk * (kStackBytes + page_bytes());
  for (void* chunk : chunks_) {
#if defined(__SANITIZE_ADDRESS__)
    // Idle fibers stand in frames that never return; whatever is mapped here next must not inherit their red zones.
    __asan_unpoison_memory_region(chunk, bytes);
#endif
    munmap(chunk, bytes);
  }
}

Result<void*> StackPool::take() {
  const size_t stride = kStackBytes + page_bytes();
  if (used_in_last_ == kStacksPerChunk) {
    void* chunk = mmap(nullptr, kStacksPerChunk * stride, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (chunk == MAP_FAILED) {
      return Status(Code::kOutOfMemory, std::string("no address space for thread stacks: ") + std::strerror(errno));
    }
    chunks_.push_back(chunk);
    used_in_last_ = 0;
    for (size_t i = 0; i < kStacksPerChunk; ++i) {
      if (mprotect(static_cast<char*>(chunk) + i * stride, page_bytes(), PROT_NONE) != 0) {
        return Status(Code::kOutOfMemory, std::string("no guard page for a thread stack: ") + std::strerror(errno));
      }
    }
  }
  return static_cast<void*>(static_cast<char*>(chunks_.back()) + ++used_in_last_ * stride);
}

/// The switches themselves, each between the notes that announce it.
struct Fiber::Switch {
  static void enter(transfer_t from) {
    Fiber* self = static_cast<Fiber*>(from.data);
    self->caller_context_ = from.fctx;
    arrived_on_fiber(self);
    self->entry_(self->argument_);
    __builtin_unreachable();
  }

  static void arrived_on_fiber([[maybe_unused]] Fiber* self) {
#if defined(__SANITIZE_ADDRESS__)
    const void* bottom = nullptr;
    __sanitizer_finish_switch_fiber(self->fake_stack_, &bottom, &self->caller_stack_bytes_);
    self->caller_stack_ = const_cast<void*>(bottom);
#endif
  }
};

Fiber::Fiber(void* stack_top, Entry entry, void* argument) : stack_top_(stack_top), entry_(entry), argument_(argument) {
#if defined(__SANITIZE_THREAD__)
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

Fiber::~Fiber() {
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(tsan_fiber_);
#endif
}

void Fiber::resume() {
  if (context_ == nullptr) context_ = make_fcontext(stack_top_, StackPool::kStackBytes, &Switch::enter);
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, static_cast<char*>(stack_top_) - StackPool::kStackBytes,
                                 StackPool::kStackBytes);
#endif
#if defined(__SANITIZE_THREAD__)
  tsan_caller_ = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(tsan_fiber_, 0);
#endif
  context_ = jump_fcontext(context_, this).fctx;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(fake_stack, nullptr, nullptr);
#endif
}

void Fiber::suspend() {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(&fake_stack_, caller_stack_, caller_stack_bytes_);
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_switch_to_fiber(tsan_caller_, 0);
#endif
  caller_context_ = jump_fcontext(caller_context_, nullptr).fctx;
  Switch::arrived_on_fiber(this);
}

void Fiber::abandon() {
  context_ = nullptr;
#if defined(__SANITIZE_ADDRESS__)
  // Frames that never returned have left their red zones behind.
  __asan_unpoison_memory_region(static_cast<char*>(stack_top_) - StackPool::kStackBytes, StackPool::kStackBytes);
  fake_stack_ = nullptr;
#endif
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(tsan_fiber_);
  tsan_fiber_ = __tsan_create_fiber(0);
#endif
}

}  // namespace kaon::host
