// Which stores of a program wait for one another. A program's stores to one element happen in the order written; a
// barrier between them is needed where the element may be one thread's in the earlier and another's in the later.
#pragma once

#include <set>
#include <string>

#include "compiler/ir/ir.h"
#include "compiler/passes/store_places.h"

namespace kaon::compiler {

class StoreOrder {
 public:
  /// Of a staged kernel, which may be given barriers while this lives, but must not lose its other ops.
  explicit StoreOrder(const Kernel& kernel);

  /// Whether `store` can have to wait for some store of its tensor or be waited for: another one, or itself in another
  /// turn.
  bool is_ordered(const Op& store) const;
  /// Whether a barrier is needed between `earlier` and `later`, or between two turns of one.
  bool must_wait(const Op& earlier, const Op& later) const;

 private:
  bool stays_with_threads(const Op& earlier, const Op& later) const;
  std::string owners(const Op& store) const;

  const Kernel& kernel_;
  StorePlaces places_;
  std::set<const Op*> ordered_;
};

}  // namespace kaon::compiler
