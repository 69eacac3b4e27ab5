// The shared memory of one block, and whether an access to it is one that a GPU would promise anything about.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kaon::host {

/// Reused from block to block: nothing is cleared, since epochs never repeat. An epoch is the time between two
/// barriers of a block.
class SharedMemory {
 public:
  /// Starts a block with `bytes` of shared memory, all of it uninitialised.
  void begin_block(uint32_t bytes, bool checked);
  /// All threads of the block met.
  void barrier() { ++epoch_; }

  /// Empty when the access is fine, else what is wrong with it. `site` is where, for the message of a later race.
  std::string read(uint32_t thread, uint32_t offset, void* destination, uint32_t bytes);
  std::string write(uint32_t thread, uint32_t site, uint32_t offset, const void* source, uint32_t bytes);

 private:
  /// What is known of one byte. Epochs before first_epoch_ are of earlier blocks: the byte was never touched.
  struct Shadow {
    uint32_t write_epoch = 0;
    uint32_t read_epoch = 0;
    uint32_t write_site = 0;
    uint16_t writer = 0;
    uint16_t reader = 0;  // kManyReaders when several threads read it in read_epoch
  };
  static constexpr uint16_t kManyReaders = 0xffff;

  std::string out_of_place(uint32_t offset, uint32_t bytes) const;
  std::string note_read(uint32_t thread, uint32_t offset, uint32_t bytes);
  std::string note_write(uint32_t thread, uint32_t site, uint32_t offset, uint32_t bytes);
  void copy(void* destination, const void* source, uint32_t bytes);

  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  std::vector<Line> lines_;  // storage, 64-byte aligned
  std::vector<Shadow> shadow_;
  uint32_t bytes_ = 0;
  uint32_t epoch_ = 0;
  uint32_t first_epoch_ = 1;
  bool checked_ = false;
};

}  // namespace kaon::host
