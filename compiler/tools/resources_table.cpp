// Compiles a spread of configs and sets their numbers in columns.
#include "compiler/tools/resources_table.h"

#include <algorithm>
#include <sstream>

#include "compiler/compile.h"
#include "compiler/config/config_space.h"

namespace kaon::compiler {
namespace {

constexpr size_t kEnumerated = 20000;  // of which the spread is taken
constexpr size_t kSpread = 8;

using Row = std::vector<std::string>;

std::vector<Config> representative_configs(const Kernel& kernel, const Target& target) {
  const ConfigSpace space(kernel, target);
  std::vector<Config> configs = {space.default_config()};
  auto add = [&](const Config& config) {
    if (std::find(configs.begin(), configs.end(), config) == configs.end()) configs.push_back(config);
  };
  add(space.generic_config());
  const std::vector<Config> all = space.enumerate(kEnumerated);
  for (size_t i = 0; i < kSpread && !all.empty(); ++i) add(all[i * all.size() / kSpread]);
  return configs;
}

Outcome add_row(const BoundKernel& bound, const Config& config, const Target& target, std::vector<Row>* rows) {
  const Result<CompiledVariant> variant = compile(bound.kernel, config, target, {});
  Row row = {bound.binding.empty() ? "-" : bound.binding};
  if (!variant && variant.status().code() != Code::kIllegalConfig) return Outcome::failed(variant.status());
  if (!variant) {
    row.insert(row.end(), {"-", "-", "-", "-", "-", config.to_text() + "  rejected: " + variant.status().message()});
  } else {
    const Resources& r = variant->resources;
    row.insert(row.end(),
               {std::to_string(r.registers), std::to_string(r.spill_store_bytes + r.spill_load_bytes),
                std::to_string(r.dynamic_shared_bytes + r.static_shared_bytes),
                std::to_string(count_wide_accesses(variant->ptx, "ld.global")),
                std::to_string(count_wide_accesses(variant->ptx, "st.global")), variant->info.config.to_text()});
  }
  rows->push_back(std::move(row));
  return {};
}

// Numbers to the right, the binding and the config to the left.
std::string format(const std::vector<Row>& rows) {
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      const bool is_last = i + 1 == row.size();
      out += i == 0 ? row[i] + padding : is_last ? row[i] : padding + row[i];
      out += is_last ? "\n" : "  ";
    }
  }
  return out;
}

// "ld.global.v4.b32" moves 4 * 32 bits.
int access_bits(const std::string& opcode) {
  int count = 1;
  int bits = 0;
  std::istringstream parts(opcode);
  for (std::string part; std::getline(parts, part, '.');) {
    if (part.size() < 2 || !std::all_of(part.begin() + 1, part.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    const int number = std::stoi(part.substr(1));
    if (part[0] == 'v') count = number;
    if (part[0] == 'b' || part[0] == 'u' || part[0] == 's' || part[0] == 'f') bits = number;
  }
  return count * bits;
}

}  // namespace

int count_wide_accesses(const std::string& ptx, const std::string& opcode) {
  int count = 0;
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find(opcode);
    if (begin == std::string::npos) continue;
    const size_t end = line.find_first_of(" \t", begin);
    if (access_bits(line.substr(begin, end - begin)) == 128) ++count;
  }
  return count;
}

Outcome resources_table(const std::vector<BoundKernel>& kernels, const Config* config, const Target& target) {
  std::vector<Row> rows = {{"types", "registers", "spilled", "shared", "ld16", "st16", "config"}};
  for (const BoundKernel& bound : kernels) {
    const std::vector<Config> configs =
        config != nullptr ? std::vector<Config>{*config} : representative_configs(bound.kernel, target);
    for (const Config& one : configs) {
      Outcome outcome = add_row(bound, one, target, &rows);
      if (outcome.exit_code != kExitOk) return outcome;
    }
  }
  return Outcome::text("target " + target.name +
                       "; spilled and shared in bytes; ld16 and st16 count 16-byte accesses of " +
                       "global memory in the code\n" + format(rows));
}

}  // namespace kaon::compiler
