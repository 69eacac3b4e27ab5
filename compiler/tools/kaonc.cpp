// kaonc: from a .tile file to any stage of the compiler, for people and tests.
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <fstream>

#include "compiler/frontend/frontend.h"
#include "compiler/support/expected_diagnostics.h"
#include "compiler/tools/emit.h"
#include "compiler/tools/input.h"

namespace kaon::compiler {
namespace {

struct Options {
  InputOptions input;
  EmitOptions emit;
  std::string output;
  bool verify_diagnostics = false;
};

constexpr const char* kIntroduction =
    "Compiles kernels of the tile language (compiler/LANGUAGE.md) and shows any stage on the way.\n"
    "\n"
    "  kaonc softmax.tile                                     logical IR of the kernel, generics at their first type\n"
    "  kaonc softmax.tile --list-knobs                        what can be tuned, and its legal values\n"
    "  kaonc softmax.tile --emit=ptx --dtype T=f16 --config block.m=4 num_warps=8\n"
    "  kaonc softmax.tile --emit=resources                    registers, spills and shared memory of many configs\n"
    "  kaonc softmax.tile --emit=staged --print-after=all     the IR after each pass\n"
    "  kaonc softmax.tir --run-pass=map_grid                  one pass on textual IR\n";

void add_options(CLI::App* app, Options* o) {
  app->add_option("file", o->input.path, "a .tile file, or textual IR (.tir) as --emit=ir writes it");
  app->add_option("--kernel", o->input.kernel, "kernel to work on, where the file has several");
  app->add_option("--dtype", o->input.dtypes, "type of a generic, T=f16; others take the first type of their list");
  app->add_option("--const", o->input.constants,
                  "value of a constexpr parameter, W=4, or of a specialised dimension; others take their default");
  app->add_option("--target", o->emit.target, "chip to compile for: sm_80, sm_90, ..., or host (the CPU)")
      ->capture_default_str();
  app->add_option("--config", o->emit.config, "knobs, as in block.m=4 num_warps=8; others take their default");
  app->add_option("--emit", o->emit.stage, "what to write: ast, ir, laid-out, staged, llvm, ptx, cubin, resources")
      ->capture_default_str();
  app->add_option("-o,--output", o->output, "file to write instead of standard output");
  app->add_flag("--checked", o->emit.checked, "asserts and indices out of range stop the program, with their place");
  app->add_flag("--list-knobs", o->emit.list_knobs, "lists the kernel's knobs, defaults and choices");
  app->add_option("--run-pass", o->emit.run_pass, "runs one pass on the input and writes the IR");
  app->add_option("--print-after", o->emit.print_after,
                  "writes the IR after that pass, or after `all`, to standard error");
  app->add_flag("--verify-diagnostics", o->verify_diagnostics,
                "checks what is reported against `// expect-error@+1 {{text}}` comments");
  app->footer("Exit codes: 0 done, 1 errors in the input or config, 2 wrong usage, 3 a bug of Kaon.");
}

// `--config block.m=4 softmax.tile`: an option that takes several words takes the file as well; it is the one without
// `=`.
void give_back_file(std::vector<std::string>* words, std::string* path) {
  if (!path->empty() || words->empty() || words->back().find('=') != std::string::npos) return;
  *path = words->back();
  words->pop_back();
}

Outcome verify_diagnostics(const std::string& path) {
  Result<std::string> text = read_text(path);
  if (!text) return Outcome::failed(text.status());
  const SourceFile file(path, *text);
  Diagnostics diagnostics(file);
  Program::create(file, &diagnostics);
  const std::string differences = check_expected_diagnostics(diagnostics);
  if (differences.empty()) return {};
  return {kExitUserError, {}, differences};
}

Outcome write(const std::string& path, const std::string& text) {
  if (path.empty() || path == "-") {
    if (text.find('\0') != std::string::npos && isatty(STDOUT_FILENO) != 0) {
      return Outcome::usage("the output is binary; name a file with -o");
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
    return {};
  }
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? Outcome{} : Outcome::user_error("cannot write " + path);
}

Outcome run(const Options& options) {
  if (options.verify_diagnostics) return verify_diagnostics(options.input.path);
  std::unique_ptr<Input> input;
  Outcome outcome = Input::open(options.input, &input);
  std::fputs(outcome.message.c_str(), stderr);
  if (outcome.exit_code != kExitOk) return {outcome.exit_code, {}, {}};
  EmitOptions emit_options = options.emit;
  emit_options.path = options.input.path;
  outcome = emit(*input, emit_options);
  if (outcome.exit_code != kExitOk) return outcome;
  return write(options.output, outcome.output);
}

}  // namespace
}  // namespace kaon::compiler

int main(int argc, char** argv) {
  using namespace kaon::compiler;
  Options options;
  CLI::App app(kIntroduction, "kaonc");
  add_options(&app, &options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  give_back_file(&options.input.dtypes, &options.input.path);
  give_back_file(&options.input.constants, &options.input.path);
  give_back_file(&options.emit.config, &options.input.path);
  if (options.input.path.empty()) {
    std::fputs("kaonc: no input; name a .tile file, or see kaonc --help\n", stderr);
    return kExitUsage;
  }
  const Outcome outcome = run(options);
  std::fputs(outcome.message.c_str(), stderr);
  return outcome.exit_code;
}
