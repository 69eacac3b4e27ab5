// Opens a file, chooses a kernel and binds its generics and constants.
#include "compiler/tools/input.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "compiler/ir/parser.h"
#include "compiler/ir/verifier.h"
#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

bool ends_with(const std::string& text, const std::string& suffix) {
  return text.size() >= suffix.size() && text.compare(text.size() - suffix.size(), suffix.size(), suffix) == 0;
}

std::string binding_text(const DTypeBinding& binding) {
  std::string text;
  for (const auto& [name, dtype] : binding) text += (text.empty() ? "" : ",") + name + "=" + dtype_name(dtype);
  return text;
}

/// "name=value" of an option.
bool split_pair(const std::string& text, std::string* name, std::string* value) {
  const size_t equal = text.find('=');
  if (equal == std::string::npos || equal == 0 || equal + 1 == text.size()) return false;
  *name = text.substr(0, equal);
  *value = text.substr(equal + 1);
  return true;
}

}  // namespace

Result<std::string> read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file || file.bad()) return Status(Code::kIo, "cannot read " + path + ": " + std::strerror(errno));
  return text.str();
}

Outcome Input::open(const InputOptions& options, std::unique_ptr<Input>* out) {
  auto input = std::make_unique<Input>();
  input->options_ = options;
  Result<std::string> text = read_text(options.path);
  if (!text) return Outcome::failed(text.status());
  if (ends_with(options.path, ".tir")) {
    Result<Kernel> kernel = parse_kernel(*text);
    if (!kernel) return Outcome::user_error(options.path + ":" + kernel.status().message());
    const Status valid = verify(*kernel);
    if (!valid) return Outcome::user_error(options.path + ": " + valid.message());
    input->ir_ = std::make_unique<Kernel>(std::move(*kernel));
    *out = std::move(input);
    return {};
  }
  const SourceFile file(options.path, *text);
  Diagnostics diagnostics(file);
  input->program_ = Program::create(file, &diagnostics);
  Outcome outcome;
  outcome.message = diagnostics.render();
  if (input->program_ == nullptr) {
    outcome.exit_code = kExitUserError;
    return outcome;
  }
  *out = std::move(input);
  return outcome;
}

Outcome Input::bind(const KernelInfo& info, bool all_bindings, std::vector<DTypeBinding>* out) const {
  DTypeBinding wanted;
  for (const std::string& pair : options_.dtypes) {
    std::string name, value;
    DType dtype;
    if (!split_pair(pair, &name, &value))
      return Outcome::usage("--dtype takes NAME=TYPE such as T=f16, got '" + pair + "'");
    if (!parse_dtype(value, &dtype)) return Outcome::usage("--dtype " + pair + ": no element type '" + value + "'");
    wanted[name] = dtype;
  }
  std::string allowed;
  for (const DTypeBinding& binding : info.bindings) {
    allowed += (allowed.empty() ? "" : " | ") + binding_text(binding);
    bool matches = true;
    for (const auto& [name, dtype] : wanted) {
      auto found = binding.find(name);
      matches = matches && found != binding.end() && found->second == dtype;
    }
    if (matches && (all_bindings || out->empty())) out->push_back(binding);
  }
  if (!out->empty()) return {};
  return Outcome::user_error("kernel " + info.name + " is not declared for " + binding_text(wanted) + "; it is for " +
                             (allowed.empty() ? "no generics" : allowed));
}

Outcome Input::kernel(std::vector<BoundKernel>* out, bool all_bindings) const {
  if (is_ir()) {
    out->push_back({clone(*ir_), ir_->signature.dtype_key()});
    return {};
  }
  std::vector<std::string> names;
  std::string list;
  const KernelInfo* found = nullptr;
  for (const KernelInfo& info : program_->kernels()) {
    names.push_back(info.name);
    list += (list.empty() ? "" : ", ") + info.name;
    if (info.name == options_.kernel || options_.kernel.empty()) found = &info;
  }
  if (options_.kernel.empty() && names.size() > 1) {
    return Outcome::usage(options_.path + " has several kernels; choose with --kernel: " + list);
  }
  if (found == nullptr) {
    return Outcome::user_error("no kernel " + options_.kernel + " in " + options_.path +
                               did_you_mean(options_.kernel, names) + "; it has " + list);
  }
  ConstexprBinding constants;
  for (const std::string& pair : options_.constants) {
    std::string name, value;
    char* end = nullptr;
    if (!split_pair(pair, &name, &value)) return Outcome::usage("--const takes NAME=INTEGER, got '" + pair + "'");
    constants[name] = std::strtoll(value.c_str(), &end, 10);
    if (*end != '\0') return Outcome::usage("--const " + pair + ": '" + value + "' is no integer");
  }
  std::vector<DTypeBinding> bindings;
  Outcome outcome = bind(*found, all_bindings, &bindings);
  if (outcome.exit_code != kExitOk) return outcome;
  for (const DTypeBinding& binding : bindings) {
    Result<Kernel> kernel = program_->instantiate(found->name, binding, constants);
    if (!kernel)
      return kernel.status().code() == Code::kCompile ? Outcome{kExitUserError, {}, kernel.status().message()}
                                                      : Outcome::failed(kernel.status());
    const Status valid = verify(*kernel);
    if (!valid) return Outcome::failed(valid);
    out->push_back({std::move(*kernel), binding_text(binding)});
  }
  return {};
}

}  // namespace kaon::compiler
