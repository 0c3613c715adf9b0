#include "format/parquet/json_rows.h"

#include <algorithm>

#include "base/try.h"
#include "format/parquet/value_text.h"

namespace headrace::parquet {
namespace {

class Joiner {
 public:
  Joiner(const Node& column, const std::vector<LeafEntries>& leaves, LeafEntries& out)
      : column_(column), leaves_(leaves), at_(column.end_leaf - column.first_leaf, 0), out_(out) {}

  /// The next row; false if the leaves contradict each other.
  bool row() {
    if (!at_row_begin()) return false;
    const bool there = !column_.optional || def(column_) >= column_.def;
    if (there)
      node(column_);
    else
      pass(column_);
    out_.def.push_back(there ? 1 : 0);
    out_.ends.push_back(static_cast<uint32_t>(out_.text.size()));
    return ok_;
  }

  bool at_end() const {
    for (uint32_t leaf = column_.first_leaf; leaf < column_.end_leaf; ++leaf)
      if (at_[leaf - column_.first_leaf] != leaves_[leaf].size()) return false;
    return true;
  }

 private:
  bool at_row_begin() const {
    for (uint32_t leaf = column_.first_leaf; leaf < column_.end_leaf; ++leaf) {
      const size_t entry = at_[leaf - column_.first_leaf];
      if (entry >= leaves_[leaf].size() || leaves_[leaf].rep_of(entry) != 0) return false;
    }
    return true;
  }

  size_t& entry(const Node& node) { return at_[node.first_leaf - column_.first_leaf]; }

  /// Of the entry that the node's first leaf is at, which speaks for all below the node.
  uint8_t def(const Node& node) {
    const LeafEntries& leaf = leaves_[node.first_leaf];
    if (entry(node) < leaf.size()) return leaf.def_of(entry(node));
    ok_ = false;
    return 0;
  }

  /// Whether the node's next entry belongs to the same list.
  bool goes_on(const Node& node) {
    const LeafEntries& leaf = leaves_[node.first_leaf];
    return ok_ && entry(node) < leaf.size() && leaf.rep_of(entry(node)) == node.rep &&
           out_.text.size() <= kLargestFrame;
  }

  /// What is not there has one entry in each leaf below.
  void pass(const Node& node) {
    for (uint32_t leaf = node.first_leaf; leaf < node.end_leaf; ++leaf)
      ++at_[leaf - column_.first_leaf];
  }

  void node(const Node& node) {
    if (node.repeated) return list(node, [&] { present(node); });
    if (!node.optional || def(node) >= node.def) return present(node);
    out_.text += "null";
    pass(node);
  }

  template <typename Element>
  void list(const Node& repeated, const Element& element) {
    out_.text += '[';
    if (def(repeated) < repeated.def) {
      pass(repeated);
    } else {
      element();
      while (goes_on(repeated)) {
        out_.text += ',';
        element();
      }
    }
    out_.text += ']';
  }

  void present(const Node& node) {
    switch (node.shape) {
      case Node::Shape::kLeaf:
        return leaf(node);
      case Node::Shape::kStruct:
        return parts(node);
      case Node::Shape::kList:
        return elements(node, node.children.front());
      case Node::Shape::kMap:
        return pairs(node.children.front());
    }
  }

  void leaf(const Node& node) {
    const LeafEntries& leaf = leaves_[node.first_leaf];
    size_t& at = entry(node);
    if (at >= leaf.size()) {
      ok_ = false;
      return;
    }
    const auto value = leaf.value(at++);
    out_.text += value.empty() ? "null" : value;  // JSON is never empty
  }

  void parts(const Node& node) {
    out_.text += '{';
    for (const Node& child : node.children) {
      if (&child != &node.children.front()) out_.text += ',';
      append_quoted(child.name, out_.text);
      out_.text += ':';
      this->node(child);
    }
    out_.text += '}';
  }

  /// Older writers have no node between the repeated one and the elements.
  void elements(const Node& node, const Node& repeated) {
    const bool is_element = repeated.shape != Node::Shape::kStruct ||
                            repeated.children.size() != 1 || repeated.name == "array" ||
                            repeated.name == node.name + "_tuple";
    list(repeated, [&] {
      if (is_element)
        present(repeated);
      else
        this->node(repeated.children.front());
    });
  }

  void pairs(const Node& repeated) {
    list(repeated, [&] {
      out_.text += '[';
      node(repeated.children[0]);
      out_.text += ',';
      node(repeated.children[1]);
      out_.text += ']';
    });
  }

  const Node& column_;
  const std::vector<LeafEntries>& leaves_;
  std::vector<size_t> at_;  // the next entry of each leaf
  LeafEntries& out_;
  bool ok_ = true;
};

}  // namespace

Result<LeafEntries> join_rows(const Node& column, const std::vector<LeafEntries>& leaves,
                              uint64_t rows, uint64_t offset, Budget& budget) {
  LeafEntries out;
  Joiner joiner(column, leaves, out);
  for (uint64_t row = 0; row < rows; ++row) {
    const size_t before = out.text.size();
    const bool joined = joiner.row();
    const size_t more = out.text.size() - before;
    if (more > budget.text) return too_large(offset);
    if (!joined) return damaged_page("the parts of a nested column contradict each other", offset);
    budget.text -= more;
  }
  if (!joiner.at_end()) return damaged_page("a nested column has more rows than it should", offset);
  return out;
}

}  // namespace headrace::parquet
