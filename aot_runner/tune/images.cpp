#include "aot_runner/tune/images.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "aot_runner/tune/child.h"
#include "aot_runner/tune/files.h"
#include "compiler/target/target.h"

namespace kaon::runner {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostImageBytes = 370'000;  // of a pack whose images are not all the device's own

/// fatbinary lies beside ptxas in every toolkit.
std::string find_fatbinary(const std::string& ptxas) {
  const std::string path = (fs::path(ptxas).parent_path() / "fatbinary").string();
  return !ptxas.empty() && ::access(path.c_str(), X_OK) == 0 ? path : std::string();
}

/// Whether fatbinary made `out` of `in`.
bool run_fatbinary(std::vector<std::string> argv, const compiler::Target& target, const std::string& in,
                   const std::string& out) {
  argv.insert(argv.end(), {"--compress-all", "--create=" + out,
                           fmt::format("--image3=kind=elf,sm={},file={}", target.sm, in), "-64"});
  Child child;
  if (!child.start(argv).is_ok()) return false;
  while (child.receive(60).is_ok()) {
  }
  return child.reap() == "exit status 0";
}

/// The cubin as a compressed fat binary, or unchanged when the tool is missing or refuses.
heuristics::VariantImage pack_cubin(const std::string& fatbinary, const compiler::Target& target,
                                    const std::string& cubin, ImageTrust trust) {
  heuristics::VariantImage plain{target.name, ImageKind::kCubin, trust, cubin};
  if (fatbinary.empty()) return plain;
  char pattern[] = "/tmp/kaon_fat_XXXXXX";
  const char* folder = ::mkdtemp(pattern);
  if (folder == nullptr) return plain;
  const std::string in = fmt::format("{}/image.cubin", folder);
  const std::string out = fmt::format("{}/image.fatbin", folder);
  // Toolkits before 12.9 know one way to compress only.
  const bool made =
      write_file(in, cubin).is_ok() && (run_fatbinary({fatbinary, "--compress-mode=size"}, target, in, out) ||
                                        run_fatbinary({fatbinary}, target, in, out));
  Result<std::string> bytes = read_file(out);
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!made || !bytes.is_ok() || bytes->empty() || bytes->size() >= cubin.size()) return plain;
  return {target.name, ImageKind::kFatbin, trust, std::move(bytes).value()};
}

heuristics::VariantImage pack_image(const std::string& fatbinary, const compiler::Target& target,
                                    const std::string& bytes, ImageTrust trust) {
  if (target.is_host) return {target.name, ImageKind::kHostElf, trust, bytes};
  return pack_cubin(fatbinary, target, bytes, trust);
}

/// Compiles for a target that is not here, through the store like any other compile.
Status add_cross_images(Session* session, const compiler::Target& target, const BoundKernel& binding,
                        const std::vector<Config>& configs, const std::string& fatbinary,
                        std::map<Config, std::vector<heuristics::VariantImage>>* out) {
  CompileKey key = session->compile_key(binding);
  key.target = target.name;
  key.ptxas = target.is_host ? std::string() : session->ptxas_version;
  KAON_ASSIGN_OR_RETURN(const int64_t context, session->store->context(compile_context(key)));
  std::vector<Config> missing;
  for (const Config& config : configs) {
    KAON_ASSIGN_OR_RETURN(const auto known, session->store->find_variant(context, config));
    if (!known.has_value()) missing.push_back(config);
  }
  CompilePool pool({binding.logical_ir, target.name, session->ptxas, session->options.checked},
                   {.jobs = session->options.jobs});
  KAON_RETURN_IF_ERROR(pool.compile(missing, [&](CompileOutcome outcome) {
    return session->store->put_variant(context, outcome.variant, outcome.image);
  }));
  for (const Config& config : configs) {
    KAON_ASSIGN_OR_RETURN(const auto known, session->store->find_variant(context, config));
    if (!known.has_value() || known->code != Code::kOk) {
      session->progress->line(fmt::format("{} {} has no image for {}: {}", binding.title, config.to_text(), target.name,
                                          known.has_value() ? known->message : "it was not compiled"));
      continue;
    }
    KAON_ASSIGN_OR_RETURN(const std::string bytes, session->store->image(known->image_hash));
    (*out)[config].push_back(pack_image(fatbinary, target, bytes, ImageTrust::kCrossCompiled));
  }
  return Status::ok();
}

Status not_stored(const Session& session, const Config& config) {
  return Status(Code::kNotFound,
                fmt::format("a kept variant is not in the store {}: {}; set KAON_CACHE_DIR to the store of "
                            "the run that measured it, or run `aot_runner tune`",
                            session.store->path(), config.to_text()));
}

size_t image_bytes(const VariantImages& images) {
  size_t bytes = 0;
  for (const auto& of_binding : images) {
    for (const auto& [config, of_variant] : of_binding) {
      for (const heuristics::VariantImage& image : of_variant) bytes += image.bytes.size();
    }
  }
  return bytes;
}

/// Drops cross-compiled images, those of the least useful variants first, while there are too many bytes. The generic
/// variants, which are the last of `kept`, keep theirs: they serve what nothing else does.
int drop_cross_images(const std::vector<std::vector<Config>>& kept, VariantImages* images) {
  size_t most = 0;
  for (const auto& configs : kept) most = std::max(most, configs.size());
  int dropped = 0;
  for (size_t rank = most; rank-- > 0;) {
    for (size_t b = 0; b < kept.size() && image_bytes(*images) > kMostImageBytes; ++b) {
      if (rank + 1 >= kept[b].size()) continue;
      dropped +=
          static_cast<int>(std::erase_if(images->at(b).at(kept[b][rank]), [](const heuristics::VariantImage& image) {
            return image.trust == ImageTrust::kCrossCompiled;
          }));
    }
  }
  return dropped;
}

}  // namespace

Result<VariantImages> gather_variant_images(Session* session, const std::vector<std::vector<Config>>& kept) {
  const std::string fatbinary = find_fatbinary(session->ptxas);
  VariantImages images(session->bindings.size());
  for (size_t b = 0; b < session->bindings.size(); ++b) {
    const BoundKernel& binding = session->bindings[b];
    KAON_ASSIGN_OR_RETURN(const int64_t context,
                          session->store->context(compile_context(session->compile_key(binding))));
    for (const Config& config : kept[b]) {
      KAON_ASSIGN_OR_RETURN(const auto variant, session->store->find_variant(context, config));
      if (!variant.has_value()) return not_stored(*session, config);
      KAON_ASSIGN_OR_RETURN(const std::string bytes, session->store->image(variant->image_hash));
      images[b][config].push_back(pack_image(fatbinary, session->target, bytes, ImageTrust::kMeasured));
    }
    for (const std::string& name : session->options.targets) {
      if (name == session->target.name) continue;
      KAON_ASSIGN_OR_RETURN(const compiler::Target target, compiler::find_target(name));
      KAON_RETURN_IF_ERROR(add_cross_images(session, target, binding, kept[b], fatbinary, &images[b]));
    }
  }
  if (const int dropped = drop_cross_images(kept, &images); dropped > 0) {
    session->progress->line(
        fmt::format("{} images of further targets were left out: with them the pack would have more "
                    "than {} KB of images",
                    dropped, kMostImageBytes / 1000));
  }
  return images;
}

}  // namespace kaon::runner
