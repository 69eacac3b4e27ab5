// Why a call gets its variant, in words: from the records of a pack and the facts of a device, without either at hand.
#pragma once

#include <string>

#include "runtime/launch/lookup.h"

namespace kaon {

/// What would be asked.
struct Question {
  const Pack* pack = nullptr;
  const PackTable* table = nullptr;  // of that pack
  DeviceFacts facts;
  PtxRule ptx = PtxRule::kForbidden;
  const int64_t* slots = nullptr;  // of the call, as the table's signature lays them out
};

/// Lines on: the table and how well it knows the shape, the nearest measured shapes, the path through the tree, each
/// variant of the leaf with what its guards or the device say, the one that serves with its evidence, and what other
/// chips would do with the same call.
std::string explain_choice(const Question& question);

/// The slots of a call with those dims (one per dim of the signature): dense tensors, aligned to 256 bytes and apart,
/// scalars 0.
void dense_slots(const Signature& signature, const int64_t* dims, int64_t* slots);

}  // namespace kaon
