// The program `aot_measure`: a worker that a tuner drives over its standard input and output.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>

#include "aot_runner/measure/session.h"

namespace {

constexpr const char* kAbout =
    "Measures compiled variants of kernels on one device: checks each against the oracle, then times them interleaved\n"
    "with a cold cache. Reads one JSON request a line from standard input and writes one JSON event a line to "
    "standard\n"
    "output; aot_measure may die (a faulting kernel takes it along) without harm to its parent.";

constexpr const char* kFooter = R"(
Requests, in the order of a session ("number" is any integer and comes back as "request"):
  {"request": "kernel", "number": 1, "id": "k", "logical_ir": "<text of kaonc --emit=ir at the logical stage>"}
  {"request": "variant", "number": 2, "id": "v", "kernel": "k", "info": {...}, "image_path": "v.cubin"}
  {"request": "measure", "number": 3, "kernel": "k", "shape": {"dims": {"M": 4096, "N": 1024}}, "variants": ["v"],
   "options": {"seed": 1, "check": true, "copy": true, "target_mad": 0.005, "max_seconds": 2}}
  {"request": "calibrate", "number": 4}
  {"request": "quit"}
Events: hello, ok, error, begin, checked, timed, done, calibrated.
Failures in `checked`: guard, launch, wrong_result, red_zone, input_modified, not_written, machine, crash.

Exit status: 0 end of input or quit, 3 no such device, 4 the device was lost to a fault.

Try it without a GPU:  echo '{"request": "calibrate"}' | aot_measure --device host
)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(kAbout, "aot_measure");
  app.footer(kFooter);
  std::string device = "host";
  app.add_option("--device", device, "host, cuda (the first GPU) or cuda:N")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return kaon::runner::serve(device, STDIN_FILENO, STDOUT_FILENO);
}
