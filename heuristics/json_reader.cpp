// Reading the committed JSON texts back, with the place of whatever is wrong.
#include <nlohmann/json.hpp>

#include "heuristics/schema.h"
#include "heuristics/table.h"
#include "heuristics/training.h"

namespace kaon::heuristics {
namespace {

using Json = nlohmann::json;

// Stays inside this file: the entry points turn it into a Status.
struct ReadError {
  std::string message;
};

// A value and the path that leads to it.
class Node {
 public:
  Node(const Json& json, std::string path) : json_(json), path_(std::move(path)) {}

  [[noreturn]] void fail(const std::string& what) const { throw ReadError{path_ + ": " + what}; }
  [[noreturn]] void expected(const char* what) const {
    fail(std::string("expected ") + what + ", got " + json_.type_name());
  }

  Node at(const char* key) const {
    if (!json_.is_object()) expected("an object");
    auto it = json_.find(key);
    if (it == json_.end()) fail(std::string("has no \"") + key + "\"");
    return {*it, path_ + "." + key};
  }
  Node at(size_t index) const { return {array()[index], path_ + "[" + std::to_string(index) + "]"}; }

  size_t size() const { return array().size(); }
  void expect_size(size_t n) const {
    if (size() != n) fail("has " + std::to_string(size()) + " items, expected " + std::to_string(n));
  }

  std::string text() const {
    if (!json_.is_string()) expected("a string");
    return json_.get<std::string>();
  }
  bool truth() const {
    if (!json_.is_boolean()) expected("true or false");
    return json_.get<bool>();
  }
  double number() const {
    if (!json_.is_number()) expected("a number");
    return json_.get<double>();
  }
  template <typename T = int64_t>
  T integer(int64_t low = std::numeric_limits<T>::min()) const {
    if (!json_.is_number_integer()) expected("an integer");
    constexpr int64_t kHigh = static_cast<int64_t>(std::numeric_limits<T>::max());
    const bool too_large = json_.is_number_unsigned() && json_.get<uint64_t>() > static_cast<uint64_t>(kHigh);
    if (too_large || json_.get<int64_t>() < low) {
      fail("expected an integer in " + std::to_string(low) + ".." + std::to_string(kHigh) + ", got " + json_.dump());
    }
    return static_cast<T>(json_.get<int64_t>());
  }
  std::vector<int64_t> integers(int64_t low = std::numeric_limits<int64_t>::min()) const {
    std::vector<int64_t> values(size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = at(i).integer(low);
    return values;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> values(size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = at(i).text();
    return values;
  }
  bool is_array() const { return json_.is_array(); }
  bool is_string() const { return json_.is_string(); }
  const Json& json() const { return json_; }

 private:
  const Json& array() const {
    if (!json_.is_array()) expected("an array");
    return json_;
  }
  const Json& json_;
  std::string path_;
};

template <size_t n>
int find_word(const Node& node, const char* const (&words)[n]) {
  std::string word = node.text();
  for (size_t i = 0; i < n; ++i) {
    if (word == words[i]) return static_cast<int>(i);
  }
  node.fail("unknown word \"" + word + "\"");
}

Expr read_expr(const Node& node, int num_slots) {
  std::vector<ExprStep> steps;
  for (size_t i = 0; i < node.size(); ++i) {
    Node item = node.at(i);
    if (!item.is_string()) {
      steps.push_back({ExprOp::kConst, item.integer()});
      continue;
    }
    std::string word = item.text();
    const bool is_slot = word.size() >= 2 && word.size() <= 4 && word[0] == 's' &&
                         word.find_first_not_of("0123456789", 1) == std::string::npos;
    if (is_slot) {
      steps.push_back({ExprOp::kSlot, std::stoi(word.substr(1))});
    } else {
      steps.push_back({static_cast<ExprOp>(find_word(item, kExprOpNames)), 0});
    }
  }
  Expr expr = Expr::from_steps(std::move(steps));
  if (Status status = kaon::validate(expr.view(), num_slots); !status.is_ok()) node.fail(status.message());
  return expr;
}

DType read_dtype(const Node& node) {
  DType dtype;
  std::string name = node.text();
  if (!parse_dtype(name, &dtype)) node.fail("unknown dtype \"" + name + "\"");
  return dtype;
}

Signature read_signature(const Node& node, const std::string& kernel) {
  Signature signature;
  signature.kernel = kernel;
  signature.dims = node.at("dims").texts();
  Node tensors = node.at("tensors");
  if (tensors.size() > kMaxTensors) tensors.fail("more than " + std::to_string(kMaxTensors) + " tensors");
  // Expressions are checked against the final number of slots, so ranks and scalars come first.
  for (size_t i = 0; i < tensors.size(); ++i) {
    Node item = tensors.at(i);
    TensorParam tensor;
    tensor.name = item.at("name").text();
    tensor.dtype = read_dtype(item.at("dtype"));
    tensor.dtype_var = item.at("dtype_var").text();
    tensor.is_output = item.at("output").truth();
    tensor.is_zeroed = item.at("zeroed").truth();
    tensor.aliases = item.at("aliases").text();
    if (item.at("extents").size() > kMaxRank) item.fail("rank above " + std::to_string(kMaxRank));
    tensor.extents.resize(item.at("extents").size());
    signature.tensors.push_back(std::move(tensor));
  }
  Node scalars = node.at("scalars");
  for (size_t i = 0; i < scalars.size(); ++i) {
    signature.scalars.push_back({scalars.at(i).at("name").text(), read_dtype(scalars.at(i).at("dtype"))});
  }
  const int num_slots = signature.num_slots();
  if (num_slots > kMaxSlots)
    node.fail("needs " + std::to_string(num_slots) + " slots, at most " + std::to_string(kMaxSlots));
  for (size_t i = 0; i < tensors.size(); ++i) {
    Node extents = tensors.at(i).at("extents");
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      signature.tensors[i].extents[axis] = read_expr(extents.at(axis), num_slots);
    }
  }
  Node requires_node = node.at("requires");
  for (size_t i = 0; i < requires_node.size(); ++i) {
    Node item = requires_node.at(i);
    signature.requires_.push_back({read_expr(item.at("condition"), num_slots), item.at("text").text()});
  }
  return signature;
}

void read_guards(const Node& node, std::vector<Guard>* guards) {
  for (size_t i = 0; i < node.size(); ++i) {
    Node item = node.at(i);
    item.expect_size(4);
    Guard guard;
    guard.kind = static_cast<GuardKind>(find_word(item.at(size_t{0}), kGuardNames));
    guard.slot = item.at(1).integer<uint16_t>(0);
    guard.other = item.at(2).integer<uint16_t>(0);
    guard.value = item.at(3).integer();
    guards->push_back(guard);
  }
}

ConfigRow read_config(const Node& node, int num_slots) {
  ConfigRow row;
  VariantInfo& variant = row.variant;
  variant.symbol = node.at("symbol").text();
  Result<Config> config = Config::from_json(node.at("config").json().dump());
  if (!config.is_ok()) node.at("config").fail(config.status().message());
  variant.config = std::move(config).value();
  read_guards(node.at("guards"), &variant.guards);
  Node steps = node.at("steps");
  for (size_t i = 0; i < steps.size(); ++i) {
    steps.at(i).expect_size(2);
    std::string word = steps.at(i).at(size_t{0}).text();
    if (word != "kernel" && word != "zero") steps.at(i).fail("expected \"kernel\" or \"zero\", got \"" + word + "\"");
    variant.plan.steps.push_back(
        {word == "zero" ? StepKind::kZero : StepKind::kKernel, steps.at(i).at(1).integer<uint16_t>(0)});
  }
  variant.plan.programs = read_expr(node.at("programs"), num_slots);
  auto numbers = [&](const char* key, size_t n) {
    node.at(key).expect_size(n);
    std::vector<uint32_t> values(n);
    for (size_t i = 0; i < n; ++i) values[i] = node.at(key).at(i).integer<uint32_t>(0);
    return values;
  };
  std::vector<uint32_t> launch = numbers("launch", 3), needs = numbers("needs", 3), used = numbers("resources", 6);
  variant.plan.threads = launch[0];
  variant.plan.shared_bytes = launch[1];
  variant.plan.cluster = launch[2];
  variant.requirements = {needs[0], needs[1], needs[2]};
  row.resources = {used[0], used[1], used[2], used[3], used[4], used[5]};
  return row;
}

// The number after a one-letter word such as "f3" or "x170".
int32_t counted_word(const Node& node, char letter) {
  std::string word = node.text();
  const bool is_counted = word.size() >= 2 && word.size() <= 6 && word[0] == letter &&
                          word.find_first_not_of("0123456789", 1) == std::string::npos;
  if (!is_counted) {
    node.fail("expected nanoseconds, a failure \"f<index>\" or absent cells \"x<count>\", got \"" + word + "\"");
  }
  return std::stoi(word.substr(1));
}

void read_medians(const Node& node, Table* table, int pass) {
  node.expect_size(table->configs.size());
  for (int c = 0; c < table->num_configs(); ++c) {
    Node row = node.at(static_cast<size_t>(c));
    int64_t s = 0;
    for (size_t i = 0; i < row.size(); ++i) {
      Node item = row.at(i);
      const bool is_run = item.is_string() && item.text().substr(0, 1) == "x";
      const int64_t cells = is_run ? counted_word(item, 'x') : 1;
      if (s + cells > table->num_shapes()) {
        row.fail("has more than " + std::to_string(table->num_shapes()) + " cells, one per shape");
      }
      if (!is_run) {
        Cell& cell = table->cell(pass, c, static_cast<int>(s));
        if (item.is_string()) {
          cell.failure = counted_word(item, 'f');
        } else {
          cell.median_ns = item.integer(0);
        }
      }
      s += cells;
    }
    if (s != table->num_shapes()) {
      row.fail("has " + std::to_string(s) + " cells, expected " + std::to_string(table->num_shapes()));
    }
  }
}

void read_side(const Node& node, Table* table, int pass, int32_t Cell::*field) {
  node.expect_size(table->configs.size());
  for (int c = 0; c < table->num_configs(); ++c) {
    Node row = node.at(static_cast<size_t>(c));
    size_t next = 0;
    for (int s = 0; s < table->num_shapes(); ++s) {
      Cell& cell = table->cell(pass, c, s);
      if (!cell.measured()) continue;
      if (row.is_array() && next >= row.size()) row.fail("has too few values, expected one per measured cell");
      cell.*field = (row.is_array() ? row.at(next++) : row).integer<int32_t>(0);
    }
    if (row.is_array()) row.expect_size(next);
  }
}

Table read_table(const Node& node, const std::string& kernel) {
  Table table;
  table.signature = read_signature(node.at("signature"), kernel);
  Node shapes = node.at("shapes");
  for (size_t s = 0; s < shapes.size(); ++s) {
    Node item = shapes.at(s);
    item.expect_size(3);
    Shape shape;
    if (!parse_role(item.at(size_t{0}).text(), &shape.role))
      item.at(size_t{0}).fail("expected train, measure or held_out");
    shape.weight = item.at(1).number();
    shape.slots = item.at(2).integers();
    item.at(2).expect_size(static_cast<size_t>(table.signature.num_slots()));
    table.shapes.push_back(std::move(shape));
  }
  Node configs = node.at("configs");
  for (size_t c = 0; c < configs.size(); ++c) {
    table.configs.push_back(read_config(configs.at(c), table.signature.num_slots()));
  }
  table.generic_config = node.at("generic_config").integer<int32_t>(0);
  table.default_config = node.at("default_config").integer<int32_t>(0);
  Node failures = node.at("failures");
  for (size_t f = 0; f < failures.size(); ++f) {
    failures.at(f).expect_size(2);
    Failure failure;
    std::string word = failures.at(f).at(size_t{0}).text();
    if (!parse_failure(word, &failure.kind)) failures.at(f).fail("unknown kind of failure \"" + word + "\"");
    failure.message = failures.at(f).at(1).text();
    table.failures.push_back(std::move(failure));
  }
  Node passes = node.at("passes");
  for (size_t p = 0; p < passes.size(); ++p) {
    const int pass = table.add_pass();
    read_medians(passes.at(p).at("median_ns"), &table, pass);
    read_side(passes.at(p).at("mad_permille"), &table, pass, &Cell::mad_permille);
    read_side(passes.at(p).at("samples"), &table, pass, &Cell::samples);
  }
  return table;
}

DeviceFacts read_device(const Node& node) {
  DeviceFacts device;
  device.name = node.at("name").text();
  device.hardware = node.at("hardware").text();
  device.driver = node.at("driver").text();
  device.sm_count = node.at("sm_count").integer<int32_t>(0);
  device.max_threads_per_sm = node.at("max_threads_per_sm").integer<int32_t>(0);
  device.registers_per_sm = node.at("registers_per_sm").integer<int32_t>(0);
  device.shared_bytes_per_sm = node.at("shared_bytes_per_sm").integer(0);
  device.shared_bytes_per_block = node.at("shared_bytes_per_block").integer(0);
  device.l2_bytes = node.at("l2_bytes").integer(0);
  device.sm_clock_mhz = node.at("sm_clock_mhz").integer<int32_t>(0);
  device.memory_clock_mhz = node.at("memory_clock_mhz").integer<int32_t>(0);
  return device;
}

void check_format(const Node& root, const char* format) {
  std::string got = root.at("format").text();
  if (got != format) root.at("format").fail("expected \"" + std::string(format) + "\", got \"" + got + "\"");
  int64_t version = root.at("version").integer();
  if (version != kFormatVersion) {
    root.at("version").fail("expected " + std::to_string(kFormatVersion) + ", got " + std::to_string(version) +
                            "; remake the file with this version of aot_runner");
  }
}

Measurements read_root(const Node& root) {
  check_format(root, kMeasurementsFormat);
  Measurements m;
  m.kernel = root.at("kernel").text();
  m.device = read_device(root.at("device"));
  Node origin = root.at("origin");
  m.origin = {origin.at("source_hash").text(), origin.at("compiler").text(), origin.at("ptxas").text(),
              origin.at("date").text(), origin.at("method").text()};
  m.noise_floor_permille = root.at("noise_floor_permille").integer<int32_t>(0);
  m.noise_floor_ns = root.at("noise_floor_ns").integer<int64_t>(0);
  m.empty_graph_ns = root.at("empty_graph_ns").integer(0);
  m.seconds = root.at("seconds").number();
  m.derived_features = root.at("derived_features").texts();
  m.ignored_dims = root.at("ignored_dims").texts();
  Node tables = root.at("tables");
  for (size_t t = 0; t < tables.size(); ++t) m.tables.push_back(read_table(tables.at(t), m.kernel));
  return m;
}

TrainingSet read_training_root(const Node& root) {
  check_format(root, kTrainingFormat);
  TrainingSet training;
  training.kernel = root.at("kernel").text();
  std::string hash = root.at("measurements_hash").text();
  if (hash.size() != 16 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
    root.at("measurements_hash").fail("expected 16 hexadecimal digits, got \"" + hash + "\"");
  }
  training.measurements_hash = std::stoull(hash, nullptr, 16);
  Node tables = root.at("tables");
  for (size_t t = 0; t < tables.size(); ++t) {
    Node item = tables.at(t);
    TrainingTable table;
    table.dtypes = item.at("dtypes").text();
    for (int64_t config : item.at("kept").integers(0)) table.kept.push_back(static_cast<int32_t>(config));
    table.with_teacher = item.at("with_teacher").truth();
    table.teacher_note = item.at("teacher_note").text();
    table.price_with_micro = item.at("price_with_micro").integer(0);
    table.price_without_micro = item.at("price_without_micro").integer(0);
    Node predicted = item.at("predicted");
    for (size_t s = 0; s < predicted.size(); ++s) {
      Node row = predicted.at(s);
      row.expect_size(3);
      row.at(2).expect_size(table.kept.size());
      table.predicted.push_back({row.at(size_t{0}).integers(), row.at(1).integer<int32_t>(0), row.at(2).integers(0)});
    }
    training.tables.push_back(std::move(table));
  }
  return training;
}

// "3:14" of a byte offset.
std::string line_column(std::string_view text, size_t offset) {
  size_t line = 1, column = 1;
  for (size_t i = 0; i + 1 < offset && i < text.size(); ++i) {
    column = text[i] == '\n' ? 1 : column + 1;
    line += text[i] == '\n';
  }
  return std::to_string(line) + ":" + std::to_string(column);
}

template <typename T>
Result<T> read_document(std::string_view text, const std::string& name, T (*read)(const Node&)) {
  try {
    Json json = Json::parse(text);
    return read(Node(json, name));
  } catch (const Json::parse_error& error) {
    const bool ended = error.byte > text.size();
    return Status(Code::kInvalidArgument,
                  name + ":" + line_column(text, error.byte) +
                      (ended ? ": the text ends in the middle of a value; it was truncated" : ": not JSON here"));
  } catch (const Json::exception& error) {
    return Status(Code::kInvalidArgument, name + ": " + error.what());
  } catch (const ReadError& error) {
    return Status(Code::kInvalidArgument, error.message);
  }
}

}  // namespace

Result<Measurements> read_measurements(std::string_view text, const std::string& name) {
  KAON_ASSIGN_OR_RETURN(Measurements measurements, read_document(text, name, &read_root));
  if (Status status = validate(measurements); !status.is_ok()) {
    return Status(status.code(), name + ": " + status.message());
  }
  return measurements;
}

Result<TrainingSet> read_training(std::string_view text, const std::string& name) {
  return read_document(text, name, &read_training_root);
}

}  // namespace kaon::heuristics
