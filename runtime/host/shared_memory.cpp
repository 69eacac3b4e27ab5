// Shadow bytes: who last wrote and read each byte of shared memory, and since which barrier.
#include "runtime/host/shared_memory.h"

#include <cstring>

namespace kaon::host {

void SharedMemory::begin_block(uint32_t bytes, bool checked) {
  bytes_ = bytes;
  checked_ = checked;
  if (lines_.size() * sizeof(Line) < bytes) lines_.resize((bytes + sizeof(Line) - 1) / sizeof(Line));
  if (!checked) return;
  if (shadow_.size() < bytes) shadow_.resize(bytes);
  if (epoch_ > 0xf0000000u) {  // long before the counter could wrap within a block
    shadow_.assign(shadow_.size(), Shadow{});
    epoch_ = 0;
  }
  first_epoch_ = ++epoch_;
}

std::string SharedMemory::out_of_place(uint32_t offset, uint32_t bytes) const {
  if (uint64_t{offset} + bytes > bytes_) {
    return "outside shared memory: bytes " + std::to_string(offset) + " to " +
           std::to_string(uint64_t{offset} + bytes) + " of " + std::to_string(bytes_);
  }
  if (offset % bytes != 0) {
    return "misaligned in shared memory: offset " + std::to_string(offset) + " for an access of " +
           std::to_string(bytes) + " bytes";
  }
  return {};
}

std::string SharedMemory::note_read(uint32_t thread, uint32_t offset, uint32_t bytes) {
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    Shadow& s = shadow_[i];
    if (s.write_epoch < first_epoch_) return "reads uninitialised shared byte " + std::to_string(i);
    if (s.write_epoch == epoch_ && s.writer != thread) {
      return "race: reads shared byte " + std::to_string(i) + " that thread " + std::to_string(s.writer) +
             " wrote at site " + std::to_string(s.write_site) + " with no barrier between";
    }
    const bool shared_already = s.read_epoch == epoch_ && s.reader != thread;
    s.reader = shared_already ? kManyReaders : static_cast<uint16_t>(thread);
    s.read_epoch = epoch_;
  }
  return {};
}

std::string SharedMemory::note_write(uint32_t thread, uint32_t site, uint32_t offset, uint32_t bytes) {
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    Shadow& s = shadow_[i];
    if (s.write_epoch == epoch_ && s.writer != thread) {
      return "race: writes shared byte " + std::to_string(i) + " that thread " + std::to_string(s.writer) +
             " wrote at site " + std::to_string(s.write_site) + " with no barrier between";
    }
    if (s.read_epoch == epoch_ && s.reader != thread) {
      const std::string who = s.reader == kManyReaders ? "other threads" : "thread " + std::to_string(s.reader);
      return "race: writes shared byte " + std::to_string(i) + " that " + who + " read with no barrier between";
    }
    s.write_epoch = epoch_;
    s.write_site = site;
    s.writer = static_cast<uint16_t>(thread);
  }
  return {};
}

/// The sizes that kernels use, as single moves.
void SharedMemory::copy(void* destination, const void* source, uint32_t bytes) {
  switch (bytes) {
    case 2: std::memcpy(destination, source, 2); return;
    case 4: std::memcpy(destination, source, 4); return;
    case 8: std::memcpy(destination, source, 8); return;
    case 16: std::memcpy(destination, source, 16); return;
    default: std::memcpy(destination, source, bytes);
  }
}

std::string SharedMemory::read(uint32_t thread, uint32_t offset, void* destination, uint32_t bytes) {
  if (uint64_t{offset} + bytes > bytes_ || offset % bytes != 0) return "reads " + out_of_place(offset, bytes);
  if (checked_) {
    if (std::string wrong = note_read(thread, offset, bytes); !wrong.empty()) return wrong;
  }
  copy(destination, reinterpret_cast<uint8_t*>(lines_.data()) + offset, bytes);
  return {};
}

std::string SharedMemory::write(uint32_t thread, uint32_t site, uint32_t offset, const void* source, uint32_t bytes) {
  if (uint64_t{offset} + bytes > bytes_ || offset % bytes != 0) return "writes " + out_of_place(offset, bytes);
  if (checked_) {
    if (std::string wrong = note_write(thread, site, offset, bytes); !wrong.empty()) return wrong;
  }
  copy(reinterpret_cast<uint8_t*>(lines_.data()) + offset, source, bytes);
  return {};
}

}  // namespace kaon::host
