// The oracle is botocore: tests/data/s3/make_signatures.py wrote the table.
#include "io/s3/signature_v4.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "io/s3/endpoint.h"

namespace headrace {
namespace {

using nlohmann::json;

const json& table() {
  static const json parsed = json::parse(std::ifstream(TEST_DATA "/s3/signatures.json"));
  return parsed;
}

WallTime table_time() { return WallTime(std::chrono::seconds(table()["time"].get<int64_t>())); }

S3Credentials credentials_of(const json& row) {
  return {table()["access_key"], table()["secret_key"], row["session_token"]};
}

S3Endpoint endpoint_of(const json& row) {
  S3Endpoint endpoint;
  endpoint.style = row["style"] == "path" ? S3Style::kPath : S3Style::kVirtual;
  if (row["endpoint"] != "")
    endpoint.custom = Url::parse(row["endpoint"].get<std::string>()).value();
  return endpoint;
}

HttpRequest request_of(const json& row) {
  HttpRequest request;
  request.url =
      endpoint_of(row).url(table()["bucket"], row["key"].get<std::string>(), row["region"]);
  const std::string url = row["url"];
  if (const size_t mark = url.find('?'); mark != url.npos) request.url.query = url.substr(mark + 1);
  if (!row.contains("method")) return request;
  request.method = row["method"];
  for (const auto& [name, value] : row["headers"].items()) request.headers.add(name, value);
  request.headers.add("Range", "bytes=0-1");  // not signed
  request.headers.add("X-Amz-Content-Sha256", row["digest"]);
  return request;
}

TEST(SignatureV4, EveryRequestOfTheTableIsSignedAsBotocoreSignsIt) {
  ASSERT_EQ(table()["rows"].size(), 240U);
  for (const json& row : table()["rows"]) {
    SCOPED_TRACE(row["operation"].get<std::string>() + " " + row["url"].get<std::string>());
    HttpRequest request = request_of(row);
    EXPECT_EQ(request.url.to_string(), row["url"]);
    const SigningScope scope{row["region"]};
    if (row.contains("presigned")) {
      EXPECT_EQ(
          presign_v4(request, credentials_of(row), scope, table_time(), std::chrono::seconds(600))
              .to_string(),
          row["presigned"]);
      continue;
    }
    sign_v4(request, credentials_of(row), scope, table_time());
    EXPECT_EQ(request.headers.get("authorization"), row["authorization"].get<std::string>());
    EXPECT_EQ(request.headers.get("x-amz-security-token"), row["session_token"].get<std::string>());
  }
}

TEST(SignatureV4, SigningAgainReplacesWhatTheLastAttemptPut) {
  const json& row = table()["rows"][1];
  HttpRequest request = request_of(row);
  sign_v4(request, {"other", "secret", "token"}, {"elsewhere"},
          table_time() - std::chrono::hours(1));
  sign_v4(request, credentials_of(row), {row["region"]}, table_time());
  EXPECT_EQ(request.headers.get("authorization"), row["authorization"].get<std::string>());
}

TEST(SignatureV4, QueriesThatWeEncodeAreEncodedAsBotocoreDoes) {
  size_t compared = 0;
  for (const json& row : table()["rows"]) {
    const Url url = request_of(row).url;
    if (url.query.find('=') == std::string::npos) continue;
    if (url.query.starts_with("uploads&")) continue;  // we send its '=', which is signed anyway
    EXPECT_EQ(encode_query(decode_query(url.query)), url.query);
    ++compared;
  }
  EXPECT_GT(compared, 100U);
}

TEST(SignatureV4, TheBodyIsDigestedWhenNobodyHas) {
  const std::string body("some bytes \x00\xff", 13);
  for (const json& row : table()["rows"]) {
    if (row["operation"] != "put_object" || row["digest"] == kUnsignedPayload) continue;
    HttpRequest request = request_of(row);
    request.headers.remove(kContentDigest);
    request.body = as_bytes(body);
    sign_v4(request, credentials_of(row), {row["region"]}, table_time());
    EXPECT_EQ(request.headers.get("authorization"), row["authorization"].get<std::string>());
    return;
  }
  FAIL() << "the table has no such row";
}

TEST(S3Endpoint, NamesWithDotsStayInThePathAtAws) {
  const S3Endpoint aws;
  EXPECT_EQ(aws.url("b", "k", "eu-west-1").to_string(), "https://b.s3.eu-west-1.amazonaws.com/k");
  EXPECT_EQ(aws.url("my.bucket", "", "cn-north-1").to_string(),
            "https://s3.cn-north-1.amazonaws.com.cn/my.bucket");
}

}  // namespace
}  // namespace headrace
