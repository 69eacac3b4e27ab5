// Memory of the simulated block: which lanes exist, what they address, and who touched shared memory when.
#include <algorithm>

#include "compiler/ir/updates.h"

#include "tests/support/staged_machine.h"

namespace kaon::compiler {

int64_t StagedMachine::axis_first(const Axis& axis) {
  return axis.begin_value != kNoValue ? static_cast<int64_t>(cell(axis.begin_value, 0, 0).value) : eval(axis.begin);
}

int64_t StagedMachine::axis_end(const Axis& axis) {
  return axis.extent_value != kNoValue ? static_cast<int64_t>(cell(axis.extent_value, 0, 0).value) : eval(axis.extent);
}

int64_t StagedMachine::origin(AxisId axis, const Type& type, const Layout& layout, int thread, uint32_t reg) {
  const ValueId value = kernel_.axis(axis).origin;
  if (value == kNoValue) return 0;
  const Type& own = kernel_.type(value);
  if (own.is_scalar()) return static_cast<int64_t>(cell(value, thread, 0).value);
  std::vector<uint64_t> wanted(own.axes.size(), 0);
  for (size_t i = 0; i < own.axes.size(); ++i) {
    const auto at = std::find(type.axes.begin(), type.axes.end(), own.axes[i]);
    if (at != type.axes.end()) wanted[i] = layout.register_part(static_cast<int>(at - type.axes.begin()), reg);
  }
  return static_cast<int64_t>(cell(value, thread, kernel_.layout(value).owner(wanted).reg).value);
}

int64_t StagedMachine::coordinate(const Type& type, const Layout& layout, int dim, int thread, uint32_t reg) {
  const AxisId axis = type.axes[static_cast<size_t>(dim)];
  const auto position = static_cast<int64_t>(layout.position(place(thread, reg))[static_cast<size_t>(dim)]);
  const int64_t begin = kernel_.axis(axis).kind == AxisKind::kTile ? begins_.at(axis) : 0;
  return begin + position - origin(axis, type, layout, thread, reg);
}

bool StagedMachine::exists(const Type& type, const Layout& layout, int thread, uint32_t reg, int only_dim) {
  for (int dim = 0; dim < type.rank(); ++dim) {
    const AxisId axis = type.axes[static_cast<size_t>(dim)];
    if (axis == kUnitAxis || (only_dim >= 0 && dim != only_dim)) continue;
    const Axis& a = kernel_.axis(axis);
    const int64_t at = coordinate(type, layout, dim, thread, reg);
    const int64_t low = a.kind == AxisKind::kTile ? axis_first(a) : 0;
    if (at < low || at >= axis_end(a)) return false;
  }
  return true;
}

/// False when an operand that gives the index holds nothing.
bool StagedMachine::element_index(const Op& op, int thread, uint32_t reg, std::vector<int64_t>* index) {
  const ValueId tile = op.kind == OpKind::kStore ? op.operands[0] : op.result();
  const Type& type = kernel_.type(tile);
  const Layout& layout = kernel_.layout(tile);
  index->clear();
  for (const Indexer& indexer : op.index_attr("index")) {
    int64_t at = 0;
    if (indexer.kind == Indexer::Kind::kTile) {
      const ValueId gather = op.operands[static_cast<size_t>(indexer.operand)];
      const Type& own = kernel_.type(gather);
      std::vector<uint64_t> wanted(own.axes.size(), 0);
      for (size_t i = 0; i < own.axes.size(); ++i) {
        const auto found = std::find(type.axes.begin(), type.axes.end(), own.axes[i]);
        wanted[i] = layout.register_part(static_cast<int>(found - type.axes.begin()), reg);
      }
      const SimCell& c = cell(gather, thread, kernel_.layout(gather).owner(wanted).reg);
      if (!c.is_defined) return false;
      at = static_cast<int64_t>(c.value);
    } else {
      if (indexer.operand >= 0)
        at = static_cast<int64_t>(cell(op.operands[static_cast<size_t>(indexer.operand)], thread, 0).value);
      if (indexer.kind == Indexer::Kind::kAxis) {
        const auto dim = std::find(type.axes.begin(), type.axes.end(), indexer.axis) - type.axes.begin();
        at += coordinate(type, layout, static_cast<int>(dim), thread, reg);
      }
    }
    index->push_back(at);
  }
  return true;
}

void StagedMachine::run_access(const Op& op) {
  const bool is_store = op.kind == OpKind::kStore;
  const ValueId tile = is_store ? op.operands[0] : op.result();
  SimTensor& tensor = call_.tensors[static_cast<size_t>(op.int_attr("tensor"))];
  const Layout& layout = kernel_.layout(tile);
  const uint32_t count = registers(tile);
  std::vector<int64_t> index;
  for (int t = 0; t < num_threads_ && status_; ++t) {
    std::vector<bool> active(count, false);
    std::vector<int64_t> addresses(count, 0);
    for (uint32_t r = 0; r < count; ++r) {
      if (is_store && !layout.is_owner(place(t, r))) continue;
      active[r] = exists(kernel_.type(tile), layout, t, r);
      if (!element_index(op, t, r, &index)) {
        if (active[r]) return fail(op, "an index holds nothing");
        continue;
      }
      bool inside = true;
      int64_t address = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        inside = inside && index[d] >= 0 && index[d] < tensor.sizes[d];
        address += index[d] * tensor.strides[d];
      }
      addresses[r] = address;
      if (is_store) active[r] = active[r] && inside;
      if (!active[r]) continue;
      if (!inside) return fail(op, "a lane that exists reads outside the tensor");
      double& element = tensor.data.at(static_cast<size_t>(address));
      if (!is_store) {
        cell(tile, t, r) = {element, true};
      } else if (!cell(tile, t, r).is_defined) {
        return fail(op, "stores a value that was never computed");
      } else {
        check_order(op, address, t);
        element = is_update(op) ? compute(op, {element, cell(tile, t, r).value}) : cell(tile, t, r).value;
      }
    }
    check_vectors(op, active, addresses, t);
  }
}

/// Stores of several threads to one element happen in an order, unless they are one scatter's.
void StagedMachine::check_order(const Op& op, int64_t address, int thread) {
  SimStore& last = stores_[{op.int_attr("tensor"), address}];
  const auto& index = op.index_attr("index");
  const bool is_scatter =
      std::any_of(index.begin(), index.end(), [](const Indexer& i) { return i.kind == Indexer::Kind::kTile; });
  if (last.op != nullptr && last.thread != thread && !(last.op == &op && is_scatter))
    fail(op, "race: stores to what another thread has just stored to");
  last = {&op, thread};
}

/// The promises of `vector` and `edge`, register group by register group.
void StagedMachine::check_vectors(const Op& op, const std::vector<bool>& active, const std::vector<int64_t>& addresses,
                                  int thread) {
  const auto vector = static_cast<size_t>(op.int_attr("vector", 1));
  const std::string edge = op.str_attr("edge");
  const SimTensor& tensor = call_.tensors[static_cast<size_t>(op.int_attr("tensor"))];
  const DType dtype = kernel_.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))].dtype;
  const ValueId tile = op.kind == OpKind::kStore ? op.operands[0] : op.result();
  int64_t& instructions = op.kind == OpKind::kStore ? counts.store_instructions : counts.load_instructions;
  if (active.size() % vector != 0) return fail(op, "vectors do not divide the registers");
  for (size_t first = 0; first < active.size(); first += vector) {
    const auto alive = static_cast<size_t>(std::count(active.begin() + static_cast<ptrdiff_t>(first),
                                                      active.begin() + static_cast<ptrdiff_t>(first + vector), true));
    if (edge == "none" && alive != vector &&
        kernel_.layout(tile).is_owner(place(thread, static_cast<uint32_t>(first)))) {
      bool row_exists = true;  // rows may still be missing; only the vector's own axis is promised
      const auto& index = op.index_attr("index");
      const Type& type = kernel_.type(tile);
      for (int dim = 0; dim < type.rank(); ++dim) {
        if (type.axes[static_cast<size_t>(dim)] == index.back().axis) continue;
        row_exists = row_exists && exists(type, kernel_.layout(tile), thread, static_cast<uint32_t>(first), dim);
      }
      if (row_exists) return fail(op, "edge is none, but a lane is missing");
    }
    if (alive != 0) instructions += alive == vector ? 1 : static_cast<int64_t>(alive);
    if (vector == 1 || alive == 0) continue;
    if (alive != vector && edge != "split") return fail(op, "a vector is cut, but edge is " + edge);
    for (size_t i = 1; i < vector; ++i) {
      if (addresses[first + i] != addresses[first] + static_cast<int64_t>(i))
        return fail(op, "a vector is not contiguous");
    }
    const int64_t bytes = static_cast<int64_t>(vector) * dtype_bytes(dtype);
    if ((tensor.address + addresses[first] * dtype_bytes(dtype)) % bytes != 0)
      return fail(op, "a vector is not aligned");
  }
}

uint32_t StagedMachine::shared_address(const Op& op, const Layout& layout, DType dtype, int thread, uint32_t reg) {
  const SharedBuffer& buffer = kernel_.shared_buffers[static_cast<size_t>(op.int_attr("buffer"))];
  uint64_t element = 0;
  const std::vector<uint64_t> position = layout.position(place(thread, reg));
  const std::vector<int64_t>& strides = op.ints_attr("strides");
  for (int dim = 0; dim < layout.rank(); ++dim) {
    const auto d = static_cast<size_t>(dim);
    if (op.find_attr("strides")) {
      element += static_cast<uint64_t>(strides[d]) * position[d];
    } else {
      element = element * layout.capacity(dim) + position[d];
    }
  }
  element += static_cast<uint64_t>(op.int_attr("offset"));
  if (op.kind == OpKind::kSharedLoad && !op.operands.empty())
    element += static_cast<uint64_t>(cell(op.operands[0], thread, 0).value);
  const uint64_t bytes = static_cast<uint64_t>(dtype_bytes(dtype));
  if ((element + 1) * bytes > buffer.bytes) fail(op, "leaves its buffer");
  return static_cast<uint32_t>(buffer.offset + element * bytes);
}

void StagedMachine::run_shared_store(const Op& op) {
  const ValueId value = op.operands[0];
  const Layout& layout = kernel_.layout(value);
  const DType dtype = kernel_.type(value).dtype;
  for (int t = 0; t < num_threads_; ++t) {
    for (uint32_t r = 0; r < registers(value); ++r) {
      if (!layout.is_owner(place(t, r))) continue;
      if (op.find_attr("strides") && !exists(kernel_.type(value), layout, t, r)) continue;
      const uint32_t at = shared_address(op, layout, dtype, t, r);
      const int64_t write = num_writes_++;
      for (int i = 0; i < dtype_bytes(dtype) && status_; ++i) {
        SimByte& byte = shared_.at(at + static_cast<uint32_t>(i));
        if (byte.writer >= 0 && byte.writer != t) return fail(op, "race: two threads write the same byte");
        if (byte.reader != -1 && byte.reader != t)
          return fail(op, "race: overwrites what another thread may still read");
        byte = {cell(value, t, r).value, cell(value, t, r).is_defined, write, t, byte.reader};
      }
    }
  }
}

void StagedMachine::run_shared_load(const Op& op) {
  const ValueId value = op.result();
  const Layout& layout = kernel_.layout(value);
  const DType dtype = kernel_.type(value).dtype;
  for (int t = 0; t < num_threads_; ++t) {
    for (uint32_t r = 0; r < registers(value); ++r) {
      if (op.find_attr("strides") && !exists(kernel_.type(value), layout, t, r)) {
        cell(value, t, r) = {0, false};
        continue;
      }
      const uint32_t at = shared_address(op, layout, dtype, t, r);
      if (!status_) return;
      const int64_t write = shared_.at(at).write;
      if (write < 0) return fail(op, "reads shared memory that nothing was written to");
      for (int i = 0; i < dtype_bytes(dtype); ++i) {
        SimByte& byte = shared_.at(at + static_cast<uint32_t>(i));
        if (byte.write != write) return fail(op, "reads parts of two writes");
        if (byte.writer >= 0 && byte.writer != t) return fail(op, "race: reads what another thread has just written");
        byte.reader = byte.reader == -1 || byte.reader == t ? t : -2;
      }
      cell(value, t, r) = {shared_.at(at).value, shared_.at(at).is_defined};
    }
  }
}

void StagedMachine::run_barrier() {
  ++counts.barriers;
  for (SimByte& byte : shared_) byte.writer = byte.reader = -1;
  stores_.clear();
}

}  // namespace kaon::compiler
