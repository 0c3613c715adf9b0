#include "plan/manifest.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/digest.h"
#include "base/safe_path.h"
#include "base/try.h"

// docs/format.md describes the JSON. Names are bytes: one that is not UTF-8 is written as
// {"hex": "636166e9"} instead of a string.

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kFormat = 1;
constexpr std::array<std::pair<Container, const char*>, 7> kContainers{
    {{Container::kTar, "tar"},
     {Container::kFiles, "files"},
     {Container::kTarGz, "tar.gz"},
     {Container::kTarLz4, "tar.lz4"},
     {Container::kTarZst, "tar.zst"},
     {Container::kZip, "zip"},
     {Container::kParquet, "parquet"}}};
constexpr int kDeepest = 64;  // levels of JSON; ours has four, and a recipe a few more

Error bad(const std::string& what, const std::string& path) {
  return {Code::kCorrupt,
          "the manifest is wrong: " + what,
          {path},
          "Make it again with `headrace index`, or pack the data set again"};
}

bool is_utf8(const std::string& text) {
  const Json json(text);
  return json.dump(-1, ' ', false, Json::error_handler_t::ignore) ==
         json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json name_to_json(const std::string& name) {
  if (is_utf8(name)) return name;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : name) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return {{"hex", hex}};
}

Json table_to_json(const TableFile& table) {
  return {{"path", table.path}, {"bytes", table.bytes}, {"sha256", table.sha256}};
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// Levels of brackets, so that a hostile file cannot exhaust the stack of a recursive printer.
int depth_of(std::string_view json) {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') {
      ++i;
    } else if (c == '"') {
      in_string = !in_string;
    } else if (!in_string && (c == '{' || c == '[')) {
      deepest = std::max(deepest, ++depth);
    } else if (!in_string && (c == '}' || c == ']')) {
      --depth;
    }
  }
  return deepest;
}

/// A value in the JSON, and its path there for messages, as "fields[2].bytes".
class Node {
 public:
  Node(const Json& json, std::string at, const std::string& file)
      : json_(&json), at_(std::move(at)), file_(&file) {}

  bool has(const char* key) const { return json_->is_object() && json_->contains(key); }

  Result<Node> get(const char* key) const {
    if (!json_->is_object()) return wrong("an object");
    const std::string at = at_.empty() ? key : at_ + "." + key;
    const auto found = json_->find(key);
    if (found == json_->end()) return bad("'" + at + "' is missing", *file_);
    return Node(*found, at, *file_);
  }

  Result<std::vector<Node>> items() const {
    if (!json_->is_array()) return wrong("a list");
    std::vector<Node> nodes;
    nodes.reserve(json_->size());
    for (const Json& item : *json_)
      nodes.emplace_back(item, at_ + "[" + std::to_string(nodes.size()) + "]", *file_);
    return nodes;
  }

  Result<uint64_t> number(const char* key) const {
    HR_TRY(const Node node, get(key));
    if (!node.json_->is_number_unsigned()) return node.wrong("a whole number of at most 64 bits");
    return node.json_->get<uint64_t>();
  }

  Result<std::string> text(const char* key) const {
    HR_TRY(const Node node, get(key));
    if (!node.json_->is_string()) return node.wrong("a string");
    return node.json_->get<std::string>();
  }

  /// A string, or bytes as {"hex": …}.
  Result<std::string> name() const {
    if (json_->is_string()) return json_->get<std::string>();
    if (!json_->is_object()) return wrong("a string or {\"hex\": ...}");
    HR_TRY(const std::string hex, text("hex"));
    if (hex.size() % 2 != 0 || !is_hex(hex)) return wrong("a name in hexadecimal digits");
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::string bytes;
    for (size_t i = 0; i < hex.size(); i += 2)
      bytes += static_cast<char>(digit(hex[i]) << 4 | digit(hex[i + 1]));
    return bytes;
  }

  std::string dump() const {
    return json_->is_string() ? json_->get<std::string>() : json_->dump();
  }

  Error wrong(const std::string& expected) const {
    return bad("'" + at_ + "' is not " + expected, *file_);
  }

 private:
  const Json* json_;
  std::string at_;
  const std::string* file_;
};

Result<TableFile> read_table(const Node& node) {
  TableFile table;
  HR_TRY(table.path, node.text("path"));
  HR_TRY(table.bytes, node.number("bytes"));
  HR_TRY(table.sha256, node.text("sha256"));
  if (!is_safe_path(table.path) || !table.path.starts_with(std::string(kTableFolder) + "/")) {
    HR_TRY(const Node path, node.get("path"));
    return path.wrong("a path below _headrace/");
  }
  if (table.sha256.size() != 64 || !is_hex(table.sha256)) {
    HR_TRY(const Node sha256, node.get("sha256"));
    return sha256.wrong("a SHA-256 of 64 hexadecimal digits");
  }
  return table;
}

Result<FieldSummary> read_field(const Node& node) {
  FieldSummary field;
  HR_TRY(const Node name, node.get("name"));
  HR_TRY(field.name, name.name());
  HR_TRY(field.count, node.number("samples"));
  HR_TRY(field.bytes, node.number("bytes"));
  HR_TRY(field.min_bytes, node.number("min_bytes"));
  HR_TRY(field.max_bytes, node.number("max_bytes"));
  if (node.has("measure")) {
    HR_TRY(const std::string name, node.text("measure"));
    field.unit = parse_unit(name).value_or(Unit::kNone);  // a newer headrace may know more
  }
  return field;
}

Status read_tables(const Node& root, Manifest& manifest) {
  HR_TRY(const Node tables, root.get("tables"));
  HR_TRY(const Node shards, tables.get("shards"));
  HR_TRY(manifest.shard_table, read_table(shards));
  HR_TRY(const Node places, tables.get("places"));
  HR_TRY(manifest.place_table, read_table(places));
  HR_TRY(const Node keys, tables.get("keys"));
  HR_TRY(manifest.key_table, read_table(keys));
  HR_TRY(const Node index, tables.get("index"));
  HR_TRY(const auto files, index.items());
  for (const Node& file : files) {
    HR_TRY(TableFile table, read_table(file));
    manifest.index_files.push_back(std::move(table));
  }
  return Status::success();
}

Status read_names(const Node& root, Manifest& manifest) {
  HR_TRY(const Node fields, root.get("fields"));
  HR_TRY(const auto field_nodes, fields.items());
  for (const Node& node : field_nodes) {
    HR_TRY(FieldSummary field, read_field(node));
    manifest.fields.push_back(std::move(field));
  }
  if (!root.has("classes")) return Status::success();
  HR_TRY(const Node classes, root.get("classes"));
  HR_TRY(const auto class_nodes, classes.items());
  for (const Node& node : class_nodes) {
    HR_TRY(std::string name, node.name());
    manifest.classes.push_back(std::move(name));
  }
  return Status::success();
}

Result<Container> read_container(const Node& root) {
  HR_TRY(const std::string name, root.text("container"));
  std::string known;
  for (const auto& [container, of_container] : kContainers) {
    if (name == of_container) return container;
    known += (known.empty() ? "'" : ", '") + std::string(of_container) + "'";
  }
  HR_TRY(const Node node, root.get("container"));
  return node.wrong("one of " + known);
}

/// Whether `sum` can be the sum of `count` numbers between `least` and `most`.
bool can_sum(uint64_t sum, uint64_t count, uint64_t least, uint64_t most) {
  if (count == 0) return sum == 0 && least == 0 && most == 0;
  return least <= most && sum / count >= least && (sum + count - 1) / count <= most;
}

Status check_fields(const Manifest& manifest, const std::string& path) {
  std::unordered_set<std::string_view> names;
  // Compressed shards may be smaller than what is in them.
  const bool plain =
      manifest.container == Container::kTar || manifest.container == Container::kFiles;
  const uint64_t most = plain ? manifest.bytes : ~uint64_t{0} >> 1;
  uint64_t payload = 0;
  for (size_t i = 0; i < manifest.fields.size(); ++i) {
    const FieldSummary& field = manifest.fields[i];
    const std::string at = "fields[" + std::to_string(i) + "]";
    if (!names.insert(field.name).second) return bad("'" + at + "' has a name used before", path);
    if (field.count > manifest.samples)
      return bad("'" + at + ".samples' is more than all samples", path);
    if (field.bytes > most - payload)
      return bad("'" + at + ".bytes' is more than the shards have", path);
    payload += field.bytes;
    if (!can_sum(field.bytes, field.count, field.min_bytes, field.max_bytes))
      return bad("the sizes in '" + at + "' contradict each other", path);
  }
  return Status::success();
}

Status check_totals(const Manifest& manifest, const std::string& path) {
  if (manifest.bytes >> 63) return bad("'bytes' is over 63 bits", path);
  if (manifest.shards > std::numeric_limits<uint32_t>::max())
    return bad("'shards' is over 32 bits", path);
  if (manifest.samples > 0 && manifest.shards == 0) return bad("samples without shards", path);
  if (manifest.samples > 0 && manifest.index_files.empty())
    return bad("samples without an index file", path);
  if (manifest.shard_table.bytes != shard_table_bytes(manifest.shards))
    return bad("'tables.shards.bytes' does not fit the number of shards", path);
  if (manifest.place_table.bytes < place_names_offset(manifest.shards))
    return bad("'tables.places.bytes' does not fit the number of shards", path);
  const TableFile& keys = manifest.key_table;
  if (keys.bytes < kKeyHeaderBytes || keys.bytes % kKeyBytes != 0 ||
      (keys.bytes - kKeyHeaderBytes) / kKeyBytes != manifest.samples)
    return bad("'tables.keys.bytes' does not fit the number of samples", path);
  return check_fields(manifest, path);
}

Status read_root(const Node& root, Manifest& manifest) {
  HR_TRY(manifest.tool, root.text("made_by"));
  HR_TRY(manifest.container, read_container(root));
  HR_TRY(manifest.samples, root.number("samples"));
  HR_TRY(manifest.shards, root.number("shards"));
  HR_TRY(manifest.bytes, root.number("bytes"));
  if (root.has("base")) {
    HR_TRY(const Node base, root.get("base"));
    HR_TRY(manifest.base, base.name());
  }
  HR_CHECK(read_names(root, manifest));
  HR_CHECK(read_tables(root, manifest));
  if (root.has("recipe")) {
    HR_TRY(const Node recipe, root.get("recipe"));
    manifest.recipe = recipe.dump();
  }
  return Status::success();
}

Status check_format(const Node& root, const std::string& path) {
  HR_TRY(const uint64_t format, root.number("format"));
  if (format == kFormat) return Status::success();
  if (format == 0) return bad("'format' is 0", path);
  return Error{Code::kFailure,
               "the data set was made by a newer headrace: its format is " +
                   std::to_string(format) + ", this one knows " + std::to_string(kFormat),
               {path},
               "Update headrace"};
}

Json field_to_json(const FieldSummary& field) {
  Json json = {{"name", name_to_json(field.name)},
               {"samples", field.count},
               {"bytes", field.bytes},
               {"min_bytes", field.min_bytes},
               {"max_bytes", field.max_bytes}};
  if (field.unit != Unit::kNone) json["measure"] = unit_name(field.unit);
  return json;
}

}  // namespace

std::string Manifest::fingerprint() const {
  std::string chain = "headrace data 1\n";
  const auto add = [&chain](const std::string& name, const std::string& value) {
    chain += name + " " + std::to_string(value.size()) + " " + value + "\n";
  };
  add("container", container_name(container));
  add("shards", shard_table.sha256);
  add("places", place_table.sha256);
  add("keys", key_table.sha256);
  for (const TableFile& file : index_files) add("index", file.sha256);
  for (const std::string& name : classes) add("class", name);
  return sha256_hex(as_bytes(chain));
}

const char* container_name(Container container) {
  return std::ranges::find(kContainers, container, &std::pair<Container, const char*>::first)
      ->second;
}

std::string encode_manifest(const Manifest& manifest) {
  Json root = {
      {"format", kFormat},
      {"made_by", manifest.tool},
      {"container", container_name(manifest.container)},
      {"samples", manifest.samples},
      {"shards", manifest.shards},
      {"bytes", manifest.bytes},
      {"fingerprint", manifest.fingerprint()},
  };
  if (!manifest.base.empty()) root["base"] = name_to_json(manifest.base);
  root["fields"] = Json::array();
  for (const FieldSummary& field : manifest.fields) root["fields"].push_back(field_to_json(field));
  if (!manifest.classes.empty()) {
    root["classes"] = Json::array();
    for (const std::string& name : manifest.classes) root["classes"].push_back(name_to_json(name));
  }
  Json& tables = root["tables"];
  tables["shards"] = table_to_json(manifest.shard_table);
  tables["places"] = table_to_json(manifest.place_table);
  tables["keys"] = table_to_json(manifest.key_table);
  tables["index"] = Json::array();
  for (const TableFile& file : manifest.index_files) tables["index"].push_back(table_to_json(file));
  if (!manifest.recipe.empty()) {
    Json recipe = Json::parse(manifest.recipe, nullptr, false);
    root["recipe"] = recipe.is_discarded() ? name_to_json(manifest.recipe) : std::move(recipe);
  }
  return root.dump(2) + "\n";
}

Result<Manifest> decode_manifest(ByteView json, const std::string& path) {
  const std::string_view text = as_text(json);
  if (depth_of(text) > kDeepest) return bad("the JSON is nested too deeply", path);
  const Json parsed = Json::parse(text.begin(), text.end(), nullptr, false);
  if (parsed.is_discarded())
    return bad(text.empty() ? "the file is empty" : "it is not JSON (cut off?)", path);
  const Node root(parsed, "", path);
  if (!parsed.is_object()) return bad("it is not a JSON object", path);
  HR_CHECK(check_format(root, path));
  Manifest manifest;
  HR_CHECK(read_root(root, manifest));
  HR_CHECK(check_totals(manifest, path));
  HR_TRY(const std::string fingerprint, root.text("fingerprint"));
  if (fingerprint != manifest.fingerprint())
    return bad("'fingerprint' is not that of its tables and classes", path);
  return manifest;
}

}  // namespace headrace
