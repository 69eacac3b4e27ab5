// Finds kernels and their cases: in folders, in `.cases`, `.tile` and Markdown files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/frontend/frontend.h"
#include "tests/support/case_file.h"

namespace kaon::compiler {

/// One kernel with everything bound, and what is asked of it.
struct CaseItem {
  std::string path;  // as the user may name it again
  const Program* program = nullptr;
  std::string kernel;
  DTypeBinding dtypes;
  ConstexprBinding consts;
  KernelCases cases;
};

/// Which of the kernels of a file.
struct CaseFilter {
  std::string kernel;
  std::string dtypes;  // "T=f16"
  std::string consts;  // "W=4"
};

/// The items of all paths given; owns their programs.
class CaseSources {
 public:
  /// `path`: a folder (every .cases file in it and every .tile file that has none), or one file. A kernel that no case
  /// names runs with automatic shapes.
  void add(const std::string& path, const CaseFilter& filter);
  const std::vector<CaseItem>& items() const { return items_; }
  /// What is wrong with the files themselves, one text each.
  const std::vector<std::string>& errors() const { return errors_; }

 private:
  void add_folder(const std::string& path, const CaseFilter& filter);
  void add_file(const CaseFile& file, const CaseFilter& filter);
  void add_kernel(const CaseFile& file, const Program& program, const KernelInfo& info, const KernelCases& cases,
                  const CaseFilter& filter);

  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<CaseItem> items_;
  std::vector<std::string> errors_;
};

/// A file's bytes. kIo when it cannot be read.
Result<std::string> read_file(const std::string& path);

/// Contents of the blocks of a Markdown text that are fenced as ```tile.
std::vector<std::string> tile_blocks(const std::string& markdown);

/// "T=f16 W=f32".
std::string binding_text(const DTypeBinding& dtypes);

}  // namespace kaon::compiler
