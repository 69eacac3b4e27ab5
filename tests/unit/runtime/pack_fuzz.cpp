// Packs as an attacker would write them: damaged, with checksums that are right. The reader refuses them, or everything
// that the launch path does with them is safe. Built for libFuzzer where there is one, and with a loop of its own.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "runtime/launch/explain.h"
#include "runtime/launch/known_devices.h"
#include "runtime/launch/lookup.h"
#include "runtime/launch/pack.h"
#include "runtime/launch/resolved.h"
#include "tests/unit/runtime/pack_fuzz.h"

namespace kaon::testing {
namespace {

volatile size_t used;  // what is computed goes here, so that nothing of it is optimised away

// Puts the checksums of whatever lies there; false when there is too little of it to have any.
bool mend_checksums(unsigned char* data, size_t bytes) {
  PackHeader header;
  if (bytes < sizeof header) return false;
  memcpy(&header, data, sizeof header);
  memcpy(header.magic, kPackMagic, sizeof kPackMagic);
  header.format_version = kPackFormatVersion;
  header.num_sections = kNumPackSections;
  header.total_bytes = bytes;
  for (SectionEntry& section : header.sections) {
    if (section.offset > bytes || section.bytes > bytes - section.offset) continue;
    section.checksum = pack_checksum(data + section.offset, section.bytes);
  }
  header.header_checksum = pack_checksum(&header, offsetof(PackHeader, header_checksum));
  memcpy(data, &header, sizeof header);
  return true;
}

// What a process does with a pack on one device, but for the driver.
void serve(const Pack& pack, const PackTable& table, const DeviceFacts& facts) {
  ResolveInput input;
  input.facts = facts;
  input.pack = &pack;
  input.table = &table;
  input.variants = fit_variants(table, pack, facts, PtxRule::kAllowed);
  const bool is_served = missing_generic(table, input.variants) == nullptr;
  Result<std::unique_ptr<ResolvedTable>> made =
      is_served ? ResolvedTable::make(input) : Result<std::unique_ptr<ResolvedTable>>(Status(Code::kUnsupported, ""));
  int64_t dims[kMaxSlots], slots[kMaxSlots];
  for (const int64_t size : {int64_t{0}, int64_t{1}, int64_t{257}, int64_t{1} << 40}) {
    for (int64_t& dim : dims) dim = size;
    dense_slots(table.signature, dims, slots);
    used = explain_choice({&pack, &table, facts, PtxRule::kAllowed, slots}).size();
    if (!made.is_ok()) continue;
    int leaf = 0;
    const Candidate* candidate = (*made)->choose(slots, &leaf);
    if (candidate == nullptr) {
      used = (*made)->choose_failure(slots, leaf).message().size();
    } else {
      used = static_cast<size_t>(candidate->num_programs(slots)) +
             static_cast<size_t>((*made)->match(*candidate, leaf, slots));
    }
  }
}

}  // namespace

bool read_and_serve(const unsigned char* data, size_t bytes) {
  // At the end of its allocation, so that one byte too far is one byte out of bounds.
  const size_t room = (bytes + kPackAlignment - 1) / kPackAlignment * kPackAlignment;
  std::unique_ptr<unsigned char, decltype(&free)> copy(
      static_cast<unsigned char*>(aligned_alloc(kPackAlignment, room == 0 ? kPackAlignment : room)), free);
  memcpy(copy.get(), data, bytes);
  mend_checksums(copy.get(), bytes);
  const Result<std::shared_ptr<const Pack>> pack = Pack::borrow(copy.get(), bytes, "fuzzed");
  if (!pack.is_ok()) return false;
  for (const PackTable& table : (*pack)->tables()) {
    for (const int sm : {75, 90, 120}) serve(**pack, table, *known_device(sm));
  }
  return true;
}

}  // namespace kaon::testing

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t bytes) {
  kaon::testing::read_and_serve(data, bytes);
  return 0;
}
