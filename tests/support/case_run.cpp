// The loop over configs and calls.
#include "tests/support/case_run.h"

#include <algorithm>
#include <memory>

#include "compiler/passes/insert_checks.h"
#include "runtime/base/guards.h"
#include "tests/support/case_call.h"
#include "tests/support/case_configs.h"
#include "tests/support/case_indices.h"
#include "tests/support/case_shapes.h"

namespace kaon::compiler {
namespace {

constexpr int64_t kMostFailuresShown = 3;

uint64_t hash_text(const std::string& text, uint64_t hash) {
  for (char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

struct Prepared {
  Config config;
  bool must_accept = false;  // the generic config
  CompiledVariant variant;
  std::unique_ptr<LoadedVariant> loaded;
};

class KernelRun {
 public:
  KernelRun(const Kernel& kernel, const KernelCases& cases, const RunOptions& options, CaseDevice& device,
            const RunHooks& hooks)
      : kernel_(kernel),
        cases_(cases),
        options_(options),
        device_(device),
        hooks_(hooks),
        target_(*find_target(options.target)),
        space_(kernel, target_),
        seed_(hash_text(kernel.signature.kernel + " " + kernel.signature.dtype_key(),
                        options.seed * 0x9e3779b97f4a7c15u)) {
    compile_options_.ptxas = options.ptxas;
    compile_options_.checked = options.checked;
    if (options.checked) {
      checked_ = clone(kernel);
      if (const Status status = insert_checks(checked_, nullptr); !status) fail(status);
    }
    // Where many are compiled side by side for their own sake, a slow assembler is no failure.
    if (options.compile_only) compile_options_.child_timeout_s = 600;
  }

  RunReport run() {
    if (!options_.compile_only && !has_data_for_indices()) return report_;
    if (!find_shapes()) return report_;
    prepare_configs();
    report_.configs = static_cast<int64_t>(prepared_.size());
    if (options_.compile_only) return report_;
    for (const CaseId& id : calls()) {
      if (device_.is_lost()) break;
      run_call(id);
    }
    return report_;
  }

 private:
  const Kernel& compiled() const { return options_.checked ? checked_ : kernel_; }

  void fail(const CaseId& id, const std::string& config, const std::string& why) {
    if (++report_.failures > kMostFailuresShown) return;
    report_.text += hooks_.describe(id, config) + "\n    " + why + "\n";
  }
  void fail(const Status& status) {
    ++report_.failures;
    report_.text += hooks_.describe({}, "") + "\n    " + status.message() + "\n";
  }

  bool has_data_for_indices() {
    for (const std::string& name : inputs_that_index(kernel_)) {
      if (cases_.data.count(name) > 0) continue;
      fail(Status(Code::kInvalidArgument,
                  kernel_.signature.kernel + ": elements of " + name +
                      " index memory or bound a loop; say in a .cases file what they are, as in " + "`data " + name +
                      " = range(0, N)`"));
      return false;
    }
    return true;
  }

  bool find_shapes() {
    if (!options_.shape.empty()) return add_shapes(parse_shape_line(options_.shape));
    for (const ShapeLine& line : cases_.shapes) {
      if (line.is_large && !options_.large) continue;
      if (!add_shapes(line)) return false;
    }
    if (cases_.shapes.empty()) shapes_ = automatic_shapes(kernel_.signature, kernel_.guards, seed_);
    if (shapes_.empty()) fail(Status(Code::kInvalidArgument, kernel_.signature.kernel + ": no shape fits; write some"));
    return !shapes_.empty();
  }

  bool add_shapes(const Result<ShapeLine>& line) {
    if (!line) return fail(line.status()), false;
    const Result<std::vector<CaseShape>> expanded = expand_shape(*line);
    if (!expanded) return fail(expanded.status()), false;
    for (const CaseShape& shape : *expanded) {
      const Result<std::vector<int64_t>> slots = shape_slots(kernel_.signature, shape);
      if (!slots) return fail(slots.status()), false;
      // A specialised kernel is run for one value; other shapes are those of others.
      if (first_refusing(kernel_.signature, kernel_.guards, slots->data()) < 0) shapes_.push_back(shape);
    }
    return true;
  }

  /// Whether the guards of `config` accept one of the shapes with dense tensors.
  bool is_useful(const Config& config) const {
    const Result<CompiledVariant> variant =
        compile(compiled(), config, target_, compile_options_, EmitUntil::kStagedIr);
    if (!variant) return variant.status().code() != Code::kIllegalConfig;
    return std::any_of(shapes_.begin(), shapes_.end(), [&](const CaseShape& shape) {
      const Result<std::vector<int64_t>> slots = shape_slots(kernel_.signature, shape);
      return slots && first_refusing(kernel_.signature, variant->info.guards, slots->data()) < 0;
    });
  }

  void prepare_configs() {
    if (options_.has_config || !cases_.only_configs.empty()) {
      std::vector<std::string> texts = cases_.only_configs;
      if (options_.has_config) texts = {options_.config};
      for (const std::string& text : texts) prepare_text(text);
      return;
    }
    for (const std::string& text : cases_.configs) prepare_text(text);
    hooks_.begin("choosing configs");
    const auto useful = [&](const Config& config) { return is_useful(config); };
    for (const Config& config : case_configs(space_, cases_.random_configs, seed_, options_.max_warps, useful))
      prepare(config);
  }

  void prepare_text(const std::string& text) {
    const Result<Config> config = Config::from_text(text);
    if (!config) return fail({}, text, config.status().message());
    prepare(*config);
  }

  void prepare(const Config& config) {
    hooks_.begin("compiling: " + hooks_.describe({}, config.to_text()));
    Prepared prepared;
    prepared.config = config;
    // Rows that a loop carries have to be resident, and then have a capacity even in the generic config.
    prepared.must_accept =
        space_.normalize(config) == space_.generic_config() && config.to_text().find("resident(") == std::string::npos;
    Result<CompiledVariant> variant = compile(compiled(), config, target_, compile_options_);
    if (!variant) return fail({}, config.to_text(), variant.status().to_string());
    prepared.variant = *std::move(variant);
    Result<std::unique_ptr<LoadedVariant>> loaded = device_.load(prepared.variant);
    if (!loaded) return fail({}, config.to_text(), loaded.status().to_string());
    prepared.loaded = std::move(loaded).value();
    prepared_.push_back(std::move(prepared));
  }

  /// Every shape with every alternative of the data; each edge on one shape that has elements.
  std::vector<CaseId> calls() const {
    size_t alternatives = 1;
    for (const auto& [tensor, generators] : cases_.data) alternatives = std::max(alternatives, generators.size());
    std::vector<CaseId> all;
    const auto add = [&](const CaseShape& shape, const std::string& edge) {
      for (int data = 0; data < static_cast<int>(alternatives); ++data) {
        if (options_.data < 0 || options_.data == data) all.push_back({shape, edge, data});
      }
    };
    if (!options_.edge.empty()) {
      for (const CaseShape& shape : shapes_) add(shape, options_.edge);
      return all;
    }
    for (const CaseShape& shape : shapes_) add(shape, "plain");
    std::vector<const CaseShape*> full;
    for (const CaseShape& shape : shapes_) {
      if (has_elements(shape)) full.push_back(&shape);
    }
    for (const std::string& edge : cases_.has_edges ? cases_.edges : all_edges()) {
      if (edge == "inplace" && !can_be_in_place()) continue;
      if (!full.empty()) add(*full[hash_text(edge, seed_) % full.size()], edge);
    }
    return all;
  }

  bool has_elements(const CaseShape& shape) const {
    for (const auto& sizes : tensor_sizes(kernel_.signature, *shape_slots(kernel_.signature, shape))) {
      if (std::count(sizes.begin(), sizes.end(), 0) > 0) return false;
    }
    return true;
  }

  bool can_be_in_place() const {
    const auto& tensors = kernel_.signature.tensors;
    return std::any_of(tensors.begin(), tensors.end(), [](const TensorParam& t) { return !t.aliases.empty(); });
  }

  void run_call(const CaseId& id) {
    const uint64_t seed = hash_text(shape_text(id.shape) + id.edge + std::to_string(id.data), seed_);
    hooks_.begin("making the data of " + hooks_.describe(id, ""));
    Result<std::unique_ptr<CaseInputs>> inputs = CaseInputs::make(kernel_, cases_, id, seed);
    if (!inputs) return fail(id, "", inputs.status().message());
    for (const Prepared& prepared : prepared_) {
      if (device_.is_lost()) return;
      run_config(id, **inputs, prepared, seed);
    }
  }

  void run_config(const CaseId& id, CaseInputs& inputs, const Prepared& prepared, uint64_t seed) {
    const VariantInfo& info = prepared.variant.info;
    const std::string text = prepared.config.to_text();
    std::vector<CaseTensor> tensors = inputs.fresh();
    CaseCall call{prepared.loaded.get(), &info.plan, &kernel_.signature, inputs.slots(tensors), {}, seed};
    const std::string refusal = refusing_guard(kernel_.signature, info.guards, call.slots.data());
    if (!refusal.empty()) {
      ++report_.refused;
      if (prepared.must_accept) fail(id, text, "the generic config refuses the call: " + refusal);
      return;
    }
    hooks_.begin("interpreting " + hooks_.describe(id, text));
    const Result<const OracleResult*> expected = inputs.expected(info.config, options_.whole_limit);
    if (!expected && expected.status().code() == Code::kUnsupported) {
      ++report_.undecided;
      return;
    }
    if (!expected) return fail(id, text, "the oracle: " + expected.status().to_string());
    for (size_t i = 0; i < tensors.size(); ++i) call.tensors.push_back(&tensors[inputs.place(i)]);
    hooks_.begin(hooks_.describe(id, text));
    ++report_.calls;
    const Status ran = device_.run(call);
    if (!ran) return fail(id, text, ran.to_string());
    const std::string why = inputs.why_wrong(**expected, tensors, &report_.compared, &report_.unconstrained);
    if (!why.empty()) fail(id, text, why);
  }

  const Kernel& kernel_;
  const KernelCases& cases_;
  const RunOptions& options_;
  CaseDevice& device_;
  const RunHooks& hooks_;
  const Target target_;
  const ConfigSpace space_;
  const uint64_t seed_;
  CompileOptions compile_options_;
  Kernel checked_;  // kernel_ with its checks, for a run of checked programs
  std::vector<CaseShape> shapes_;
  std::vector<Prepared> prepared_;
  RunReport report_;
};

}  // namespace

RunReport run_kernel_cases(const Kernel& kernel, const KernelCases& cases, const RunOptions& options,
                           CaseDevice& device, const RunHooks& hooks) {
  return KernelRun(kernel, cases, options, device, hooks).run();
}

}  // namespace kaon::compiler
