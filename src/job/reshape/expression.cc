#include "job/reshape/expression.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "job/pattern.h"

namespace headrace {
namespace {

using nlohmann::json;
using Value = std::variant<std::monostate, bool, double, std::string>;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<double> as_number(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

Value from_json(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return {};
  return value.dump();
}

// The fields of one sample, each read and parsed once.
class Fields {
 public:
  explicit Fields(const ScannedSample& sample) : sample_(sample) {}

  Result<Value> value(const std::vector<std::string>& path) {
    const IndexMember* member = sample_.find(path[0]);
    if (member == nullptr) return Value();
    if (path.size() > 1) return in_json(*member, path);
    std::string text;
    HR_CHECK(sample_.read(*member, text));
    const std::string_view inner = trimmed(text);
    if (const auto number = as_number(inner)) return Value(*number);
    return Value(std::string(inner));
  }

  const ScannedSample& sample() const { return sample_; }

 private:
  Result<Value> in_json(const IndexMember& member, const std::vector<std::string>& path) {
    auto known = documents_.find(path[0]);
    if (known == documents_.end()) {
      std::string text;
      HR_CHECK(sample_.read(member, text));
      json document = json::parse(text, nullptr, false);
      if (document.is_discarded())
        return Error{.code = Code::kCorrupt,
                     .message = "the field '" + path[0] + "' is no JSON",
                     .origin = sample_.origin()};
      known = documents_.emplace(path[0], std::move(document)).first;
    }
    const json* at = &known->second;
    for (size_t i = 1; i < path.size(); ++i) {
      if (!at->is_object() || !at->contains(path[i])) return Value();
      at = &(*at)[path[i]];
    }
    return from_json(*at);
  }

  const ScannedSample& sample_;
  std::map<std::string, json> documents_;
};

bool is_true(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth;
  if (const double* number = std::get_if<double>(&value)) return *number != 0;
  if (const std::string* text = std::get_if<std::string>(&value)) return !text->empty();
  return false;
}

bool compare(const Value& a, const std::string& how, const Value& b) {
  if (std::holds_alternative<std::monostate>(a) || std::holds_alternative<std::monostate>(b))
    return false;
  if (a.index() != b.index()) return how == "!=";
  if (how == "=") return a == b;
  if (how == "!=") return a != b;
  if (how == "<") return a < b;
  if (how == "<=") return a <= b;
  return how == ">" ? a > b : a >= b;
}

}  // namespace

struct Expression::Node {
  enum class Kind { kLiteral, kField, kKey, kSize, kNot, kAnd, kOr, kCompare, kIn, kMatch, kNull };
  Kind kind = Kind::kLiteral;
  Value literal = {};
  std::vector<std::string> path = {};  // of kField; of kSize: one field, or none for all
  std::string compare = {};            // of kCompare
  std::optional<Pattern> pattern = {};
  std::vector<Node> parts = {};
};

namespace {

using Node = Expression::Node;
using Kind = Node::Kind;

// In parentheses and behind `not`: more than anybody writes, and no danger to the stack.
constexpr unsigned kDeepest = 200;

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) { advance(); }

  Result<Node> whole() {
    HR_TRY(Node node, either());
    if (!token_.empty()) return bad("expected the end");
    return node;
  }

 private:
  Error bad(const std::string& why) const {
    return {.code = Code::kUsage,
            .message = "the condition is not understood at character " +
                       std::to_string(begin_ + 1) + ", '" + token_ + "': " + why,
            .hint = "Write it as: json.width >= 256 and cls in (1, 2) and not size(jpg) > 1000000"};
  }

  static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  }

  // A word, a quoted text with its opening quote, or an operator; "" at the end.
  void advance() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    begin_ = at_;
    token_.clear();
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (c == '\'' || c == '"') {
      const size_t end = text_.find(c, at_ + 1);
      token_ = text_.substr(at_, (end == std::string::npos ? text_.size() : end) - at_);
      at_ = end == std::string::npos ? text_.size() : end + 1;
      closed_ = end != std::string::npos;
      return;
    }
    if (is_word(c)) {
      while (at_ < text_.size() && is_word(text_[at_])) token_ += text_[at_++];
      return;
    }
    for (const char* two : {"!=", "<=", ">=", "<>", "=="})
      if (text_.compare(at_, 2, two) == 0) token_ = two;
    if (token_.empty()) token_ = std::string(1, c);
    at_ += token_.size();
  }

  bool accept(const std::string& token) {
    if (token_ != token) return false;
    advance();
    return true;
  }

  Result<Node> either() { return chain("or", Kind::kOr, &Parser::both); }
  Result<Node> both() { return chain("and", Kind::kAnd, &Parser::negation); }

  // One node for all of `a or b or c`, so that a long list of them is not a deep tree.
  Result<Node> chain(const char* word, Kind kind, Result<Node> (Parser::*part)()) {
    HR_TRY(Node first, (this->*part)());
    if (token_ != word) return first;
    Node all{.kind = kind, .parts = {std::move(first)}};
    while (accept(word)) {
      HR_TRY(Node next, (this->*part)());
      all.parts.push_back(std::move(next));
    }
    return all;
  }

  Result<Node> negation() {
    if (!accept("not")) return comparison();
    HR_TRY(Node inner, deeper(&Parser::negation));
    return Node{.kind = Kind::kNot, .parts = {std::move(inner)}};
  }

  Result<Node> deeper(Result<Node> (Parser::*part)()) {
    if (depth_ == kDeepest) return bad("it is nested too deeply");
    ++depth_;
    Result<Node> inner = (this->*part)();
    --depth_;
    return inner;
  }

  static Node negated(bool negate, Node node) {
    if (!negate) return node;
    return Node{.kind = Kind::kNot, .parts = {std::move(node)}};
  }

  Result<Node> comparison() {
    HR_TRY(Node left, operand());
    if (accept("is")) {
      const bool negate = accept("not");
      if (!accept("null")) return bad("expected null");
      return negated(negate, Node{.kind = Kind::kNull, .parts = {std::move(left)}});
    }
    const bool negate = accept("not");
    if (accept("in")) return negated_list(negate, std::move(left));
    if (negate) return bad("expected in");
    if (accept("~")) {
      if (token_.empty() || (token_[0] != '\'' && token_[0] != '"'))
        return bad("expected a pattern in quotes");
      HR_TRY(Pattern pattern, Pattern::compile(token_.substr(1)));
      advance();
      return Node{.kind = Kind::kMatch, .pattern = std::move(pattern), .parts = {std::move(left)}};
    }
    for (const char* how : {"=", "==", "!=", "<>", "<", "<=", ">", ">="}) {
      if (!accept(how)) continue;
      HR_TRY(Node right, operand());
      const std::string plain = how == std::string("==")   ? "="
                                : how == std::string("<>") ? "!="
                                                           : how;
      return Node{
          .kind = Kind::kCompare, .compare = plain, .parts = {std::move(left), std::move(right)}};
    }
    return left;
  }

  Result<Node> negated_list(bool negate, Node left) {
    Node list{.kind = Kind::kIn, .parts = {std::move(left)}};
    if (!accept("(")) return bad("expected (");
    do {
      HR_TRY(Node one, operand());
      list.parts.push_back(std::move(one));
    } while (accept(","));
    if (!accept(")")) return bad("expected )");
    return negated(negate, std::move(list));
  }

  Result<Node> operand() {
    if (token_.empty()) return bad("expected a name, a number or a text");
    if (accept("(")) {
      HR_TRY(Node inner, deeper(&Parser::either));
      if (!accept(")")) return bad("expected )");
      return inner;
    }
    if (token_[0] == '\'' || token_[0] == '"') {
      if (!closed_) return bad("the quote is not closed");
      Node node{.literal = token_.substr(1)};
      advance();
      return node;
    }
    if (!is_word(token_[0])) return bad("expected a name, a number or a text");
    const std::string word = token_;
    advance();
    if (word == "true" || word == "false") return Node{.literal = word == "true"};
    if (const auto number = as_number(word)) return Node{.literal = *number};
    if (word == "key") return Node{.kind = Kind::kKey};
    if (word == "size") return size_of();
    return Node{.kind = Kind::kField, .path = split_path(word)};
  }

  Result<Node> size_of() {
    Node node{.kind = Kind::kSize};
    if (!accept("(")) return node;
    node.path = {token_};
    advance();
    if (!accept(")")) return bad("expected )");
    return node;
  }

  static std::vector<std::string> split_path(const std::string& word) {
    std::vector<std::string> path;
    size_t begin = 0;
    for (size_t dot = 0; dot != std::string::npos; begin = dot + 1) {
      dot = word.find('.', begin);
      path.push_back(word.substr(begin, dot - begin));
    }
    return path;
  }

  const std::string& text_;
  size_t at_ = 0;
  size_t begin_ = 0;  // of the token
  std::string token_;
  bool closed_ = true;  // its quote
  unsigned depth_ = 0;
};

Result<Value> evaluate(const Node& node, Fields& fields);

Result<Value> evaluate_size(const Node& node, const ScannedSample& sample) {
  if (node.path.empty()) return Value(static_cast<double>(sample.payload_bytes()));
  const IndexMember* member = sample.find(node.path[0]);
  return member == nullptr ? Value() : Value(static_cast<double>(member->size));
}

Result<Value> evaluate_in(const Node& node, Fields& fields) {
  HR_TRY(const Value value, evaluate(node.parts[0], fields));
  for (size_t i = 1; i < node.parts.size(); ++i) {
    HR_TRY(const Value one, evaluate(node.parts[i], fields));
    if (compare(value, "=", one)) return Value(true);
  }
  return Value(false);
}

Result<Value> evaluate(const Node& node, Fields& fields) {
  switch (node.kind) {
    case Kind::kLiteral:
      return node.literal;
    case Kind::kField:
      return fields.value(node.path);
    case Kind::kKey:
      return Value(std::string(fields.sample().key()));
    case Kind::kSize:
      return evaluate_size(node, fields.sample());
    case Kind::kIn:
      return evaluate_in(node, fields);
    default:
      break;
  }
  HR_TRY(const Value left, evaluate(node.parts[0], fields));
  if (node.kind == Kind::kNot) return Value(!is_true(left));
  if (node.kind == Kind::kNull) return Value(std::holds_alternative<std::monostate>(left));
  if (node.kind == Kind::kMatch) {
    const std::string* text = std::get_if<std::string>(&left);
    return Value(text != nullptr && node.pattern->matches(*text));
  }
  if (node.kind == Kind::kCompare) {
    HR_TRY(const Value right, evaluate(node.parts[1], fields));
    return Value(compare(left, node.compare, right));
  }
  const bool decides = node.kind == Kind::kOr;  // what makes the others not count
  bool so_far = is_true(left);
  for (size_t i = 1; i < node.parts.size() && so_far != decides; ++i) {
    HR_TRY(const Value next, evaluate(node.parts[i], fields));
    so_far = is_true(next);
  }
  return Value(so_far);
}

}  // namespace

Result<Expression> Expression::parse(const std::string& text) {
  HR_TRY(Node root, Parser(text).whole());
  Expression expression;
  expression.root_ = std::make_shared<const Node>(std::move(root));
  return expression;
}

Result<bool> Expression::holds(const ScannedSample& sample) const {
  Fields fields(sample);
  HR_TRY(const Value value, evaluate(*root_, fields));
  return is_true(value);
}

}  // namespace headrace
