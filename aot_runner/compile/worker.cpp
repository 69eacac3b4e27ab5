// The child's side of the compile pool: reads a job, then configs, and answers each.
#include <chrono>
#include <iostream>

#include "aot_runner/compile/messages.h"
#include "aot_runner/compile/pool.h"
#include "aot_runner/measure/protocol.h"
#include "compiler/compile.h"
#include "compiler/ir/parser.h"
#include "compiler/target/target.h"

namespace kaon::runner {
namespace {

void answer(const std::string& line) { std::cout << line << std::endl; }

CompileOutcome rejection(const Status& status) {
  CompileOutcome outcome;
  outcome.variant.code = status.code();
  outcome.variant.message = status.message();
  return outcome;
}

CompileOutcome compile_one(const compiler::Kernel& kernel, const compiler::Target& target, const CompileJob& job,
                           const std::string& line) {
  Result<Config> config = decode_config(line);
  if (!config.is_ok()) return rejection(config.status());
  compiler::CompileOptions options;
  options.ptxas = job.ptxas;
  options.checked = job.checked;
  options.child_timeout_s = job.child_timeout_s;
  Result<compiler::CompiledVariant> compiled = compiler::compile(kernel, *config, target, options);
  if (!compiled.is_ok()) return rejection(compiled.status());
  CompileOutcome outcome;
  outcome.variant.info = variant_to_json(compiled->info);
  outcome.variant.resources = resources_to_json(compiled->resources);
  outcome.image = std::move(compiled->image);
  return outcome;
}

}  // namespace

int run_compile_worker() {
  std::string line;
  if (!std::getline(std::cin, line)) return 0;
  Result<CompileJob> job = decode_job(line);
  if (!job.is_ok()) return answer(encode_outcome(rejection(job.status()))), 2;
  Result<compiler::Kernel> kernel = compiler::parse_kernel(job->logical_ir);
  if (!kernel.is_ok()) return answer(encode_outcome(rejection(kernel.status()))), 2;
  Result<compiler::Target> target = compiler::find_target(job->target);
  if (!target.is_ok()) return answer(encode_outcome(rejection(target.status()))), 2;
  answer(encode_ready());
  while (std::getline(std::cin, line)) {
    const auto start = std::chrono::steady_clock::now();
    CompileOutcome outcome = compile_one(*kernel, *target, *job, line);
    outcome.variant.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    answer(encode_outcome(outcome));
  }
  return 0;
}

}  // namespace kaon::runner
