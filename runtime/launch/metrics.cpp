// How the counters are written for Prometheus.
#include "runtime/base/text.h"
#include "runtime/launch/control.h"
#include "runtime/launch/counters.h"
#include "runtime/launch/kernel_table.h"
#include "runtime/launch/registry.h"

namespace kaon {
namespace {

void head(std::string* text, const char* name, const char* type, const char* help) {
  append_to(text, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
}

std::string label(const std::string& value) {
  std::string text;
  for (char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

std::string hex_digits(uint64_t value) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += digits[value >> shift & 15];
  return text;
}

}  // namespace

std::string metrics_text() {
  std::string text;
  head(&text, "kaon_calls_total", "counter", "Calls that were served, by kernel and by how the variant was found.");
  for (const KernelEntry* entry : kernel_entries()) {
    const CallCounts counts = read_counts(entry->id());
    for (int match = 0; match < kNumMatches; ++match) {
      append_to(&text, "kaon_calls_total{kernel=\"", label(entry->name()), "\",match=\"",
                match_name(static_cast<Match>(match)), "\"} ", counts.by_match[match], "\n");
    }
  }
  head(&text, "kaon_errors_total", "counter", "Calls that returned an error, by its code.");
  for (int code = 1; code <= static_cast<int>(Code::kInternal); ++code) {
    append_to(&text, "kaon_errors_total{code=\"", code_name(static_cast<Code>(code)), "\"} ",
              read_errors(static_cast<Code>(code)), "\n");
  }
  head(&text, "kaon_info", "gauge", "What decides the choices of this process; equal bundle_ids choose alike.");
  const Result<uint64_t> id = bundle_id();
  return cat(text, "kaon_info{version=\"" KAON_VERSION "\",abi=\"", kKernelTableAbi, "\",bundle_id=\"",
             id.is_ok() ? hex_digits(*id) : "", "\"} 1\n");
}

}  // namespace kaon
