#include "aot_runner/tune/kernel_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "aot_runner/tune/files.h"
#include "aot_runner/tune/row_fit.h"
#include "compiler/ir/choices.h"

namespace kaon::runner {

Result<std::unique_ptr<KernelSource>> KernelSource::open(const std::string& path) {
  KAON_ASSIGN_OR_RETURN(std::string text, read_file(path));
  auto source = std::make_unique<KernelSource>();
  source->path_ = path;
  source->file_ = std::make_unique<compiler::SourceFile>(path, std::move(text));
  compiler::Diagnostics diagnostics(*source->file_);
  source->program_ = compiler::Program::create(*source->file_, &diagnostics);
  if (source->program_ == nullptr) return Status(Code::kCompile, diagnostics.render());
  if (!diagnostics.all().empty()) source->warnings_ = diagnostics.render();
  return source;
}

Result<const compiler::KernelInfo*> KernelSource::find(const std::string& kernel) const {
  const std::vector<compiler::KernelInfo>& kernels = program_->kernels();
  std::vector<std::string> names;
  for (const compiler::KernelInfo& info : kernels) {
    if (info.name == kernel || (kernel.empty() && kernels.size() == 1)) return &info;
    names.push_back(info.name);
  }
  if (names.empty()) return Status(Code::kNotFound, fmt::format("{} defines no kernel", path_));
  if (kernel.empty()) {
    return Status(Code::kNotFound,
                  fmt::format("{} defines several kernels; name one with --kernel: {}", path_, fmt::join(names, ", ")));
  }
  return Status(Code::kNotFound,
                fmt::format("{} has no kernel '{}'; it defines {}", path_, kernel, fmt::join(names, ", ")));
}

Result<std::vector<BoundKernel>> KernelSource::bind(const compiler::KernelInfo& kernel,
                                                    const std::vector<std::string>& dtypes,
                                                    const std::map<std::string, int64_t>& constants) const {
  std::vector<BoundKernel> all;
  if (!kernel.specialised.empty()) {
    return Status(Code::kUnsupported, fmt::format("kernel {} has `specialize {}`, which is not tuned yet; write a "
                                                  "kernel for each value, or a constexpr",
                                                  kernel.name, kernel.specialised[0].name));
  }
  std::vector<compiler::DTypeBinding> bindings = kernel.bindings;
  if (bindings.empty()) bindings.emplace_back();
  for (const compiler::DTypeBinding& binding : bindings) {
    KAON_ASSIGN_OR_RETURN(compiler::Kernel logical, program_->instantiate(kernel.name, binding, constants));
    std::string key = logical.signature.dtype_key();
    std::string text = compiler::print_bodies(logical);
    all.push_back({std::move(key), std::move(logical), std::move(text)});
  }
  if (dtypes.empty()) return all;
  std::vector<std::string> keys;
  for (const BoundKernel& bound : all) keys.push_back(bound.dtypes);
  std::vector<BoundKernel> chosen;
  for (const std::string& wanted : dtypes) {
    const auto it = std::find_if(all.begin(), all.end(), [&](const BoundKernel& b) { return b.dtypes == wanted; });
    if (it == all.end()) {
      return Status(Code::kInvalidArgument, fmt::format("kernel {} has no dtypes '{}'; it allows {}", kernel.name,
                                                        wanted, fmt::join(keys, " | ")));
    }
    const bool known =
        std::any_of(chosen.begin(), chosen.end(), [&](const BoundKernel& b) { return b.dtypes == wanted; });
    if (!known) chosen.push_back({it->dtypes, compiler::clone(it->logical), it->logical_ir});
  }
  return chosen;
}

std::string KernelSource::source_hash() const { return program_->source_hash(); }

SearchSpace search_space(const compiler::Kernel& logical, const compiler::ConfigSpace& space) {
  SearchSpace view;
  for (const compiler::Knob& knob : space.knobs()) view.knobs.push_back({knob.name, knob.choices});
  view.default_config = space.default_config();
  view.generic_config = space.generic_config();
  view.normalize = [&space](const Config& config) { return space.normalize(config); };
  view.why_illegal = [&space](const Config& config) { return space.why_illegal(config); };
  view.enumerate = [&space](size_t limit) { return space.enumerate(limit); };
  const auto fit = std::make_shared<RowFit>(logical, space);
  view.fill = [fit](const Config& config, const Shape& shape) { return fit->fill(config, shape); };
  view.kind = [fit](const Shape& shape) { return fit->kind(shape); };
  return view;
}

}  // namespace kaon::runner
