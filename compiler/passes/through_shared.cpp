// Shared buffers for tiles that change threads.
#include "compiler/passes/through_shared.h"

#include <string>
#include <utility>

namespace kaon::compiler {

ValueId through_shared(Builder& builder, ValueId value, const PartialTile& to, const char* what) {
  Kernel& kernel = builder.kernel();
  SharedBuffer buffer;
  buffer.name = std::string(what) + std::to_string(kernel.shared_buffers.size());
  buffer.bytes = static_cast<uint32_t>(dtype_bytes(to.type.dtype));
  for (int dim = 0; dim < to.layout.rank(); ++dim) buffer.bytes *= static_cast<uint32_t>(to.layout.capacity(dim));
  const int index = static_cast<int>(kernel.shared_buffers.size());
  kernel.shared_buffers.push_back(std::move(buffer));
  builder.shared_store(index, value);
  return builder.shared_load(index, to.type, to.layout);
}

}  // namespace kaon::compiler
