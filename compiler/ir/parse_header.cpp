// The header lines of the textual IR: stage, signature, axes, and what passes have chosen.
#include <limits>

#include "compiler/ir/parse_context.h"
#include "compiler/ir/printer.h"

namespace kaon::compiler {
namespace {

constexpr Stage kStages[] = {Stage::kLogical, Stage::kLaidOut, Stage::kStaged};
constexpr AxisKind kAxisKinds[] = {AxisKind::kTile, AxisKind::kFull, AxisKind::kStatic};
constexpr GuardKind kGuardKinds[] = {GuardKind::kDivisible, GuardKind::kEqual,     GuardKind::kAtMost,
                                     GuardKind::kAtLeast,   GuardKind::kCongruent, GuardKind::kSpanAtMost};

class HeaderParser {
 public:
  explicit HeaderParser(ParseContext& context) : context_(context), in_(context.in), kernel_(context.kernel) {}

  void run() {
    while (in_.ok() && signature_line()) {
    }
    tensor_extents();
    while (in_.ok() && later_line()) {
    }
  }

 private:
  bool signature_line() {
    if (in_.accept("stage"))
      kernel_.stage = one_of(kStages, stage_name, "a stage");
    else if (in_.accept("dim"))
      kernel_.signature.dims.push_back(in_.expect_name("a dimension's name"));
    else if (in_.accept("tensor"))
      tensor();
    else if (in_.accept("scalar"))
      scalar();
    else
      return false;
    return true;
  }

  bool later_line() {
    if (in_.accept("require"))
      require();
    else if (in_.accept("axis"))
      axis();
    else if (in_.accept("config"))
      config();
    else if (in_.accept("num_warps"))
      kernel_.num_warps = static_cast<int>(bounded(1024, "a number of warps"));
    else if (in_.accept("guard"))
      guard();
    else if (in_.accept("shared"))
      shared();
    else if (in_.accept("plan"))
      plan();
    else
      return false;
    return true;
  }

  template <typename T, size_t kCount>
  T one_of(const T (&choices)[kCount], const char* (*name)(T), const char* what) {
    std::string expected = what;
    for (size_t i = 0; i < kCount; ++i) {
      if (in_.accept(name(choices[i]))) return choices[i];
      expected += (i == 0 ? " (" : i + 1 == kCount ? " or " : ", ") + std::string(name(choices[i]));
    }
    in_.fail(expected + ")");
    return choices[0];
  }

  int64_t bounded(int64_t most, const char* what) {
    const size_t start = in_.position();
    const int64_t value = in_.expect_integer(what);
    if (value >= 0 && value <= most) return value;
    in_.fail_at(start, std::string("expected ") + what + " from 0 to " + std::to_string(most) + ", got " +
                           std::to_string(value));
    return 0;
  }
  uint32_t bounded32(const char* what) {
    return static_cast<uint32_t>(bounded(std::numeric_limits<uint32_t>::max(), what));
  }

  void tensor() {
    TensorParam tensor;
    tensor.name = in_.expect_name("a tensor's name");
    in_.expect(":");
    tensor.dtype = context_.dtype();
    extents_at_.push_back(in_.position());
    skip_extents();
    if (at_tensor_flag()) {
      do {
        tensor_flag(&tensor);
      } while (in_.accept(","));
    }
    kernel_.signature.tensors.push_back(std::move(tensor));
  }

  bool at_tensor_flag() const { return in_.at("generic") || in_.at("output") || in_.at("zeroed") || in_.at("alias"); }

  void tensor_flag(TensorParam* tensor) {
    if (in_.accept("generic"))
      tensor->dtype_var = in_.expect_name("a generic's name");
    else if (in_.accept("output"))
      tensor->is_output = true;
    else if (in_.accept("zeroed"))
      tensor->is_zeroed = true;
    else if (in_.accept("alias"))
      tensor->aliases = in_.expect_name("an input's name");
    else
      in_.fail("generic, output, zeroed or alias");
  }

  // Extents name dimensions, and slots are numbered when all tensors are known: tensor_extents() comes back to them.
  void skip_extents() {
    int depth = 0;
    while (in_.at("[") || depth > 0) {
      if (in_.peek().kind == TokenKind::kEnd) return in_.fail("']'");
      if (in_.at("[")) ++depth;
      if (in_.at("]")) --depth;
      in_.take();
    }
  }

  void tensor_extents() {
    const size_t resume = in_.position();
    // Slot numbers of strides depend on ranks, so every tensor has its rank before an extent is read.
    for (int pass = 0; pass < 2 && in_.ok(); ++pass) {
      for (size_t i = 0; i < extents_at_.size() && in_.ok(); ++i) {
        in_.set_position(extents_at_[i]);
        std::vector<Expr>& extents = kernel_.signature.tensors[i].extents;
        if (pass == 0)
          extents.resize(count_extents());
        else
          read_extents(&extents);
      }
      if (pass == 0) context_.know_slots();
    }
    if (in_.ok()) in_.set_position(resume);
  }

  size_t count_extents() {
    if (!in_.accept("[")) return 0;
    size_t count = 1;
    int depth = 0;
    for (; depth > 0 || !in_.at("]"); in_.take()) {
      if (in_.at("(")) ++depth;
      if (in_.at(")")) --depth;
      if (in_.at(",") && depth == 0) ++count;
      if (in_.peek().kind == TokenKind::kEnd) return count;
    }
    return count;
  }

  void read_extents(std::vector<Expr>* extents) {
    if (!in_.accept("[")) return;
    for (size_t i = 0; i < extents->size(); ++i) {
      if (i > 0) in_.expect(",");
      (*extents)[i] = context_.expr();
    }
    in_.expect("]");
  }

  void scalar() {
    ScalarParam scalar;
    scalar.name = in_.expect_name("a scalar's name");
    in_.expect(":");
    scalar.dtype = context_.dtype();
    kernel_.signature.scalars.push_back(scalar);
    if (in_.accept("=")) kernel_.scalar_params.push_back(context_.definition());
  }

  void require() {
    Require require;
    require.condition = context_.expr();
    in_.expect(",");
    in_.expect("text");
    require.text = in_.expect_string();
    kernel_.signature.requires_.push_back(std::move(require));
  }

  void axis() {
    Axis axis;
    const size_t start = in_.position();
    axis.name = in_.expect_name("an axis's name");
    in_.expect(":");
    axis.kind = one_of(kAxisKinds, axis_kind_name, "a kind of axis");
    do {
      axis_field(&axis);
    } while (in_.accept(","));
    context_.add_axis(std::move(axis), start);
  }

  void axis_field(Axis* axis) {
    if (in_.accept("begin"))
      value_or_expr(&axis->begin_value, &axis->begin);
    else if (in_.accept(axis->kind == AxisKind::kTile ? "end" : "extent"))
      value_or_expr(&axis->extent_value, &axis->extent);
    else if (in_.accept("fixed_block"))
      axis->fixed_block = in_.expect_integer("a block size");
    else if (in_.accept("block"))
      axis->block = in_.expect_integer("a block size");
    else if (in_.accept("block_axis"))
      axis->block_axis = block_axis(*axis);
    else if (in_.accept("lengths"))
      axis->lengths = context_.value();
    else if (in_.accept("origin"))
      axis->origin = context_.value();
    else
      in_.fail(axis->kind == AxisKind::kTile ? "begin, end, fixed_block, block_axis, lengths, block or origin"
                                             : "begin, extent, block_axis, block or origin");
  }

  /// A registered block names itself.
  AxisId block_axis(const Axis& axis) {
    const bool is_own = in_.peek().text == axis.name && in_.peek().kind != TokenKind::kSymbol;
    if (!is_own) return context_.axis();
    in_.take();
    return static_cast<AxisId>(kernel_.axes.size());
  }

  void value_or_expr(ValueId* value, Expr* expr) {
    if (context_.at_value())
      *value = context_.value();
    else
      *expr = context_.expr();
  }

  void config() {
    const size_t start = in_.position();
    const size_t begin = in_.peek().begin;
    size_t end = begin;
    in_.expect("{");
    while (in_.ok() && !in_.at("}") && in_.peek().kind != TokenKind::kEnd) in_.take();
    end = in_.peek().end;
    if (!in_.expect("}")) return;
    Result<Config> config = Config::from_json(in_.text(begin, end));
    if (config)
      kernel_.config = std::move(config).value();
    else
      in_.fail_at(start, "config: " + config.status().message());
  }

  uint16_t slot() {
    const size_t start = in_.position();
    if (in_.peek().kind == TokenKind::kNumber) return static_cast<uint16_t>(bounded(kMaxSlots, "a slot"));
    const std::string name = in_.expect_name("a slot of the call");
    const std::vector<std::string> names = kernel_.signature.slot_names();
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return static_cast<uint16_t>(i);
    }
    in_.fail_at(start, "no slot of the call is named " + name);
    return 0;
  }

  void guard() {
    Guard guard;
    guard.kind = one_of(kGuardKinds, guard_kind_name, "a kind of guard");
    guard.slot = slot();
    if (guard.kind == GuardKind::kCongruent) guard.other = slot();
    guard.value = in_.expect_integer("a number");
    kernel_.guards.push_back(guard);
  }

  void shared() {
    SharedBuffer buffer;
    buffer.name = in_.expect_name("a buffer's name");
    in_.expect("bytes");
    buffer.bytes = bounded32("a number of bytes");
    in_.expect(",");
    in_.expect("offset");
    buffer.offset = bounded32("an offset");
    kernel_.shared_buffers.push_back(std::move(buffer));
  }

  uint32_t plan_field(const char* name) {
    in_.expect(",");
    in_.expect(name);
    return bounded32("a number");
  }

  void plan() {
    LaunchPlan& plan = kernel_.plan;
    in_.expect("programs");
    plan.programs = context_.expr();
    plan.threads = plan_field("threads");
    plan.shared_bytes = plan_field("shared");
    plan.cluster = plan_field("cluster");
    in_.expect(",");
    in_.expect("steps");
    in_.expect("[");
    do {
      plan_step();
    } while (in_.accept(","));
    in_.expect("]");
  }

  void plan_step() {
    LaunchStep step;
    if (in_.accept("zero")) {
      step.kind = StepKind::kZero;
      const size_t start = in_.position();
      const std::string name = in_.expect_name("a tensor's name");
      const int tensor = kernel_.signature.find_tensor(name);
      if (tensor < 0)
        in_.fail_at(start, "no tensor is named " + name);
      else
        step.tensor = static_cast<uint16_t>(tensor);
    } else {
      in_.expect("kernel");
    }
    kernel_.plan.steps.push_back(step);
  }

  ParseContext& context_;
  TokenReader& in_;
  Kernel& kernel_;
  std::vector<size_t> extents_at_;  // token position of each tensor's extents
};

}  // namespace

void parse_header(ParseContext& context) { HeaderParser(context).run(); }

}  // namespace kaon::compiler
