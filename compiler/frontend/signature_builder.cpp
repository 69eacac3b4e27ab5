// Checks a kernel's head in the order that its parts depend on each other.
#include "compiler/frontend/signature_builder.h"

#include <algorithm>
#include <set>

#include "compiler/frontend/host_expression.h"
#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

std::vector<std::string> dtype_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kNumDTypes; ++i) names.push_back(dtype_name(static_cast<DType>(i)));
  return names;
}

class SignatureBuilder {
 public:
  SignatureBuilder(const ast::Kernel& kernel, const DTypeBinding& dtypes, const ConstexprBinding& constants,
                   Diagnostics* diagnostics)
      : kernel_(kernel), dtypes_(dtypes), constants_(constants), diagnostics_(*diagnostics) {}

  std::optional<SignatureFacts> run() {
    const int errors_before = diagnostics_.num_errors();
    signature().kernel = kernel_.name.text;
    generics();
    for (const ast::Param& param : kernel_.inputs) declare(param, /*is_output=*/false);
    for (const ast::Param& param : kernel_.outputs) declare(param, /*is_output=*/true);
    if (kernel_.outputs.empty()) fail(kernel_.name.range, "kernel " + kernel_.name.text + " has no output");
    find_dims();
    number_slots();
    extents();
    bare_dims();
    aliases();
    unused_generics();
    limits();
    if (diagnostics_.num_errors() == errors_before) requirements();
    if (diagnostics_.num_errors() == errors_before) specialise();
    if (diagnostics_.num_errors() != errors_before) return std::nullopt;
    return std::move(facts_);
  }

 private:
  Signature& signature() { return facts_.signature; }
  void fail(SourceRange range, const std::string& message) { diagnostics_.error(range, message); }

  void declare_name(const ast::Name& name, const char* what) {
    DType ignored;
    if (parse_dtype(name.text, &ignored)) {
      fail(name.range, "`" + name.text + "` is an element type and cannot name " + what);
      return;
    }
    auto [place, is_new] = facts_.places.emplace(name.text, name.range);
    if (is_new) return;
    fail(name.range, "`" + name.text + "` is already declared in this kernel's head");
    diagnostics_.note(place->second, "declared here");
  }

  void generics() {
    for (const ast::Generic& generic : kernel_.generics) {
      declare_name(generic.name, "a generic");
      std::set<std::string> seen;
      for (const ast::Name& dtype : generic.dtypes) {
        DType ignored;
        if (!parse_dtype(dtype.text, &ignored)) {
          fail(dtype.range, "`" + dtype.text + "` is no element type" + did_you_mean(dtype.text, dtype_names()));
        } else if (!seen.insert(dtype.text).second) {
          fail(dtype.range, dtype.text + " is listed twice for " + generic.name.text);
        }
      }
    }
  }

  bool is_generic(const std::string& name) const {
    return std::any_of(kernel_.generics.begin(), kernel_.generics.end(),
                       [&](const ast::Generic& g) { return g.name.text == name; });
  }

  DType dtype_of(const ast::Name& type) {
    DType dtype = DType::kF32;
    if (parse_dtype(type.text, &dtype)) return dtype;
    if (is_generic(type.text)) {
      used_generics_.insert(type.text);
      auto bound = dtypes_.find(type.text);
      return bound != dtypes_.end() ? bound->second : dtype;
    }
    std::vector<std::string> known = dtype_names();
    for (const ast::Generic& generic : kernel_.generics) known.push_back(generic.name.text);
    const std::string hint = did_you_mean(type.text, known);
    fail(type.range,
         "`" + type.text + "` is no element type" +
             (hint.empty() ? "; a generic is declared with `where " + type.text + " in (f16, f32)`" : hint));
    return dtype;
  }

  void declare(const ast::Param& param, bool is_output) {
    declare_name(param.name, "a parameter");
    const DType dtype = dtype_of(param.type);
    if (param.kind == ast::Param::Kind::kConstexpr) {
      if (param.type.text != "i64") fail(param.type.range, "a constexpr parameter is i64, got " + param.type.text);
      auto bound = constants_.find(param.name.text);
      facts_.constants[param.name.text] = bound != constants_.end() ? bound->second : param.default_value;
      return;
    }
    if (param.kind == ast::Param::Kind::kTunable) {
      if (param.type.text != "i64") fail(param.type.range, "a tunable parameter is i64, got " + param.type.text);
      auto bound = constants_.find(param.name.text);
      facts_.constants[param.name.text] = bound != constants_.end() ? bound->second : param.values[0];
      return;
    }
    if (param.kind == ast::Param::Kind::kScalar) {
      if (is_output) {
        fail(param.name.range, "output " + param.name.text +
                                   " has no extents; outputs are tensors, a single number is " + param.type.text +
                                   "[1]");
      } else if (is_generic(param.type.text)) {
        fail(param.type.range, "scalar parameter " + param.name.text + " has the generic type " + param.type.text +
                                   "; state a type such as f32, and cast in the body");
      }
      signature().scalars.push_back({param.name.text, dtype});
      return;
    }
    TensorParam tensor;
    tensor.name = param.name.text;
    tensor.dtype = dtype;
    if (is_generic(param.type.text)) tensor.dtype_var = param.type.text;
    tensor.is_output = is_output;
    tensor.is_zeroed = param.zeroed;
    tensor.aliases = param.alias.text;
    signature().tensors.push_back(tensor);
    tensors_.push_back(&param);
    if (param.extents.empty())
      fail(param.extents_range,
           "tensor " + param.name.text + " has no dimensions; a single number is " + param.type.text + "[1]");
    if (param.extents.size() > static_cast<size_t>(kMaxRank)) {
      fail(param.extents_range, "tensor " + param.name.text + " has " + std::to_string(param.extents.size()) +
                                    " dimensions, the most is " + std::to_string(kMaxRank));
    }
  }

  // Every name in an extent that nothing else declares is a dimension.
  void find_dims() {
    for (const ast::Param* tensor : tensors_) {
      for (const ast::ExpressionPtr& extent : tensor->extents) find_dims(*extent);
    }
  }

  void find_dims(const ast::Expression& node) {
    if (node.kind == ast::ExpressionKind::kName) {
      const bool is_new = facts_.places.emplace(node.text, node.range).second;
      DType ignored;
      if (is_new && parse_dtype(node.text, &ignored)) {
        fail(node.range, "`" + node.text + "` is an element type and cannot name a dimension");
      } else if (is_new) {
        signature().dims.push_back(node.text);
      }
      return;
    }
    for (const ast::ExpressionPtr& child : node.children) {
      if (child != nullptr) find_dims(*child);
    }
  }

  // Slots depend on how many tensors, dimensions and axes there are, so they come when all are known.
  void number_slots() {
    Signature& s = signature();
    for (size_t i = 0; i < tensors_.size(); ++i) s.tensors[i].extents.resize(tensors_[i]->extents.size());
    for (size_t i = 0; i < s.dims.size(); ++i) {
      const HostInt value = HostInt::slot(s.dims[i], s.dim_slot(static_cast<int>(i)), /*is_natural=*/true);
      facts_.dims[s.dims[i]] = names_[s.dims[i]] = value;
    }
    for (size_t i = 0; i < s.scalars.size(); ++i) {
      if (s.scalars[i].dtype != DType::kI64) continue;
      const HostInt value = HostInt::slot(s.scalars[i].name, s.scalar_slot(static_cast<int>(i)), /*is_natural=*/false);
      facts_.int_scalars[s.scalars[i].name] = names_[s.scalars[i].name] = value;
    }
    for (const ast::Param& param : kernel_.inputs) {  // a tunable changes no signature, so the head cannot read it
      if (param.kind != ast::Param::Kind::kConstexpr) continue;
      names_[param.name.text] = HostInt(facts_.constants[param.name.text]);
    }
  }

  void extents() {
    host_extents();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      for (size_t axis = 0; axis < facts_.extents[i].size(); ++axis) {
        signature().tensors[i].extents[axis] = facts_.extents[i][axis].to_expr();
      }
    }
  }

  void host_extents() {
    HostExpressions host(names_, &diagnostics_);
    facts_.extents.clear();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      std::vector<HostInt> list;
      for (size_t axis = 0; axis < tensors_[i]->extents.size(); ++axis) {
        const ast::Expression& node = *tensors_[i]->extents[axis];
        const std::optional<HostInt> extent = host.integer(node);
        if (extent && extent->constant().value_or(1) < 0) {
          fail(node.range, "extent " + extent->to_string() + " is negative");
        }
        list.push_back(extent.value_or(HostInt(1)));
      }
      facts_.extents.push_back(std::move(list));
    }
  }

  // A call binds a dimension from a tensor that has it as an extent by itself.
  void bare_dims() {
    for (const std::string& dim : signature().dims) {
      bool is_bare = false;
      for (const auto& list : facts_.extents) {
        is_bare =
            is_bare || std::any_of(list.begin(), list.end(), [&](const HostInt& e) { return e == facts_.dims[dim]; });
      }
      if (is_bare) continue;
      fail(facts_.places[dim], "dimension " + dim +
                                   " stands only inside expressions, so a call could not tell its value; "
                                   "make it the whole extent of some tensor, or an i64 parameter, "
                                   "or name the extent and compute from that");
    }
  }

  void aliases() {
    for (const ast::Param& output : kernel_.outputs) {
      if (output.alias.text.empty()) continue;
      const int input = signature().find_tensor(output.alias.text);
      const int self = signature().find_tensor(output.name.text);
      if (input < 0 || signature().tensors[static_cast<size_t>(input)].is_output) {
        fail(output.alias.range,
             "`" + output.alias.text + "` is no input tensor; an output can share the memory of an input only");
        continue;
      }
      if (self < 0) continue;
      const TensorParam& from = signature().tensors[static_cast<size_t>(input)];
      const TensorParam& to = signature().tensors[static_cast<size_t>(self)];
      if (from.dtype == to.dtype &&
          facts_.extents[static_cast<size_t>(input)] == facts_.extents[static_cast<size_t>(self)])
        continue;
      fail(output.alias.range, "output " + to.name + " cannot share the memory of " + from.name +
                                   ": both need the same element type and extents");
      diagnostics_.note(facts_.places[from.name], from.name + " is declared here");
    }
  }

  void unused_generics() {
    for (const ast::Generic& generic : kernel_.generics) {
      if (used_generics_.count(generic.name.text) != 0) continue;
      fail(generic.name.range,
           "generic " + generic.name.text + " is the type of no tensor, so a call could not tell it");
    }
  }

  void limits() {
    const Signature& s = signature();
    if (s.num_tensors() > kMaxTensors) {
      fail(kernel_.name.range, "kernel " + s.kernel + " has " + std::to_string(s.num_tensors()) +
                                   " tensors, the most is " + std::to_string(kMaxTensors));
    } else if (s.num_slots() > kMaxSlots) {
      fail(kernel_.name.range, "a call of kernel " + s.kernel + " would take " + std::to_string(s.num_slots()) +
                                   " slots for pointers, dimensions, strides and scalars, the most is " +
                                   std::to_string(kMaxSlots));
    }
  }

  void requirements() {
    HostExpressions host(names_, &diagnostics_);
    for (const ast::Requirement& requirement : kernel_.requirements) {
      const std::optional<Expr> condition = host.condition(*requirement.condition, &facts_.known_natural);
      if (!condition) continue;
      if (!validate(condition->view(), signature().num_slots()).is_ok()) {
        fail(requirement.condition->range,
             "this condition is too large to be evaluated at each call; split it at `and`");
        continue;
      }
      signature().requires_.push_back({*condition, requirement.text});
    }
  }

  // The signature is that of all values: only what the body sees of it has constants for specialised dimensions.
  void specialise() {
    for (const ast::Specialised& clause : kernel_.specialised) {
      const std::string& name = clause.name.text;
      const int dim = signature().find_dim(name);
      const auto is_same = [&](const SpecialisedValue& known) { return known.dim == dim; };
      if (dim < 0) {
        fail(clause.name.range, "`" + name + "` is no dimension of this kernel" + did_you_mean(name, signature().dims) +
                                    "; only those can be specialised");
      } else if (std::any_of(facts_.specialised.begin(), facts_.specialised.end(), is_same)) {
        fail(clause.name.range, "dimension " + name + " is specialised twice; list all its values at once");
      } else if (*std::min_element(clause.values.begin(), clause.values.end()) < 1) {
        fail(clause.name.range, "dimension " + name + " is specialised for " +
                                    std::to_string(*std::min_element(clause.values.begin(), clause.values.end())) +
                                    "; an extent to compile for is at least 1");
      } else {
        const int64_t value = constants_.at(name);
        facts_.specialised.push_back({dim, value});
        facts_.dims[name] = names_[name] = HostInt(value);
      }
    }
    if (facts_.specialised.empty()) return;
    host_extents();
    HostExpressions host(names_, &diagnostics_);
    facts_.known_natural.clear();
    for (const ast::Requirement& requirement : kernel_.requirements) {
      const std::optional<Expr> condition = host.condition(*requirement.condition, &facts_.known_natural);
      int64_t holds = 1;
      if (condition && condition->is_constant(&holds) && holds == 0) {
        std::string values;
        for (const SpecialisedValue& fixed : facts_.specialised) {
          values += (values.empty() ? "" : ", ") + signature().dims[static_cast<size_t>(fixed.dim)] + " = " +
                    std::to_string(fixed.value);
        }
        fail(requirement.condition->range, "never holds with " + values + ", which `specialize` lists");
      }
    }
  }

  const ast::Kernel& kernel_;
  const DTypeBinding& dtypes_;
  const ConstexprBinding& constants_;
  Diagnostics& diagnostics_;
  SignatureFacts facts_;
  std::vector<const ast::Param*> tensors_;
  std::map<std::string, HostInt> names_;
  std::set<std::string> used_generics_;
};

}  // namespace

std::vector<DTypeBinding> all_bindings(const ast::Kernel& kernel) {
  std::vector<DTypeBinding> bindings = {{}};
  for (const ast::Generic& generic : kernel.generics) {
    std::vector<DTypeBinding> longer;
    for (const DTypeBinding& binding : bindings) {
      for (const ast::Name& name : generic.dtypes) {
        DType dtype;
        if (!parse_dtype(name.text, &dtype)) continue;
        longer.push_back(binding);
        longer.back()[generic.name.text] = dtype;
      }
    }
    if (!longer.empty()) bindings = std::move(longer);
    if (bindings.size() > kMaxBindings) break;
  }
  return bindings;
}

std::optional<SignatureFacts> build_signature(const ast::Kernel& kernel, const DTypeBinding& dtypes,
                                              const ConstexprBinding& constants, Diagnostics* diagnostics) {
  return SignatureBuilder(kernel, dtypes, constants, diagnostics).run();
}

}  // namespace kaon::compiler
