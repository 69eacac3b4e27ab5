#include "aot_runner/tune/kernel_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "aot_runner/tune/files.h"
#include "aot_runner/tune/row_fit.h"
#include "compiler/ir/choices.h"
#include "compiler/passes/insert_checks.h"

namespace kaon::runner {
namespace {

constexpr const char* kCheckedSuffix = "-checked";

}  // namespace

Result<std::unique_ptr<KernelSource>> KernelSource::open(const std::string& path, bool checked) {
  KAON_ASSIGN_OR_RETURN(std::string text, read_file(path));
  auto source = std::make_unique<KernelSource>();
  source->path_ = path;
  source->checked_ = checked;
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
  std::vector<compiler::DTypeBinding> bindings = kernel.bindings;
  if (bindings.empty()) bindings.emplace_back();
  for (const compiler::DTypeBinding& binding : bindings) {
    for (compiler::ConstexprBinding values : kernel.specialisations()) {
      const bool differs = std::any_of(values.begin(), values.end(), [&](const auto& value) {
        const auto given = constants.find(value.first);
        return given != constants.end() && given->second != value.second;
      });
      if (differs) continue;
      BoundKernel bound;
      for (const auto& [name, value] : values) bound.title += fmt::format(" {}={}", name, value);
      values.insert(constants.begin(), constants.end());
      KAON_ASSIGN_OR_RETURN(bound.logical, program_->instantiate(kernel.name, binding, values));
      if (checked_) KAON_RETURN_IF_ERROR(compiler::insert_checks(bound.logical, file_.get()));
      bound.dtypes = bound.logical.signature.dtype_key();
      bound.title = bound.dtypes + bound.title;
      if (bound.dtypes.empty() && !bound.title.empty()) bound.title.erase(0, 1);
      bound.constants = std::move(values);
      bound.logical_ir = compiler::print_bodies(bound.logical);
      all.push_back(std::move(bound));
    }
  }
  // A value that `specialize` does not list: the front end says so.
  if (all.empty()) return program_->instantiate(kernel.name, bindings[0], constants).status();
  if (dtypes.empty()) return all;
  std::vector<std::string> keys;
  for (const BoundKernel& bound : all) {
    if (std::find(keys.begin(), keys.end(), bound.dtypes) == keys.end()) keys.push_back(bound.dtypes);
  }
  std::vector<BoundKernel> chosen;
  std::set<std::string> known;
  for (const std::string& wanted : dtypes) {
    if (std::find(keys.begin(), keys.end(), wanted) == keys.end()) {
      return Status(Code::kInvalidArgument, fmt::format("kernel {} has no dtypes '{}'; it allows {}", kernel.name,
                                                        wanted, fmt::join(keys, " | ")));
    }
    if (!known.insert(wanted).second) continue;
    for (BoundKernel& bound : all) {
      if (bound.dtypes == wanted) chosen.push_back(std::move(bound));
    }
  }
  return chosen;
}

bool BoundKernel::takes(const Shape& shape) const {
  for (const auto& [name, value] : constants) {
    const int dim = logical.signature.find_dim(name);
    if (dim >= 0 && shape[static_cast<size_t>(dim)] != value) return false;
  }
  return true;
}

std::string KernelSource::source_hash() const { return program_->source_hash() + (checked_ ? kCheckedSuffix : ""); }

bool is_checked_hash(const std::string& source_hash) { return source_hash.ends_with(kCheckedSuffix); }

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
