// A KeyRule turns the path of a file or tar member into the key of a sample and the name of a
// field.
//
//   rule         a/d.v1/Cat.seg.JPG        note.tar.gz          d/.hid.txt    README, .hid
//   webdataset   a/d.v1/Cat   seg.jpg      note      tar.gz     d/  hid.txt   skipped
//   base         Cat          seg.jpg      note      tar.gz     skipped       skipped
//   path         a/d.v1/Cat.seg  jpg       note.tar  gz         skipped       skipped
//   flat         a_d.v1_Cat   seg.jpg      note      tar.gz     skipped       skipped
//
//   webdataset   key: the path up to the first dot of its last part; field: the rest. As the
//                webdataset library has it, to the oddities: a dot file in a folder without dots
//                in its name has the folder as its key, `foo.` has an empty field.
//   base         the same split of the last part alone; folders are dropped.
//   path         key: the path without its last extension.
//   flat         the split of webdataset, and the folders joined into the key by '_' (a leading
//                "/" or "./" is dropped). `a/b_c` and `a_b/c` become one key: packing then says
//                that two files claim it.
//   a regex      with groups named `key` and `field`, as (?<key>[a-z]+)_(?<field>.*): it must match
//                the whole path. A path that it does not match, or with an empty key, is skipped.
//                Syntax: PCRE2, on bytes. Matching is limited, so that no pattern can hang.
//
// In all rules ASCII letters of the field become lower-case and keys stay as they are. The named
// rules skip paths whose first part is `__x__` (metadata, as in webdataset).
// Thread-safety: immutable after parse(); any number of threads may call split().
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headrace/result.h"

namespace headrace {

struct KeyField {
  std::string key;    ///< never empty
  std::string field;  ///< may be empty: "foo."
};

class KeyRule {
 public:
  /// The webdataset rule.
  KeyRule() = default;

  /// "webdataset", "base", "path", "flat" or a regular expression. Code::kUsage if it is neither.
  static Result<KeyRule> parse(std::string_view text);

  /// Splits `path` into `out`, whose memory is used again; false: the path is no part of a sample
  /// and `out` is unspecified. An error only where a regular expression hits its limits.
  Result<bool> split(std::string_view path, KeyField& out) const;

  /// What parse() was given, for manifests and messages.
  const std::string& text() const { return text_; }

 private:
  enum class Kind { kWebdataset, kBase, kPath, kFlat, kRegex };
  struct Regex;

  bool split_named(std::string_view path, KeyField& out) const;

  Kind kind_ = Kind::kWebdataset;
  std::string text_ = "webdataset";
  std::shared_ptr<const Regex> regex_;
};

}  // namespace headrace
