// What a `.cases` file asks for: the calls, data and configs that a `.tile` file's kernels are run with.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/dtype.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// "sorted(0, num_nodes)": how the elements of a tensor are drawn. Arguments are integer expressions or words.
struct Generator {
  std::string name;
  std::vector<std::string> arguments;
  std::string text;
};

/// Values of dimensions and scalar parameters by name. Integers are exact below 2^53.
using CaseShape = std::map<std::string, double>;

/// "M=3 N=127".
std::string shape_text(const CaseShape& shape);

/// A `shape` line: names in order, each with alternatives, which are expressions over the names before.
struct ShapeLine {
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
  bool is_large = false;  // only run when large shapes are asked for
  int line = 0;
};

/// What is asked of one kernel.
struct KernelCases {
  std::string kernel;
  std::vector<std::map<std::string, DType>> dtypes;    // empty: every binding
  std::vector<std::map<std::string, int64_t>> consts;  // values of constexpr parameters; empty: the defaults
  std::vector<ShapeLine> shapes;                       // empty: automatic
  std::map<std::string, std::vector<Generator>> data;  // alternatives by tensor
  std::vector<std::string> configs;                    // beside the default and the generic one
  std::vector<std::string> only_configs;               // if any, nothing but these
  int random_configs = 3;
  std::vector<std::string> edges;
  bool has_edges = false;  // `edges` was written; else all that apply
  int line = 0;
};

struct CaseFile {
  std::string path;    // of the cases, for messages; the .tile file itself when there are none
  std::string source;  // path of the .tile or .md file
  std::vector<KernelCases> kernels;
};

/// Reads a text of cases. The source is `file`'s path relative to `path`'s folder, by default `path` with the ending
/// .tile. kInvalidArgument with "path:line: what is wrong, what was expected".
Result<CaseFile> parse_case_file(const std::string& path, const std::string& text);

/// "sorted(0, num_nodes)" or "4". kInvalidArgument when it has no such form.
Result<Generator> parse_generator(const std::string& text);

/// Names of the edges that a case can ask for.
const std::vector<std::string>& all_edges();

/// An expression of numbers, names, + - * / (rounds down) and parentheses.
Result<double> evaluate_expression(const std::string& text, const CaseShape& names);

/// Every combination of the alternatives of one line.
Result<std::vector<CaseShape>> expand_shape(const ShapeLine& line);

/// "M=3 N=[1, 2]" as after the word `shape`.
Result<ShapeLine> parse_shape_line(const std::string& text);

/// "T=f16 W=f32".
Result<std::map<std::string, DType>> parse_dtypes(const std::string& text);

}  // namespace kaon::compiler
