// The front end's entry: a file is lexed, parsed, and each kernel checked under each of its dtype bindings.
#include <algorithm>
#include <memory>
#include <optional>

#include "compiler/frontend/ast.h"
#include "compiler/frontend/bodies.h"
#include "compiler/frontend/frontend.h"
#include "compiler/frontend/kernel_builder.h"
#include "compiler/frontend/lexer.h"
#include "compiler/frontend/parser.h"
#include "compiler/frontend/signature_builder.h"
#include "compiler/support/near_miss.h"
#include "compiler/support/sha256.h"

namespace kaon::compiler {
namespace {

/// An error or warning with its notes.
struct Report {
  Diagnostic head;
  std::vector<Diagnostic> notes;
  size_t binding = 0;   // first binding that has it
  size_t bindings = 1;  // how many bindings have it, word for word
};

std::string binding_text(const DTypeBinding& binding) {
  std::string text;
  for (const auto& [name, dtype] : binding) text += (text.empty() ? "" : ", ") + name + " = " + dtype_name(dtype);
  return text;
}

// One mistake is reported once, for the first binding that shows it, and says for which when the others do not show it.
void merge(const Diagnostics& from, size_t binding, std::vector<Report>* reports) {
  Report* current = nullptr;
  for (const Diagnostic& d : from.all()) {
    if (d.severity == Severity::kNote) {
      if (current != nullptr) current->notes.push_back(d);
      continue;
    }
    current = nullptr;
    auto same = std::find_if(reports->begin(), reports->end(), [&](const Report& r) {
      return r.head.range.begin == d.range.begin && r.head.range.end == d.range.end && r.head.severity == d.severity;
    });
    if (same == reports->end()) {
      reports->push_back({d, {}, binding, 1});
      current = &reports->back();
    } else if (same->head.message == d.message && same->binding + same->bindings == binding) {
      ++same->bindings;
    } else if (same->binding == binding) {
      reports->push_back({d, {}, binding, 1});  // two different mistakes at one place
      current = &reports->back();
    }
  }
}

void publish(const std::vector<Report>& reports, const ast::Kernel& kernel, const std::vector<DTypeBinding>& bindings,
             Diagnostics* out) {
  for (const Report& report : reports) {
    if (report.head.severity == Severity::kError) {
      out->error(report.head.range, report.head.message);
    } else {
      out->warning(report.head.range, report.head.message);
    }
    for (const Diagnostic& note : report.notes) out->note(note.range, note.message);
    if (report.bindings == bindings.size() || bindings[report.binding].empty()) continue;
    out->note(kernel.generics.front().name.range, "with " + binding_text(bindings[report.binding]));
  }
}

/// Adds what `from` reports and `to` does not yet, with a note which body it is about unless `body` is empty.
void append_new(const Diagnostics& from, const std::string& body, SourceRange kernel, Diagnostics* to) {
  bool is_new = false;
  const std::vector<Diagnostic> known = to->all();
  auto finish = [&] {
    if (is_new && !body.empty()) to->note(kernel, "with " + body);
  };
  for (const Diagnostic& d : from.all()) {
    if (d.severity == Severity::kNote) {
      if (is_new) to->note(d.range, d.message);
      continue;
    }
    finish();
    is_new = std::none_of(known.begin(), known.end(), [&](const Diagnostic& k) {
      return k.severity == d.severity && k.range.begin == d.range.begin && k.message == d.message;
    });
    if (!is_new) continue;
    d.severity == Severity::kError ? to->error(d.range, d.message) : to->warning(d.range, d.message);
  }
  finish();
}

template <typename Declaration>
void check_unique(const std::vector<Declaration>& declarations, const char* what, Diagnostics* diagnostics) {
  for (size_t i = 0; i < declarations.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (declarations[i].name.text != declarations[k].name.text) continue;
      diagnostics->error(declarations[i].name.range,
                         std::string(what) + " " + declarations[i].name.text + " is declared twice");
      diagnostics->note(declarations[k].name.range, "declared here first");
      break;
    }
  }
}

void check_functions(const ast::File& file, Diagnostics* diagnostics) {
  for (const ast::Function& function : file.functions) {
    DType ignored;
    if (parse_dtype(function.name.text, &ignored)) {
      diagnostics->error(function.name.range,
                         "`" + function.name.text + "` is an element type and cannot name a function");
    }
    for (size_t i = 0; i < function.params.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (function.params[i].text != function.params[k].text) continue;
        diagnostics->error(function.params[i].range, "parameter " + function.params[i].text + " is declared twice");
        diagnostics->note(function.params[k].range, "declared here first");
      }
    }
  }
}

Status build_body(const ast::File& file, const ast::Kernel& kernel, const DTypeBinding& binding,
                  ConstexprBinding constants, const Body& body, Diagnostics* diagnostics, std::optional<Kernel>* out) {
  constants.insert(body.constants.begin(), body.constants.end());
  std::optional<SignatureFacts> facts = build_signature(kernel, binding, constants, diagnostics);
  if (!facts) return Status::ok();
  Result<Kernel> result = KernelBuilder(file, kernel, binding, std::move(*facts), diagnostics).run(*body.statements);
  if (!result) return result.status();
  *out = std::move(result).value();
  return Status::ok();
}

/// The kernel with all its bodies. A message that a later body gives and an earlier one gave too is left out.
Status build(const SourceFile& source, const ast::File& file, const ast::Kernel& kernel, const DTypeBinding& binding,
             const ConstexprBinding& constants, Diagnostics* diagnostics, std::optional<Kernel>* out) {
  auto choices = std::make_shared<KernelChoices>();
  choices->knobs = choices_of(kernel, constants);
  const std::vector<Body> bodies = all_bodies(kernel, constants);
  for (const Body& body : bodies) {
    Diagnostics local(source);
    std::optional<Kernel> built;
    KAON_RETURN_IF_ERROR(build_body(file, kernel, binding, constants, body, &local, &built));
    append_new(local, &body == &bodies[0] ? "" : body.text, kernel.name.range, diagnostics);
    if (built) choices->bodies.push_back(std::move(*built));
  }
  if (diagnostics->has_errors() || choices->bodies.empty()) return Status::ok();
  if (choices->knobs.empty()) {
    *out = std::move(choices->bodies[0]);
  } else {
    *out = clone(choices->bodies[0]);
    (*out)->choices = std::move(choices);
  }
  return Status::ok();
}

void check_kernel(const SourceFile& source, const ast::File& file, const ast::Kernel& kernel,
                  const std::vector<DTypeBinding>& bindings, Diagnostics* diagnostics) {
  std::vector<Report> reports;
  for (size_t i = 0; i < bindings.size(); ++i) {
    Diagnostics local(source);
    std::optional<Kernel> ignored;
    const Status status = build(source, file, kernel, bindings[i], {}, &local, &ignored);
    if (!status)
      local.error(kernel.name.range, "internal: " + status.message() + "; this is a bug of Kaon, please report it");
    merge(local, i, &reports);
  }
  publish(reports, kernel, bindings, diagnostics);
}

Status check_constants(const KernelInfo& info, const ConstexprBinding& constants) {
  for (const auto& [name, value] : constants) {
    const auto dim = std::find_if(info.specialised.begin(), info.specialised.end(),
                                  [&, &wanted = name](const SpecialisedDim& d) { return d.name == wanted; });
    if (dim != info.specialised.end()) {
      if (std::find(dim->values.begin(), dim->values.end(), value) != dim->values.end()) continue;
      std::string values;
      for (int64_t known : dim->values) values += (values.empty() ? "" : ", ") + std::to_string(known);
      return Status(Code::kValueNotCompiled, "kernel " + info.name + " is compiled for " + name + " in (" + values +
                                                 "), got " + std::to_string(value) +
                                                 "; add the value to its `specialize`");
    }
    const std::vector<std::string>& known = info.constexpr_params;
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    return Status(Code::kInvalidArgument, "kernel " + info.name +
                                              " has no constexpr parameter or specialised dimension " + name +
                                              did_you_mean(name, known));
  }
  return Status::ok();
}

std::string names_text(const std::vector<KernelInfo>& kernels) {
  std::string text;
  for (const KernelInfo& kernel : kernels) text += (text.empty() ? "" : ", ") + kernel.name;
  return text;
}

}  // namespace

std::vector<ConstexprBinding> KernelInfo::specialisations() const {
  std::vector<ConstexprBinding> all(1);
  for (const SpecialisedDim& dim : specialised) {
    std::vector<ConstexprBinding> longer;
    for (const ConstexprBinding& binding : all) {
      for (int64_t value : dim.values) {
        longer.push_back(binding);
        longer.back()[dim.name] = value;
      }
    }
    all = std::move(longer);
  }
  return all;
}

struct Program::Impl {
  SourceFile source;
  std::vector<ast::Token> tokens;
  ast::File file;
  std::vector<KernelInfo> kernels;
};

Program::Program(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Program::~Program() = default;

std::unique_ptr<Program> Program::create(const SourceFile& file, Diagnostics* diagnostics) {
  auto impl = std::make_unique<Impl>(Impl{file, {}, {}, {}});
  impl->tokens = ast::lex(impl->source, diagnostics);
  impl->file = ast::parse(impl->source, impl->tokens, diagnostics);
  if (diagnostics->has_errors()) return nullptr;
  if (impl->file.kernels.empty()) {
    diagnostics->error({}, "the file has no kernel");
    return nullptr;
  }
  check_unique(impl->file.kernels, "kernel", diagnostics);
  check_unique(impl->file.functions, "function", diagnostics);
  check_functions(impl->file, diagnostics);
  for (const ast::Kernel& kernel : impl->file.kernels) {
    KernelInfo info{kernel.name.text, all_bindings(kernel), {}, {}, kernel.range};
    for (const ast::Specialised& dim : kernel.specialised) info.specialised.push_back({dim.name.text, dim.values});
    for (const ast::Param& param : kernel.inputs) {
      if (param.kind == ast::Param::Kind::kConstexpr) info.constexpr_params.push_back(param.name.text);
    }
    if (info.bindings.size() > kMaxBindings) {
      diagnostics->error(kernel.generics.front().name.range,
                         "the generics allow " + std::to_string(info.bindings.size()) +
                             " combinations or more, the most is " + std::to_string(kMaxBindings));
    } else if (num_bodies(kernel) > kMaxBodies) {
      diagnostics->error(kernel.name.range, "specialised dimensions, tunables and impls make more than " +
                                                std::to_string(kMaxBodies) +
                                                " bodies; each is built and searched, so list fewer values");
    } else {
      check_kernel(impl->source, impl->file, kernel, info.bindings, diagnostics);
    }
    impl->kernels.push_back(std::move(info));
  }
  if (diagnostics->has_errors()) return nullptr;
  return std::unique_ptr<Program>(new Program(std::move(impl)));
}

const std::vector<KernelInfo>& Program::kernels() const { return impl_->kernels; }

Result<Kernel> Program::instantiate(const std::string& name, const DTypeBinding& dtypes,
                                    const ConstexprBinding& constants) const {
  for (size_t i = 0; i < impl_->kernels.size(); ++i) {
    const KernelInfo& info = impl_->kernels[i];
    if (info.name != name) continue;
    if (std::find(info.bindings.begin(), info.bindings.end(), dtypes) == info.bindings.end()) {
      std::string allowed;
      for (const DTypeBinding& binding : info.bindings)
        allowed += (allowed.empty() ? "" : " | ") + binding_text(binding);
      return Status(Code::kInvalidArgument,
                    "kernel " + name + " is not declared for " +
                        (dtypes.empty() ? "no binding of its types" : binding_text(dtypes)) +
                        ", expected one of: " + (allowed.empty() ? "no binding, it has no generics" : allowed));
    }
    KAON_RETURN_IF_ERROR(check_constants(info, constants));
    Diagnostics diagnostics(impl_->source);
    std::optional<Kernel> kernel;
    KAON_RETURN_IF_ERROR(
        build(impl_->source, impl_->file, impl_->file.kernels[i], dtypes, constants, &diagnostics, &kernel));
    if (diagnostics.has_errors() || !kernel) return Status(Code::kCompile, diagnostics.render());
    return std::move(*kernel);
  }
  return Status(Code::kNotFound,
                "no kernel " + name + " in " + impl_->source.name() + ", which has: " + names_text(impl_->kernels));
}

std::string Program::source_hash() const {
  // One token a line: blank space and comments are gone, and no two tokens can run together.
  std::string text;
  for (const ast::Token& token : impl_->tokens) {
    text += token.text;
    text += '\n';
  }
  return sha256_hex(text);
}

std::string Program::dump_ast() const { return ast::dump(impl_->file); }

}  // namespace kaon::compiler
