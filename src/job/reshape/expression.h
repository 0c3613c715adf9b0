// Conditions on a sample, as SQL has them:
//
//   json.width >= 256 and json.lang in ('en', 'de') and not json.nsfw
//   cls = 3 or size(jpg) < 1000000 or key ~ '^train/'
//   json.caption is null
//
// Names: key; size (of all fields) and size(FIELD), in bytes; FIELD, its text, as a number where it
// is one; FIELD.a.b, a value in a JSON field. What is missing is null; a comparison with null is
// false. Between a number and a text only `=` and `!=` are known, and they differ.
// Thread-safety: immutable.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "job/reshape/scan.h"

namespace headrace {

class Expression {
 public:
  /// Code::kUsage names the place that is not understood.
  static Result<Expression> parse(const std::string& text);
  /// Code::kCorrupt for a field that should be JSON and is not.
  Result<bool> holds(const ScannedSample& sample) const;

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace headrace
