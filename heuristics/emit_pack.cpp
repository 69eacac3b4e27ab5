// Records, JSON for people, and images without duplicates.
#include "heuristics/emit_pack.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "heuristics/json_writer.h"
#include "heuristics/shipped.h"
#include "heuristics/tree_passes.h"
#include "runtime/base/guards.h"

namespace kaon::heuristics {
namespace {

class ImagePool {
 public:
  explicit ImagePool(std::vector<PackImage>* images) : images_(images) {}

  ImageRef add(const VariantImage& image) {
    const auto key = std::make_tuple(image.target, image.kind, image.bytes);
    auto [it, is_new] = index_.emplace(key, static_cast<uint32_t>(images_->size()));
    if (is_new) images_->push_back({image.target, image.kind, image.bytes});
    return {it->second, image.trust};
  }

 private:
  std::vector<PackImage>* images_;
  std::map<std::tuple<std::string, ImageKind, std::string>, uint32_t> index_;
};

kaon::VariantEvidence pack_evidence(const VariantEvidence& evidence) {
  kaon::VariantEvidence out;
  out.shapes_served = static_cast<uint32_t>(evidence.shapes_served);
  if (evidence.shapes_served > 0) {
    out.geomean_of_oracle = 1 / evidence.geomean_slowdown;
    out.worst_of_oracle = 1 / evidence.worst_slowdown;
  }
  return out;
}

// Extremes and dims of the fitted shapes: what the tree was fitted to is what the runtime may call covered.
void fill_ranges(const Measurements& measurements, const Table& table, PackTable* out) {
  const int num_dims = static_cast<int>(table.signature.dims.size());
  out->ranges.resize(num_dims);
  for (int d = 0; d < num_dims; ++d) {
    const std::vector<std::string>& ignored = measurements.ignored_dims;
    out->ranges[d].is_ignored = std::find(ignored.begin(), ignored.end(), table.signature.dims[d]) != ignored.end();
  }
  for (const Shape& shape : table.shapes) {
    if (shape.role == Role::kHeldOut) continue;
    std::vector<int64_t> dims;
    for (int d = 0; d < num_dims; ++d) {
      const int64_t size = shape.slots[table.signature.dim_slot(d)];
      DimRange& range = out->ranges[d];
      range.min = out->shapes.empty() ? size : std::min(range.min, size);
      range.max = out->shapes.empty() ? size : std::max(range.max, size);
      dims.push_back(size);
    }
    out->shapes.push_back(std::move(dims));
  }
}

void write_scores(JsonWriter& json, const DistilledTable& table) {
  for (int held_out : {0, 1}) {
    const Score& score = table.tree_score[held_out];
    json.key(held_out ? "held_out" : "fitted").begin_object().key("shapes").value(score.shapes);
    json.key("geomean_of_oracle").value(score.geomean).key("worst_of_oracle").value(score.worst).end_object();
  }
}

std::string people_json(const Measurements& m, const Distilled& distilled, const std::string& date) {
  JsonWriter json;
  json.begin_object().line(1).key("kernel").value(m.kernel).key("hardware").value(m.device.hardware);
  json.line(1).key("device").value(m.device.name).key("driver").value(m.device.driver);
  json.key("sm_count").value(m.device.sm_count).key("sm_clock_mhz").value(m.device.sm_clock_mhz);
  json.line(1).key("source_hash").value(m.origin.source_hash).key("compiler").value(m.origin.compiler);
  json.key("ptxas").value(m.origin.ptxas);
  json.line(1).key("measured").value(m.origin.date).key("method").value(m.origin.method).key("generated").value(date);
  json.line(1).key("noise_floor_permille").value(m.noise_floor_permille);
  json.key("noise_floor_ns").value(m.noise_floor_ns);
  json.key("empty_graph_ns").value(m.empty_graph_ns);
  json.line(1).key("tables").begin_array();
  for (const DistilledTable& table : distilled.tables) {
    const Table& measured = m.tables[table.table];
    json.line(2).begin_object().key("dtypes").value(table.dtypes);
    write_scores(json, table);
    json.key("teacher").value(table.teacher_note);
    std::vector<std::string> names;
    json.line(3).key("variants").begin_array();
    for (const VariantEvidence& evidence : table.variants) {
      const ConfigRow& row = measured.configs[evidence.config];
      names.push_back(row.variant.config.to_text());
      json.line(4).begin_object().key("config").raw(row.variant.config.to_json());
      json.key("guards").value(guards_text(measured.signature, row.variant.guards));
      json.key("shapes_served").value(evidence.shapes_served).key("shapes_best").value(evidence.shapes_best);
      json.key("registers").value(row.resources.registers);
      json.key("spill_bytes").value(row.resources.spill_store_bytes + row.resources.spill_load_bytes).end_object();
    }
    json.end_array().line(3).key("tree").value(tree_text(table.tree, names)).end_object();
  }
  json.end_array().line().end_object();
  return json.text() + "\n";
}

Status check_images(const Distilled& distilled, const ImageTable& images) {
  if (images.size() != distilled.tables.size()) {
    return {Code::kInvalidArgument, "pack of " + distilled.kernel + ": images for " + std::to_string(images.size()) +
                                        " tables, expected " + std::to_string(distilled.tables.size())};
  }
  for (size_t t = 0; t < images.size(); ++t) {
    const size_t expected = distilled.tables[t].variants.size();
    const std::string where = "pack of " + distilled.kernel + ", table \"" + distilled.tables[t].dtypes + "\": ";
    if (images[t].size() != expected) {
      return {Code::kInvalidArgument, where + "images for " + std::to_string(images[t].size()) +
                                          " variants, expected " + std::to_string(expected)};
    }
    for (size_t v = 0; v < expected; ++v) {
      if (images[t][v].empty())
        return {Code::kInvalidArgument, where + "variant " + std::to_string(v) + " has no image"};
      for (const VariantImage& image : images[t][v]) {
        if (image.bytes.empty()) {
          return {Code::kInvalidArgument,
                  where + "variant " + std::to_string(v) + " has an empty image for " + image.target};
        }
      }
    }
  }
  return Status::ok();
}

}  // namespace

Result<PackContents> make_pack(const Measurements& measurements, const Distilled& distilled, const ImageTable& images,
                               const std::string& date) {
  KAON_RETURN_IF_ERROR(check_images(distilled, images));
  PackContents contents;
  contents.records.kernel = measurements.kernel;
  contents.records.hardware = measurements.device.hardware;
  contents.json = people_json(measurements, distilled, date);
  ImagePool pool(&contents.images);
  for (ShippedTable& shipped : shipped_tables(measurements, distilled)) {
    PackTable out;
    out.dtype_key = shipped.dtypes;
    out.signature = measurements.tables[distilled.tables[shipped.parts[0]].table].signature;
    out.tree = std::move(shipped.tree);
    out.generic_variant = out.tree.leaves[0].back();
    for (int part : shipped.parts) {
      const DistilledTable& table = distilled.tables[part];
      const Table& measured = measurements.tables[table.table];
      for (size_t v = 0; v < table.variants.size(); ++v) {
        PackVariant variant;
        variant.info = measured.configs[table.variants[v].config].variant;
        variant.fingerprint = variant.info.config.fingerprint();
        variant.evidence = pack_evidence(table.variants[v]);
        for (const VariantImage& image : images[part][v]) variant.images.push_back(pool.add(image));
        out.variants.push_back(std::move(variant));
      }
      fill_ranges(measurements, measured, &out);
    }
    contents.records.tables.push_back(std::move(out));
  }
  return contents;
}

}  // namespace kaon::heuristics
