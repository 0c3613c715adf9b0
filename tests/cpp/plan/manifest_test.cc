#include "plan/manifest.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/digest.h"

namespace headrace {
namespace {

using Json = nlohmann::ordered_json;

Manifest example() {
  Manifest manifest;
  manifest.samples = 10;
  manifest.shards = 2;
  manifest.bytes = 10000;
  manifest.fields = {{"jpg", 10, 5000, 400, 600}, {"cls", 8, 16, 2, 2}};
  manifest.classes = {"cat", "dog"};
  manifest.shard_table = {"_headrace/shards-0.bin", shard_table_bytes(2), std::string(64, 'a')};
  manifest.place_table = {"_headrace/places-0.bin", place_names_offset(2) + 8,
                          std::string(64, 'b')};
  manifest.key_table = {"_headrace/keys-0.bin", kKeyHeaderBytes + 10 * kKeyBytes,
                        std::string(64, 'c')};
  manifest.index_files = {{"_headrace/index-0-0.bin", 300, std::string(64, 'd')}};
  manifest.tool = "headrace 0.1.0";
  manifest.recipe = R"({"key":"webdataset"})";
  return manifest;
}

Result<Manifest> decode(const std::string& json) {
  return decode_manifest(as_bytes(json), "headrace.json");
}

std::string error_of(const std::string& json) {
  const auto decoded = decode(json);
  return decoded.ok() ? "ok" : decoded.error().message;
}

TEST(Manifest, IsTheSameAfterEncodingAndDecoding) {
  const Manifest before = example();
  const auto decoded = decode(encode_manifest(before));
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  EXPECT_EQ(encode_manifest(*decoded), encode_manifest(before));
  EXPECT_EQ(decoded->fields[1].name, "cls");
  EXPECT_EQ(decoded->fields[1].max_bytes, 2U);
  EXPECT_EQ(decoded->classes, before.classes);
  EXPECT_EQ(decoded->key_table.sha256, before.key_table.sha256);
  EXPECT_EQ(decoded->recipe, before.recipe);
  EXPECT_EQ(decoded->tool, before.tool);
  EXPECT_EQ(decoded->base, "");
}

TEST(Manifest, WithoutAnythingIsOne) {
  Manifest empty = example();
  empty.samples = empty.shards = empty.bytes = 0;
  empty.fields.clear();
  empty.classes.clear();
  empty.recipe.clear();
  empty.index_files.clear();
  empty.key_table.bytes = kKeyHeaderBytes;
  empty.shard_table.bytes = shard_table_bytes(0);
  empty.container = Container::kFiles;
  empty.base = "s3://bucket/set";
  const auto decoded = decode(encode_manifest(empty));
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  EXPECT_EQ(decoded->container, Container::kFiles);
  EXPECT_EQ(decoded->base, "s3://bucket/set");
}

TEST(Manifest, KeepsNamesThatAreNotUtf8) {
  Manifest manifest = example();
  manifest.classes = {"caf\xe9", "caf\xc3\xa9", "\xff\x00x"};
  manifest.fields[0].name = "\xe9t\xe9";
  manifest.base = "/data/\xe9";
  const std::string json = encode_manifest(manifest);
  EXPECT_NE(json.find(R"("hex": "636166e9")"), std::string::npos);
  const auto decoded = decode(json);
  ASSERT_TRUE(decoded.ok()) << decoded.error().to_string();
  EXPECT_EQ(decoded->classes, manifest.classes);
  EXPECT_EQ(decoded->fields[0].name, manifest.fields[0].name);
  EXPECT_EQ(decoded->base, manifest.base);
}

TEST(Manifest, FingerprintFollowsTheDataAndNothingElse) {
  const std::string fingerprint = example().fingerprint();
  EXPECT_EQ(fingerprint.size(), 64U);
  Manifest same = example();
  same.tool = "another";
  same.base = "/elsewhere";
  same.recipe = "{}";
  EXPECT_EQ(same.fingerprint(), fingerprint);
  const std::vector<std::function<void(Manifest&)>> changes = {
      [](Manifest& m) { m.shard_table.sha256[0] = 'f'; },
      [](Manifest& m) { m.place_table.sha256[0] = 'f'; },
      [](Manifest& m) { m.key_table.sha256[0] = 'f'; },
      [](Manifest& m) { m.index_files[0].sha256[0] = 'f'; },
      [](Manifest& m) { m.index_files.push_back(m.index_files[0]); },
      [](Manifest& m) { m.classes[0] = "cow"; },
      [](Manifest& m) { m.classes = {"catdog"}; },
      [](Manifest& m) { m.container = Container::kFiles; },
  };
  for (const auto& change : changes) {
    Manifest other = example();
    change(other);
    EXPECT_NE(other.fingerprint(), fingerprint);
  }
}

TEST(Manifest, OfANewerFormatIsRefusedAsSuch) {
  const auto decoded = decode(R"({"format": 2, "tables": "who knows"})");
  ASSERT_FALSE(decoded.ok());
  EXPECT_EQ(decoded.error().to_string(),
            "the data set was made by a newer headrace: its format is 2, this one knows 1 (shard "
            "headrace.json). Update headrace");
}

TEST(Manifest, CutAtAnyByteIsRefused) {
  const std::string json = encode_manifest(example());
  for (size_t cut = 0; cut + 2 < json.size(); ++cut) EXPECT_NE(error_of(json.substr(0, cut)), "ok");
}

struct LieRow {
  const char* name;
  std::function<void(Json&)> change;
  const char* error;
};

std::ostream& operator<<(std::ostream& out, const LieRow& row) { return out << row.name; }

class ManifestLie : public testing::TestWithParam<LieRow> {};

TEST_P(ManifestLie, IsRefusedNamingThePlaceInTheJson) {
  Json json = Json::parse(encode_manifest(example()));
  GetParam().change(json);
  EXPECT_EQ(error_of(json.dump()), std::string("the manifest is wrong: ") + GetParam().error);
}

const LieRow kLies[] = {
    {"NoFormat", [](Json& j) { j.erase("format"); }, "'format' is missing"},
    {"FormatZero", [](Json& j) { j["format"] = 0; }, "'format' is 0"},
    {"FormatText", [](Json& j) { j["format"] = "1"; },
     "'format' is not a whole number of at most 64 bits"},
    {"NoSamples", [](Json& j) { j.erase("samples"); }, "'samples' is missing"},
    {"SamplesText", [](Json& j) { j["samples"] = "10"; },
     "'samples' is not a whole number of at most 64 bits"},
    {"SamplesNegative", [](Json& j) { j["samples"] = -1; },
     "'samples' is not a whole number of at most 64 bits"},
    {"SamplesFraction", [](Json& j) { j["samples"] = 10.5; },
     "'samples' is not a whole number of at most 64 bits"},
    {"SamplesHuge", [](Json& j) { j["samples"] = 1e30; },
     "'samples' is not a whole number of at most 64 bits"},
    {"SamplesOfAnotherKeyTable", [](Json& j) { j["samples"] = 11; },
     "'tables.keys.bytes' does not fit the number of samples"},
    {"SamplesFewerThanAFieldHas",
     [](Json& j) {
       j["samples"] = 9;
       j["tables"]["keys"]["bytes"] = kKeyHeaderBytes + 9 * kKeyBytes;
     },
     "'fields[0].samples' is more than all samples"},
    {"ShardsMore", [](Json& j) { j["shards"] = 3; },
     "'tables.shards.bytes' does not fit the number of shards"},
    {"ShardsNone", [](Json& j) { j["shards"] = 0; }, "samples without shards"},
    {"ShardsOver32Bits", [](Json& j) { j["shards"] = uint64_t{1} << 32; },
     "'shards' is over 32 bits"},
    {"BytesHuge", [](Json& j) { j["bytes"] = ~uint64_t{0}; }, "'bytes' is over 63 bits"},
    {"BytesFewerThanFields", [](Json& j) { j["bytes"] = 5010; },
     "'fields[1].bytes' is more than the shards have"},
    {"Container", [](Json& j) { j["container"] = "rar"; },
     "'container' is not one of 'tar', 'files', 'tar.gz', 'tar.lz4', 'tar.zst', 'zip', 'parquet'"},
    {"ContainerOfOthers", [](Json& j) { j["container"] = "zip"; },
     "'fingerprint' is not that of its tables and classes"},
    {"FieldsObject", [](Json& j) { j["fields"] = Json::object(); }, "'fields' is not a list"},
    {"FieldText", [](Json& j) { j["fields"][1] = "cls"; }, "'fields[1]' is not an object"},
    {"FieldWithoutBytes", [](Json& j) { j["fields"][1].erase("bytes"); },
     "'fields[1].bytes' is missing"},
    {"FieldTwice", [](Json& j) { j["fields"][1]["name"] = "jpg"; },
     "'fields[1]' has a name used before"},
    {"FieldNameOfNumber", [](Json& j) { j["fields"][0]["name"] = 7; },
     "'fields[0].name' is not a string or {\"hex\": ...}"},
    {"FieldNameOddHex",
     [](Json& j) {
       j["fields"][0]["name"] = {{"hex", "abc"}};
     },
     "'fields[0].name' is not a name in hexadecimal digits"},
    {"FieldSumBelowItsLeast", [](Json& j) { j["fields"][0]["bytes"] = 3999; },
     "the sizes in 'fields[0]' contradict each other"},
    {"FieldSumAboveItsMost", [](Json& j) { j["fields"][0]["bytes"] = 6001; },
     "the sizes in 'fields[0]' contradict each other"},
    {"FieldLeastAboveMost", [](Json& j) { j["fields"][0]["min_bytes"] = 601; },
     "the sizes in 'fields[0]' contradict each other"},
    {"FieldOfNoneWithBytes", [](Json& j) { j["fields"][1]["samples"] = 0; },
     "the sizes in 'fields[1]' contradict each other"},
    {"ClassNumber", [](Json& j) { j["classes"][1] = 5; },
     "'classes[1]' is not a string or {\"hex\": ...}"},
    {"NoTables", [](Json& j) { j.erase("tables"); }, "'tables' is missing"},
    {"TablesList", [](Json& j) { j["tables"] = Json::array(); }, "'tables' is not an object"},
    {"NoPlaces", [](Json& j) { j["tables"].erase("places"); }, "'tables.places' is missing"},
    {"NoKeys", [](Json& j) { j["tables"].erase("keys"); }, "'tables.keys' is missing"},
    {"PlacesShort", [](Json& j) { j["tables"]["places"]["bytes"] = 100; },
     "'tables.places.bytes' does not fit the number of shards"},
    {"KeysShort", [](Json& j) { j["tables"]["keys"]["bytes"] = 31; },
     "'tables.keys.bytes' does not fit the number of samples"},
    {"IndexText", [](Json& j) { j["tables"]["index"] = "x"; }, "'tables.index' is not a list"},
    {"IndexNone", [](Json& j) { j["tables"]["index"] = Json::array(); },
     "samples without an index file"},
    {"PathAbove", [](Json& j) { j["tables"]["shards"]["path"] = "_headrace/../../x"; },
     "'tables.shards.path' is not a path below _headrace/"},
    {"PathAbsolute", [](Json& j) { j["tables"]["index"][0]["path"] = "/etc/passwd"; },
     "'tables.index[0].path' is not a path below _headrace/"},
    {"PathElsewhere", [](Json& j) { j["tables"]["shards"]["path"] = "shards.bin"; },
     "'tables.shards.path' is not a path below _headrace/"},
    {"Sha256Short", [](Json& j) { j["tables"]["shards"]["sha256"] = "abc"; },
     "'tables.shards.sha256' is not a SHA-256 of 64 hexadecimal digits"},
    {"Sha256Letters", [](Json& j) { j["tables"]["shards"]["sha256"] = std::string(64, 'g'); },
     "'tables.shards.sha256' is not a SHA-256 of 64 hexadecimal digits"},
    {"Sha256OfAnother", [](Json& j) { j["tables"]["shards"]["sha256"] = std::string(64, 'e'); },
     "'fingerprint' is not that of its tables and classes"},
    {"ClassRenamed", [](Json& j) { j["classes"][0] = "cow"; },
     "'fingerprint' is not that of its tables and classes"},
    {"NoFingerprint", [](Json& j) { j.erase("fingerprint"); }, "'fingerprint' is missing"},
    {"List", [](Json& j) { j = Json::array(); }, "it is not a JSON object"},
};

INSTANTIATE_TEST_SUITE_P(Row, ManifestLie, testing::ValuesIn(kLies),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Manifest, ThatIsNoJsonIsRefused) {
  EXPECT_EQ(error_of(""), "the manifest is wrong: the file is empty");
  EXPECT_EQ(error_of("{"), "the manifest is wrong: it is not JSON (cut off?)");
  EXPECT_EQ(error_of(std::string(100000, '[')),
            "the manifest is wrong: the JSON is nested too deeply");
}

// --- tables ----------------------------------------------------------------------------------

ShardTable shards() { return {{6, 4}, {3, 2}, {6000, 4000}}; }

TEST(ShardTableFile, IsTheSameAfterEncodingAndDecoding) {
  const std::string file = encode_shard_table(shards());
  EXPECT_EQ(file.size(), shard_table_bytes(2));
  const auto decoded = decode_shard_table(as_bytes(file), "t");
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(decoded->samples, shards().samples);
  EXPECT_EQ(decoded->block_samples, shards().block_samples);
  EXPECT_EQ(decoded->bytes, shards().bytes);
  EXPECT_TRUE(decode_shard_table(as_bytes(encode_shard_table({})), "t").ok());
}

TEST(ShardTableFile, CutAtAnyByteOrFlippedInAnyBitIsRefused) {
  const std::string file = encode_shard_table(shards());
  for (size_t cut = 0; cut < file.size(); ++cut)
    EXPECT_FALSE(decode_shard_table(as_bytes(file).first(cut), "t").ok());
  for (size_t bit = 0; bit < 8 * file.size(); ++bit) {
    std::string flipped = file;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    EXPECT_FALSE(decode_shard_table(as_bytes(flipped), "t").ok()) << bit;
  }
}

TEST(ShardTableFile, ThatLiesIsRefusedWithTheExactError) {
  const auto error = [](const ShardTable& table) {
    const auto decoded = decode_shard_table(as_bytes(encode_shard_table(table)), "t");
    return decoded.ok() ? "ok" : decoded.error().message;
  };
  EXPECT_EQ(error({{1}, {0}, {1}}), "the shard table is damaged: shard 0 has blocks of no samples");
  EXPECT_EQ(error({{1}, {1}, {~uint64_t{0}}}),
            "the shard table is damaged: the sizes add up to more than 63 bits hold");
  const uint64_t half = uint64_t{1} << 62;
  EXPECT_EQ(error({{1, 1}, {1, 1}, {half, half}}),
            "the shard table is damaged: the sizes add up to more than 63 bits hold");

  const auto changed = [](size_t offset, uint32_t value) {
    std::string file = encode_shard_table(shards());
    std::memcpy(file.data() + offset, &value, sizeof value);
    return decode_shard_table(as_bytes(file), "t").error().message;
  };
  EXPECT_EQ(changed(0, 0), "the shard table is damaged: it does not begin with HRSHARDS");
  EXPECT_EQ(changed(8, 2), "the shard table has version 2, known is 1");
  EXPECT_EQ(changed(12, 17), "the shard table is damaged: its rows have a wrong size");
  EXPECT_EQ(changed(16, 3), "the shard table is damaged: its size does not fit its rows");
  EXPECT_EQ(changed(20, 1), "the shard table is damaged: its size does not fit its rows");
  EXPECT_EQ(changed(24, 0), "the shard table is damaged: its checksum does not match");
}

TEST(ShardTableFile, IsHeldAgainstTheTotalsOfTheManifest) {
  const Manifest manifest = example();
  EXPECT_TRUE(check_shard_table(shards(), manifest, "t").ok());
  const auto error = [&manifest](const ShardTable& table) {
    return check_shard_table(table, manifest, "t").error().message;
  };
  EXPECT_EQ(error({{10}, {1}, {10000}}),
            "the shard table is damaged: it has 1 shards where the manifest says 2");
  EXPECT_EQ(error({{6, 5}, {3, 2}, {6000, 4000}}),
            "the shard table is damaged: it has 11 samples where the manifest says 10");
  EXPECT_EQ(error({{6, 4}, {3, 2}, {6000, 4001}}),
            "the shard table is damaged: it has 10001 bytes where the manifest says 10000");
}

TEST(PlaceTable, GivesEveryPlaceAndNameBack) {
  const std::vector<ShardPlace> places = {{0, 100, 0, 11, 12, 0, 0}, {100, 50, 1, 13, 14, 0, 0}};
  const std::vector<std::string> names = {"a.tar", "dir/b.tar"};
  const std::string file = encode_place_table(places, names);
  EXPECT_EQ(file.size(), place_names_offset(2) + 14);
  EXPECT_TRUE(check_place_header(as_bytes(file).first(kPlaceHeaderBytes), 2, "t").ok());
  for (size_t i = 0; i < 2; ++i) {
    const auto record = as_bytes(file).subspan(kPlaceHeaderBytes + i * kPlaceBytes, kPlaceBytes);
    const auto place = decode_place(record, "t");
    ASSERT_TRUE(place.ok());
    EXPECT_EQ(place->index_offset, places[i].index_offset);
    EXPECT_EQ(place->index_bytes, places[i].index_bytes);
    EXPECT_EQ(place->index_file, places[i].index_file);
    EXPECT_EQ(place->index_xxh3, places[i].index_xxh3);
    EXPECT_EQ(place->shard_xxh3, places[i].shard_xxh3);
    EXPECT_EQ(file.substr(place_names_offset(2) + place->name_offset, place->name_bytes), names[i]);
  }
}

TEST(PlaceTable, ThatLiesIsRefusedWithTheExactError) {
  const std::string file = encode_place_table({ShardPlace{}}, {"a"});
  const ByteView bytes = as_bytes(file);
  EXPECT_EQ(check_place_header(bytes.first(31), 1, "t").error().message,
            "the place table is damaged: it is shorter than its header");
  EXPECT_EQ(check_place_header(bytes, 2, "t").error().message,
            "the place table is damaged: it has 1 rows where the manifest says 2");
  EXPECT_EQ(check_key_header(bytes, 1, "t").error().message,
            "the key table is damaged: it does not begin with HRKEYTAB");
  EXPECT_EQ(decode_place(bytes.first(47), "t").error().message,
            "the place table is damaged: a row was cut off");
  std::string changed = file;
  changed[kPlaceHeaderBytes + 44] = 1;
  EXPECT_EQ(
      decode_place(as_bytes(changed).subspan(kPlaceHeaderBytes, kPlaceBytes), "t").error().message,
      "the place table is damaged: a reserved number is not 0");
  changed = file;
  changed[kPlaceHeaderBytes + 7] = '\x7f';
  EXPECT_EQ(
      decode_place(as_bytes(changed).subspan(kPlaceHeaderBytes, kPlaceBytes), "t").error().message,
      "the place table is damaged: an offset is absurd");
  changed = file;
  changed[31] = '\x7f';
  EXPECT_EQ(check_place_header(as_bytes(changed), 1, "t").error().message,
            "the place table is damaged: its names are absurdly long");
}

TEST(KeyTable, GivesEveryEntryBackAndChecksItsHeader) {
  std::string file = encode_key_header(2);
  append_key_entry(file, {1, 2, 3});
  append_key_entry(file, {~uint64_t{0}, ~0U, 0});
  EXPECT_EQ(file.size(), kKeyHeaderBytes + 2 * kKeyBytes);
  EXPECT_TRUE(check_key_header(as_bytes(file), 2, "t").ok());
  EXPECT_EQ(check_key_header(as_bytes(file), 3, "t").error().message,
            "the key table is damaged: it has 2 rows where the manifest says 3");
  const KeyEntry entry = decode_key_entry(as_bytes(file).data() + kKeyHeaderBytes + kKeyBytes);
  EXPECT_EQ(entry.hash, ~uint64_t{0});
  EXPECT_EQ(entry.shard, ~0U);
  EXPECT_EQ(entry.sample, 0U);
  file[24] = 1;
  EXPECT_EQ(check_key_header(as_bytes(file), 2, "t").error().message,
            "the key table is damaged: a reserved number is not 0");
}

}  // namespace
}  // namespace headrace
