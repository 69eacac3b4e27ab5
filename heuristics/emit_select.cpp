// select(): a decision tree as code over integers.
#include <algorithm>
#include <map>
#include <set>

#include "heuristics/emit_cpp.h"
#include "heuristics/source_writer.h"

namespace kaon::heuristics {
namespace {

// Up to here a sum of products of comparisons beats branches that a random stream of shapes mispredicts.
constexpr size_t kMaxBranchFreeNodes = 31;

class SelectEmitter {
 public:
  SelectEmitter(const DecisionTree& tree, const Signature& signature, const std::vector<std::string>& variant_names)
      : tree_(tree), variant_names_(variant_names), slot_names_(signature.slot_names()) {
    for (std::string& name : slot_names_) name = identifier(name);
    for (const TreeFeature& feature : tree.features) feature_names_.push_back(name_feature(feature));
  }

  std::string run(const std::string& name) {
    const bool constant = tree_.nodes[0].feature < 0;
    out_.line("int " + name + "(const int64_t*" + (constant ? "" : " slots") + ") {");
    {
      SourceWriter::Indent indent(out_);
      if (constant) {
        out_.line("return " + std::to_string(tree_.nodes[0].leaf) + ";" + leaf_comment(tree_.nodes[0]));
      } else {
        declare_features();
        if (tree_.nodes.size() <= kMaxBranchFreeNodes) {
          branch_free();
        } else {
          nested(0);
        }
      }
    }
    out_.line("}");
    return out_.text();
  }

 private:
  // A bare slot is called as the slot is; others after the feature, made distinct if need be.
  std::string name_feature(const TreeFeature& feature) const {
    const std::vector<ExprStep>& steps = feature.value.steps();
    if (steps.size() == 1 && steps[0].op == ExprOp::kSlot) return slot_names_[static_cast<size_t>(steps[0].operand)];
    std::string name = identifier(feature.name);
    auto taken = [&](const std::string& candidate) {
      return std::count(slot_names_.begin(), slot_names_.end(), candidate) +
                 std::count(feature_names_.begin(), feature_names_.end(), candidate) >
             0;
    };
    while (taken(name)) name += "_";
    return name;
  }

  // What some node reads: others would be variables without a use.
  void declare_features() {
    std::set<int> used;
    for (const TreeNode& node : tree_.nodes) {
      if (node.feature >= 0) used.insert(node.feature);
    }
    std::set<int64_t> slots;
    for (int f : used) {
      for (const ExprStep& step : tree_.features[static_cast<size_t>(f)].value.steps()) {
        if (step.op == ExprOp::kSlot) slots.insert(step.operand);
      }
    }
    for (int64_t slot : slots) {
      out_.line("const int64_t " + slot_names_[static_cast<size_t>(slot)] + " = slots[" + std::to_string(slot) + "];");
    }
    for (int f : used) {
      const TreeFeature& feature = tree_.features[static_cast<size_t>(f)];
      const std::vector<ExprStep>& steps = feature.value.steps();
      if (steps.size() == 1 && steps[0].op == ExprOp::kSlot) continue;
      out_.line("const int64_t " + feature_names_[f] + " = " + feature.value.to_string(slot_names_) + ";");
    }
  }

  std::string leaf_comment(const TreeNode& node) const {
    std::string text = "  // " + std::to_string(node.shapes) + (node.shapes == 1 ? " shape: " : " shapes: ");
    const std::vector<uint16_t>& leaf = tree_.leaves[node.leaf];
    for (size_t i = 0; i < leaf.size(); ++i) text += (i > 0 ? " > " : "") + variant_names_[leaf[i]];
    return text;
  }

  std::string condition_name(const TreeNode& node) const {
    const std::string threshold = std::to_string(node.threshold);
    return feature_names_[node.feature] + (node.threshold < 0 ? "_le_minus_" + threshold.substr(1) : "_le_" + threshold);
  }

  void branch_free() {
    std::set<std::string> declared;
    for (const TreeNode& node : tree_.nodes) {
      if (node.feature < 0 || !declared.insert(condition_name(node)).second) continue;
      out_.line("const bool " + condition_name(node) + " = " + feature_names_[node.feature] +
                " <= " + std::to_string(node.threshold) + ";");
    }
    out_.line("int leaf = 0;");
    std::vector<std::pair<std::string, std::string>> terms;  // code, comment
    collect_terms(0, "", &terms);
    size_t width = 0;
    for (const auto& [code, comment] : terms) width = std::max(width, code.size());
    for (const auto& [code, comment] : terms) out_.line(code + std::string(width - code.size(), ' ') + comment);
    out_.line("return leaf;");
  }

  void collect_terms(size_t index, const std::string& path, std::vector<std::pair<std::string, std::string>>* terms) {
    const TreeNode& node = tree_.nodes[index];
    if (node.feature < 0) {
      terms->push_back({"leaf += " + std::to_string(node.leaf) + " * (" + path + ");", leaf_comment(node)});
      return;
    }
    const std::string joint = path.empty() ? "" : path + " & ";
    collect_terms(node.left, joint + condition_name(node), terms);
    collect_terms(node.right, joint + "!" + condition_name(node), terms);
  }

  void nested(size_t index) {
    const TreeNode& node = tree_.nodes[index];
    if (node.feature < 0) {
      out_.line("return " + std::to_string(node.leaf) + ";" + leaf_comment(node));
      return;
    }
    out_.line("if (" + feature_names_[node.feature] + " <= " + std::to_string(node.threshold) + ") {");
    {
      SourceWriter::Indent indent(out_);
      nested(node.left);
    }
    out_.line("}");
    nested(node.right);
  }

  const DecisionTree& tree_;
  const std::vector<std::string>& variant_names_;
  std::vector<std::string> slot_names_;
  std::vector<std::string> feature_names_;
  SourceWriter out_;
};

}  // namespace

std::string emit_select(const DecisionTree& tree, const Signature& signature, const std::string& name,
                        const std::vector<std::string>& variant_names) {
  return SelectEmitter(tree, signature, variant_names).run(name);
}

}  // namespace kaon::heuristics
