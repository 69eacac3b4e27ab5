// Reads files of kernels and pairs kernels with cases.
#include "tests/support/case_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

namespace kaon::compiler {
namespace {

namespace fs = std::filesystem;

bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

std::string consts_text(const ConstexprBinding& consts) {
  std::string text;
  for (const auto& [name, value] : consts) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.good()) return Status(Code::kIo, path + ": cannot be read: " + std::strerror(errno));
  return text.str();
}

std::vector<std::string> tile_blocks(const std::string& markdown) {
  std::vector<std::string> blocks;
  std::istringstream lines(markdown);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```tile") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

std::string binding_text(const DTypeBinding& dtypes) {
  std::string text;
  for (const auto& [name, dtype] : dtypes) text += (text.empty() ? "" : " ") + name + "=" + dtype_name(dtype);
  return text;
}

void CaseSources::add(const std::string& path, const CaseFilter& filter) {
  if (fs::is_directory(path)) return add_folder(path, filter);
  if (!ends_with(path, ".cases")) {
    CaseFile file;
    file.path = file.source = path;
    return add_file(file, filter);
  }
  const Result<std::string> text = read_file(path);
  if (!text) return errors_.push_back(text.status().message());
  const Result<CaseFile> file = parse_case_file(path, *text);
  if (!file) return errors_.push_back(file.status().message());
  add_file(*file, filter);
}

void CaseSources::add_folder(const std::string& path, const CaseFilter& filter) {
  std::set<std::string> cases, sources;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    if (entry.path().extension() == ".cases") cases.insert(entry.path().string());
    if (entry.path().extension() == ".tile") sources.insert(entry.path().lexically_normal().string());
  }
  for (const std::string& name : cases) {
    const Result<std::string> text = read_file(name);
    const Result<CaseFile> file = text ? parse_case_file(name, *text) : text.status();
    if (file) sources.erase(fs::path(file->source).lexically_normal().string());
    add(name, filter);
  }
  for (const std::string& name : sources) add(name, filter);
}

void CaseSources::add_file(const CaseFile& file, const CaseFilter& filter) {
  const Result<std::string> text = read_file(file.source);
  if (!text) return errors_.push_back(text.status().message());
  std::set<std::string> found;
  for (const std::string& block :
       ends_with(file.source, ".md") ? tile_blocks(*text) : std::vector<std::string>{*text}) {
    const SourceFile source(file.source, block);
    Diagnostics diagnostics(source);
    std::unique_ptr<Program> program = Program::create(source, &diagnostics);
    if (program == nullptr) {
      errors_.push_back(diagnostics.render());
      continue;
    }
    for (const KernelInfo& info : program->kernels()) {
      found.insert(info.name);
      bool is_named = false;
      for (const KernelCases& cases : file.kernels) {
        if (cases.kernel != info.name) continue;
        is_named = true;
        add_kernel(file, *program, info, cases, filter);
      }
      if (!is_named) add_kernel(file, *program, info, KernelCases(), filter);
    }
    programs_.push_back(std::move(program));
  }
  for (const KernelCases& cases : file.kernels) {
    if (found.count(cases.kernel) == 0) {
      errors_.push_back(file.path + ":" + std::to_string(cases.line) + ": " + file.source + " has no kernel '" +
                        cases.kernel + "'");
    }
  }
}

void CaseSources::add_kernel(const CaseFile& file, const Program& program, const KernelInfo& info,
                             const KernelCases& cases, const CaseFilter& filter) {
  if (!filter.kernel.empty() && filter.kernel != info.name) return;
  std::vector<DTypeBinding> bindings = cases.dtypes;
  if (bindings.empty()) bindings = info.bindings;
  if (bindings.empty()) bindings.emplace_back();
  std::vector<ConstexprBinding> consts;
  for (const ConstexprBinding& given : cases.consts.empty() ? std::vector<ConstexprBinding>(1) : cases.consts) {
    for (ConstexprBinding values : info.specialisations()) {
      for (const auto& [name, value] : given) values[name] = value;
      if (std::find(consts.begin(), consts.end(), values) == consts.end()) consts.push_back(std::move(values));
    }
  }
  bool is_first = true;
  for (const DTypeBinding& dtypes : bindings) {
    for (const ConstexprBinding& values : consts) {
      CaseItem item{file.path, &program, info.name, dtypes, values, cases};
      // The first types get all random configs, the others one: what differs between types is little.
      if (!is_first) item.cases.random_configs = std::min(item.cases.random_configs, 1);
      is_first = false;
      if (!filter.dtypes.empty() && filter.dtypes != binding_text(dtypes)) continue;
      if (!filter.consts.empty() && filter.consts != consts_text(values)) continue;
      items_.push_back(std::move(item));
    }
  }
}

}  // namespace kaon::compiler
