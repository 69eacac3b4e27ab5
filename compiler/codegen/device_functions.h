// Which calls stand for what C cannot say, and how a lowered module names them before it is bound to a target.
#pragma once

#include <string>

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "compiler/target/target.h"

namespace kaon::compiler::codegen {

enum class DeviceFunction : uint8_t {
#define KAON_DEVICE(enumerator, name, signature) enumerator,
#include "compiler/codegen/device_functions.inc"
#undef KAON_DEVICE
};

struct DeviceFunctionInfo {
  DeviceFunction function;
  const char* name;
  const char* signature;
};
const DeviceFunctionInfo& device_function_info(DeviceFunction function);

/// A modifier of a load, no PTX qualifier: it stays where it is. LLVM would sink another one to its use, past jumps.
constexpr const char* kPinned = ".pinned";

/// Declares (once) and returns the function. `modifiers` are the PTX qualifiers of a global access,
/// ".nc.L1::no_allocate".
llvm::Function* declare_device_function(llvm::Module& module, DeviceFunction function, llvm::StringRef modifiers = "");

/// Calls `bind` for each device function that the module declares, with what it stands for and its modifiers. `bind`
/// may give it a body, or replace and erase it.
void bind_device_functions(
    llvm::Module& module,
    llvm::function_ref<void(llvm::Function&, const DeviceFunctionInfo&, llvm::StringRef modifiers)> bind);

/// Number of 32-bit words (1, 2 or 4) or, below 32 bits, of bits (8, 16) that a memory function moves.
struct AccessWidth {
  unsigned bits = 32;  // of one part: 8, 16 or 32
  unsigned parts = 1;  // 1, 2 or 4
};
AccessWidth access_width(DeviceFunction function);

/// Gives every declared device function a body for the target, to be inlined; nothing named "kaon." is left undefined.
/// With `cluster` > 1 blocks of `threads` threads each act as one.
void bind_nvptx(llvm::Module& module, uint32_t cluster, uint32_t threads);
void bind_host(llvm::Module& module);

}  // namespace kaon::compiler::codegen
