// Names, messages and axes of the kernel being built; the walk starts here.
#include "compiler/frontend/kernel_builder.h"

#include <algorithm>

#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

constexpr size_t kMaxValues = 20000;  // inlining doubles easily; no kernel of a person comes near

}  // namespace

KernelBuilder::KernelBuilder(const ast::File& file, const ast::Kernel& source, const DTypeBinding& dtypes,
                             SignatureFacts facts, Diagnostics* diagnostics)
    : file_(file),
      source_(source),
      dtypes_(dtypes),
      facts_(std::move(facts)),
      diagnostics_(*diagnostics),
      builder_(kernel_) {
  kernel_.signature = facts_.signature;
  for (const SpecialisedValue& fixed : facts_.specialised) {
    const int slot = kernel_.signature.dim_slot(fixed.dim);
    kernel_.guards.push_back({GuardKind::kEqual, static_cast<uint16_t>(slot), 0, fixed.value});
  }
}

Result<Kernel> KernelBuilder::run(const std::vector<ast::Statement>& body) {
  host_values_.emplace_back();
  push_scope();
  declare_head();
  push_scope();
  statements(body);
  if (!has_grid_ && !diagnostics_.has_errors()) {
    fail(source_.name.range,
         "kernel " + source_.name.text +
             " has no tile loop; the tiles of its outermost loop are what the GPU's blocks work on");
  }
  pop_scope();
  for (size_t i = 0; i < stored_.size() && !diagnostics_.has_errors(); ++i) {
    const TensorParam& tensor = kernel_.signature.tensors[i];
    if (!tensor.is_output || stored_[i]) continue;
    fail(facts_.places[tensor.name],
         "output " + tensor.name + " is never stored to; store to it in the loop, or take it out of the head");
  }
  warn_unused_inputs();
  if (!diagnostics_.has_errors() && !builder_.status()) return builder_.status();
  return std::move(kernel_);
}

void KernelBuilder::declare_head() {
  Scope& scope = scopes_.back();
  stored_.assign(kernel_.signature.tensors.size(), false);
  for (size_t i = 0; i < kernel_.signature.tensors.size(); ++i) {
    Value tensor;
    tensor.kind = Value::Kind::kTensor;
    tensor.tensor = static_cast<int>(i);
    tensor.name = kernel_.signature.tensors[i].name;
    scope[tensor.name] = {tensor, facts_.places[tensor.name]};
  }
  for (const ScalarParam& scalar : kernel_.signature.scalars) {
    Value value = Value::typed(kernel_.new_value(Type{scalar.dtype, {}}, scalar.name));
    kernel_.scalar_params.push_back(value.id);
    if (auto host = facts_.int_scalars.find(scalar.name); host != facts_.int_scalars.end()) value.host = host->second;
    scope[scalar.name] = {value, facts_.places[scalar.name]};
  }
  for (const auto& [name, value] : facts_.dims) scope[name] = {Value::host_int(value), facts_.places[name]};
  for (const auto& [name, value] : facts_.constants) {
    scope[name] = {Value::host_int(HostInt(value)), facts_.places[name]};
  }
}

Value KernelBuilder::fail(SourceRange range, const std::string& message, const std::vector<Note>& notes) {
  diagnostics_.error(range, message);
  for (const Note& note : notes) diagnostics_.note(note.range, note.message);
  for (size_t i = calls_.size(); i-- > 0;) {
    diagnostics_.note(calls_[i].range, "in this call of " + calls_[i].function->name.text);
  }
  return Value::error();
}

KernelBuilder::Binding* KernelBuilder::find(const std::string& name) {
  for (size_t i = scopes_.size(); i-- > frame_;) {
    auto found = scopes_[i].find(name);
    if (found != scopes_[i].end()) return &found->second;
  }
  return nullptr;
}

bool KernelBuilder::declare(const ast::Name& name, Value value, bool is_var) {
  if (dtype_named(name.text)) {
    fail(name.range, "`" + name.text + "` is an element type and cannot name a value");
    return false;
  }
  if (const Binding* earlier = find(name.text)) {
    std::vector<Note> notes;
    if (earlier->range.is_known()) notes.push_back({earlier->range, name.text + " is declared here"});
    fail(name.range,
         "`" + name.text + "` is already declared" +
             (earlier->is_var ? "; assign to it without `var`" : "; choose another name"),
         notes);
    return false;
  }
  scopes_.back()[name.text] = {std::move(value), name.range, is_var, /*used=*/false, loop_depth_};
  return true;
}

void KernelBuilder::pop_scope() {
  for (const auto& [name, binding] : scopes_.back()) {
    if (calls_.empty() && binding.range.is_known()) ended_[name] = binding.range;
    if (binding.value.kind == Value::Kind::kBlock && !diagnostics_.has_errors()) {
      const bool runs =
          std::any_of(kernel_.axes.begin(), kernel_.axes.end(), [&, &block = binding.value](const Axis& a) {
            return a.kind == AxisKind::kTile && a.block_axis == block.axis;
          });
      if (!runs)
        fail(binding.range, "block " + name + " runs no loop; write tile(..., block=" + name + "), or delete it");
    }
    const bool is_local = binding.value.is_number() && binding.range.is_known();
    if (is_local && !binding.used && calls_.empty() && warns_unused_ && name[0] != '_' && !diagnostics_.has_errors()) {
      diagnostics_.warning(binding.range, "`" + name + "` is never used; delete it, or begin its name with _");
    }
  }
  scopes_.pop_back();
}

void KernelBuilder::warn_unused_inputs() {
  if (diagnostics_.has_errors() || !source_.impls.empty()) return;  // another body may use what this one does not
  for (const auto& [name, binding] : scopes_.front()) {
    const int tensor = kernel_.signature.find_tensor(name);
    const bool is_parameter = (tensor >= 0 && !kernel_.signature.tensors[static_cast<size_t>(tensor)].is_output) ||
                              kernel_.signature.find_scalar(name) >= 0;
    const bool in_head = facts_.int_scalars.count(name) != 0;  // may serve extents or `require`
    const auto& tensors = kernel_.signature.tensors;
    const std::string& input = name;  // an output that starts as it is may be all that wants it
    const bool is_aliased =
        std::any_of(tensors.begin(), tensors.end(), [&](const TensorParam& other) { return other.aliases == input; });
    if (is_parameter && !is_aliased && !in_head && !binding.used && name[0] != '_') {
      diagnostics_.warning(binding.range, "parameter " + name + " is never used; delete it, or begin its name with _");
    }
  }
}

bool KernelBuilder::too_large(SourceRange range) {
  if (kernel_.values.size() <= kMaxValues) return false;
  if (!reported_size_) {
    reported_size_ = true;
    fail(range, "the kernel has more than " + std::to_string(kMaxValues) + " values after its functions are inlined");
  }
  return true;
}

std::string KernelBuilder::unique_axis_name(const std::string& wanted) {
  auto taken = [&](const std::string& name) {
    return std::any_of(kernel_.axes.begin(), kernel_.axes.end(), [&](const Axis& axis) { return axis.name == name; });
  };
  std::string name = wanted;
  for (int i = 2; taken(name); ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

AxisId KernelBuilder::whole_axis(const HostInt& extent, int occurrence, AxisKind kind) {
  std::string text = extent.to_string();
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  auto [found, is_new] = whole_axes_.emplace(text + "#" + std::to_string(occurrence), kUnitAxis);
  if (is_new) {
    Axis axis;
    axis.name = unique_axis_name(text);
    axis.kind = kind;
    axis.extent = extent.to_expr();
    found->second = kernel_.new_axis(axis);
    ranges_.push_back({HostInt(0), extent});
  }
  // A dimension walked by `:` is planned as such, whoever named its extent first.
  if (kind == AxisKind::kFull) kernel_.axis(found->second).kind = kind;
  return found->second;
}

// A value is never negative when it is so for all extents, or is at least what a `require` clause says is not negative.
bool KernelBuilder::is_natural(const HostInt& value) const {
  if (value.is_natural()) return true;
  return std::any_of(facts_.known_natural.begin(), facts_.known_natural.end(), [&](const HostInt& fact) {
    const std::optional<HostInt> rest = HostInt::binary(ExprOp::kSub, value, fact);
    return rest && rest->is_natural();
  });
}

}  // namespace kaon::compiler
