// The table of chips.
#include "runtime/launch/known_devices.h"

#include "runtime/base/text.h"

namespace kaon {
namespace {

DeviceFacts chip(int sm, const char* name, uint32_t num_sms, uint32_t max_shared_bytes) {
  DeviceFacts facts;
  facts.hardware = cat("sm", sm);
  facts.name = name;
  facts.sm = sm;
  facts.num_sms = num_sms;
  facts.max_shared_bytes = max_shared_bytes;
  facts.registers_per_block = 65536;
  return facts;
}

}  // namespace

const DeviceFacts* known_device(int sm) {
  static const DeviceFacts chips[] = {
      chip(75, "Tesla T4", 40, 65536), chip(80, "A100", 108, 166912),  chip(86, "A10", 72, 101376),
      chip(87, "Orin", 16, 166912),    chip(89, "L40S", 142, 101376),  chip(90, "H200", 132, 232448),
      chip(100, "B200", 148, 232448),  chip(103, "B300", 160, 232448), chip(120, "RTX 5090", 170, 101376),
      chip(121, "GB10", 48, 101376),
  };
  for (const DeviceFacts& facts : chips) {
    if (facts.sm == sm) return &facts;
  }
  return nullptr;
}

}  // namespace kaon
