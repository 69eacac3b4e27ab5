// Folds and scans in every small layout: digits in registers, lanes and warps in any order, mixed radix, replicas,
// lanes that do not exist, both directions, against plain loops over the elements.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/codegen/assemble.h"
#include "compiler/codegen/codegen.h"
#include "compiler/ir/parser.h"
#include "compiler/passes/pipeline.h"
#include "runtime/host/image.h"
#include "runtime/host/machine.h"

namespace kaon::compiler {
namespace {

constexpr int64_t kTwoRows = 2;

/// a * x + b, composed: associative, and no order may be changed. Wraps as the kernel's i64 does.
struct Affine {
  uint64_t a, b;
};
Affine after(Affine left, Affine right) { return {left.a * right.a, left.b * right.a + right.b}; }

struct Layouts {
  std::string tile, row;  // of [rows, columns], and with only the rows
  int64_t capacity = 1;   // columns; 0 where no block has so many threads
  int warps = 1;
};

/// The layout of [2, columns] with the columns' digits as listed, like "2r 4l 3w", and the rows' digit in `rows`.
Layouts make_layouts(const std::vector<std::string>& digits, char rows, int idle_warps) {
  std::map<char, int> unit = {{'r', 1}, {'l', 1}, {'w', 1}};
  std::string columns;
  Layouts out;
  for (const std::string& digit : digits) {
    const int radix = digit[0] - '0';
    columns += (columns.empty() ? "" : " ") + std::to_string(radix) + digit[1] + std::to_string(unit[digit[1]]);
    unit[digit[1]] *= radix;
    out.capacity *= radix;
  }
  const std::string row = std::string("2") + rows + std::to_string(unit[rows]);
  unit[rows] *= 2;
  out.warps = unit['w'] * idle_warps;
  const std::string alone = rows == 'r' ? "2r1" : row;
  const std::string tail = "] warps " + std::to_string(out.warps);
  out.tile = "[" + row + " | " + (columns.empty() ? "1" : columns) + tail;
  out.row = "[" + alone + tail;
  Layout layout;
  std::string why;
  if (!parse_layout(out.tile, &layout, &why) || !layout.why_illegal().empty()) out.capacity = 0;
  return out;
}

std::string region(const std::string& args, const std::string& body) { return " (" + args + ") {\n" + body + "}\n"; }

/// Affine scans forward and back of (a, b), and the sum and the greatest of b by rows.
std::string kernel_text(const Layouts& l) {
  const std::string type = ":i64[M, N] @ " + l.tile, flat = ":i64[M] @ " + l.row;
  const std::string scalar = ":i64 @ [] warps " + std::to_string(l.warps);
  const auto arg = [&](int id) { return "%" + std::to_string(id) + scalar; };
  const auto affine = [&](int id) {
    const auto v = [&](int i) { return "%" + std::to_string(id + i); };
    return region(arg(id) + ", " + arg(id + 1) + ", " + arg(id + 2) + ", " + arg(id + 3),
                  arg(id + 4) + " = binary " + v(0) + ", " + v(2) + " {fn = \"mul\"}\n" + arg(id + 5) + " = binary " +
                      v(1) + ", " + v(2) + " {fn = \"mul\"}\n" + arg(id + 6) + " = binary " + v(5) + ", " + v(3) +
                      " {fn = \"add\"}\nyield " + v(4) + ", " + v(6) + "\n");
  };
  std::string text = "kernel k {\n  stage laid_out\n  dim R\n  dim C\n";
  text += "  tensor a: i64[R, C]\n  tensor b: i64[R, C]\n";
  for (const char* name : {"fa", "fb", "ra", "rb"}) text += "  tensor " + std::string(name) + ": i64[R, C] output\n";
  text += "  tensor total: i64[R] output\n  tensor most: i64[R] output\n";
  text += "  axis M: tile begin 0, end R, block 2\n  axis N: full extent C, block " + std::to_string(l.capacity) + "\n";
  text += "  config {\"index\": 64, \"vec\": 1}\n  num_warps " + std::to_string(l.warps) + "\n";
  text += "  plan programs ceil_div(R, 2), threads " + std::to_string(32 * l.warps) +
          ", shared 0, cluster 1, steps [kernel]\n";
  text += "grid {axes = [M]} {\n%0" + type + " = load a[M, N]\n%1" + type + " = load b[M, N]\n";
  text += "%2" + type + ", %3" + type + " = scan %0, %1 {dim = 1, reverse = 0}" + affine(10);
  text += "%4" + type + ", %5" + type + " = scan %0, %1 {dim = 1, reverse = 1}" + affine(20);
  text += "%6" + flat + ", %7" + flat + " = fold %1, %0 {dims = [1], keepdim = 0}" +
          region(arg(30) + ", " + arg(31) + ", " + arg(32) + ", " + arg(33),
                 arg(34) + " = binary %30, %32 {fn = \"add\"}\n" + arg(35) +
                     " = binary %31, %33 {fn = \"max\"}\nyield %34, %35\n");
  text +=
      "store fa[M, N] %2\nstore fb[M, N] %3\nstore ra[M, N] %4\nstore rb[M, N] %5\nstore total[M] %6\nstore most[M] "
      "%7\n";
  return text + "}\n}\n";
}

struct CombiningProgram {
  Kernel kernel;
  std::unique_ptr<host::Image> image;
  host::KernelFunction function;
};

void compile_layout(const Layouts& layouts, CombiningProgram* out) {
  Result<Kernel> parsed = parse_kernel(kernel_text(layouts));
  ASSERT_TRUE(parsed) << parsed.status().message() << kernel_text(layouts);
  out->kernel = std::move(parsed).value();
  const Target target = *find_target("host");
  for (const char* pass : {"plan_access", "stage_reductions", "place_barriers", "assign_shared", "check_resources"}) {
    const Status status = run_pass(pass, out->kernel, target);
    ASSERT_TRUE(status) << status.message() << kernel_text(layouts);
  }
  Result<codegen::GeneratedCode> code = codegen::generate_code(out->kernel, target, "k", {});
  ASSERT_TRUE(code) << code.status().message();
  Result<std::string> linked = codegen::link_host_object(code->object, {});
  ASSERT_TRUE(linked) << linked.status().message();
  Result<std::unique_ptr<host::Image>> image = host::Image::load(*linked);
  ASSERT_TRUE(image) << image.status().message();
  out->image = std::move(image).value();
  Result<host::KernelFunction> function = out->image->find("k");
  ASSERT_TRUE(function) << function.status().message();
  out->function = *function;
}

/// Runs rows of `extent` elements and compares all results.
void check(CombiningProgram& program, int64_t extent, uint64_t seed) {
  const Signature& signature = program.kernel.signature;
  const auto size = static_cast<size_t>(kTwoRows * std::max<int64_t>(extent, 1));
  std::vector<std::vector<int64_t>> data(8, std::vector<int64_t>(size, -77));
  for (size_t i = 0; i < size; ++i) {
    data[0][i] = static_cast<int64_t>(i * 7 % 11) * 2 - 9;
    data[1][i] = static_cast<int64_t>(i * 13 % 17) - 5 + (int64_t{1} << 40);
  }
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()), 0);
  slots[static_cast<size_t>(signature.dim_slot(0))] = kTwoRows;
  slots[static_cast<size_t>(signature.dim_slot(1))] = extent;
  for (int t = 0; t < 8; ++t) {
    slots[static_cast<size_t>(signature.pointer_slot(t))] =
        reinterpret_cast<int64_t>(data[static_cast<size_t>(t)].data());
    slots[static_cast<size_t>(signature.stride_slot(t, 0))] = t < 6 ? extent : 1;
    if (t < 6) slots[static_cast<size_t>(signature.stride_slot(t, 1))] = 1;
  }
  host::RunOptions options;
  options.seed = seed;
  const LaunchPlan& plan = program.kernel.plan;
  const Status ran =
      host::shared_machine().run(program.function, {1, plan.threads, plan.shared_bytes}, slots.data(), options);
  ASSERT_TRUE(ran) << ran.message();
  for (int64_t row = 0; row < kTwoRows; ++row) {
    const auto at = [&](int t, int64_t i) {
      return data[static_cast<size_t>(t)][static_cast<size_t>(row * extent + i)];
    };
    const auto element = [&](int64_t i) {
      return Affine{static_cast<uint64_t>(at(0, i)), static_cast<uint64_t>(at(1, i))};
    };
    Affine front{}, back{};
    int64_t total = 0, most = extent == 0 ? 0 : INT64_MIN;
    for (int64_t i = 0; i < extent; ++i) {
      const int64_t j = extent - 1 - i;
      front = i == 0 ? element(0) : after(front, element(i));
      back = i == 0 ? element(j) : after(back, element(j));
      ASSERT_EQ(static_cast<uint64_t>(at(2, i)), front.a) << "forward at " << i;
      ASSERT_EQ(static_cast<uint64_t>(at(3, i)), front.b) << "forward at " << i;
      ASSERT_EQ(static_cast<uint64_t>(at(4, j)), back.a) << "in reverse at " << j;
      ASSERT_EQ(static_cast<uint64_t>(at(5, j)), back.b) << "in reverse at " << j;
      total += at(1, i);
      most = std::max(most, at(0, i));
    }
    ASSERT_EQ(data[6][static_cast<size_t>(row)], total);
    ASSERT_EQ(data[7][static_cast<size_t>(row)], most);
  }
}

/// Every list of up to three of these digits, and the rows' digit in each kind of hardware by turns.
TEST(CombiningLayouts, EveryOrderOfDigits) {
  const std::vector<std::string> kinds = {"2r", "3r", "2l", "4l", "2w", "3w"};
  std::vector<std::vector<std::string>> lists = {{}};
  for (size_t length = 0, begin = 0; length < 3; ++length) {
    const size_t end = lists.size();
    for (size_t i = begin; i < end; ++i) {
      for (const std::string& kind : kinds) {
        if (!lists[i].empty() && lists[i].back()[1] == kind[1]) continue;  // it would be one digit
        lists.push_back(lists[i]);
        lists.back().push_back(kind);
      }
    }
    begin = end;
  }
  int checked = 0;
  for (size_t i = 0; i < lists.size(); ++i) {
    const char rows = "rlw"[i % 3];
    const Layouts layouts = make_layouts(lists[i], rows, i % 4 == 3 ? 2 : 1);
    if (layouts.capacity == 0) continue;
    SCOPED_TRACE(layouts.tile);
    CombiningProgram program;
    compile_layout(layouts, &program);
    if (HasFatalFailure()) return;
    std::vector<int64_t> extents = {0, 1, layouts.capacity - 1, layouts.capacity};
    for (const int64_t extent : extents) {
      SCOPED_TRACE(extent);
      check(program, extent, static_cast<uint64_t>(i) + 1);
      if (HasFatalFailure()) return;
    }
    ++checked;
  }
  EXPECT_GT(checked, 100);
}

}  // namespace
}  // namespace kaon::compiler
