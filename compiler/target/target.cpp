#include "compiler/target/target.h"

namespace kaon::compiler {
namespace {

std::vector<Target> make_targets() {
  std::vector<Target> targets;
#define KAON_TARGET(name, sm, cpu, ptx, arch, shared, threads, cp_async, cluster)                                     \
  targets.push_back({name, /*is_host=*/false, sm, cpu, ptx, arch, shared, 65536, 255, 1024, threads, (cp_async) != 0, \
                     (cluster) != 0});
#include "compiler/target/targets.inc"
#undef KAON_TARGET
  Target host;
  host.name = "host";
  host.is_host = true;
  host.max_shared_bytes = 232448;
  targets.push_back(host);
  return targets;
}

}  // namespace

const std::vector<Target>& all_targets() {
  static const std::vector<Target> targets = make_targets();
  return targets;
}

Result<Target> find_target(const std::string& name) {
  std::string known;
  for (const Target& target : all_targets()) {
    if (target.name == name) return target;
    known += (known.empty() ? "" : ", ") + target.name;
  }
  return Status(Code::kInvalidArgument, "unknown target '" + name + "', expected one of: " + known);
}

}  // namespace kaon::compiler
