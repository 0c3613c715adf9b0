#include "io/http/url.h"

#include <gtest/gtest.h>

#include "io/http/http_message.h"
#include "io/http/redirect.h"

namespace headrace {
namespace {

Url url(const std::string& text) {
  auto parsed = Url::parse(text);
  EXPECT_TRUE(parsed.ok()) << text;
  return parsed.ok() ? *parsed : Url{};
}

TEST(Url, KeepsPathsAndQueriesAsTheyAreWritten) {
  for (const char* text :
       {"http://host/", "https://host:8443/a//b/../c%2Fd?x=1&y=%20", "http://[::1]:80/x",
        "http://10.0.0.1/bucket/key+with+plus?versionId=", "https://host/%E2%82%AC"})
    EXPECT_EQ(url(text).to_string(),
              std::string(text) == "http://[::1]:80/x" ? "http://[::1]/x" : text);
}

TEST(Url, RefusesWhatIsNoAddressOrHoldsASecret) {
  for (const char* text : {"", "host/path", "ftp://host/x", "file:///etc/passwd", "http://",
                           "http://user:password@host/x", "http://host:99999/", "http://ho st/"}) {
    const auto parsed = Url::parse(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, Code::kUsage);
    EXPECT_EQ(parsed.error().to_string().find("password@"), std::string::npos);
  }
}

TEST(Url, OriginsTellSchemesHostsAndPortsApart) {
  EXPECT_TRUE(url("https://h/a").same_origin(url("https://h:443/b")));
  EXPECT_FALSE(url("https://h/a").same_origin(url("http://h/a")));
  EXPECT_FALSE(url("https://h/a").same_origin(url("https://h:444/a")));
  EXPECT_FALSE(url("https://h/a").same_origin(url("https://h2/a")));
}

TEST(Url, ReferencesAreMeantFromHere) {
  const Url here = url("http://host:81/a/b?x=1");
  const std::pair<const char*, const char*> kCases[] = {
      {"/c", "http://host:81/c"},         {"c?y=2", "http://host:81/a/c?y=2"},
      {"?y=2", "http://host:81/a/b?y=2"}, {"//other/c", "http://other/c"},
      {"https://o/c", "https://o/c"},
  };
  for (const auto& [reference, meant] : kCases)
    EXPECT_EQ(here.resolve(reference)->to_string(), meant);
}

TEST(Url, WhatIsShownHasNoSignature) {
  const Url signed_url =
      url("https://b.s3.aws.com/k?X-Amz-Signature=0123456789abcdef&partNumber=3");
  EXPECT_EQ(signed_url.redacted(), "https://b.s3.aws.com/k");
}

TEST(Url, QueriesAreEncodedAndDecoded) {
  const QueryParameters parameters{{"a b", "c+d"}, {"e", ""}, {"ü", "/?&="}};
  EXPECT_EQ(encode_query(parameters), "a%20b=c%2Bd&e=&%C3%BC=%2F%3F%26%3D");
  EXPECT_EQ(decode_query(encode_query(parameters)), parameters);
  EXPECT_EQ(decode_query("x&y=1&&z=2=3"), (QueryParameters{{"x", ""}, {"y", "1"}, {"z", "2=3"}}));
  EXPECT_EQ(percent_decode("%4%zz%41%"), "%4%zzA%");
}

TEST(ContentRange, OnlyWhatIsWhollyRightIsRead) {
  EXPECT_EQ(ContentRange::parse("bytes 0-9/100")->range, (ByteRange{0, 9}));
  EXPECT_EQ(ContentRange::parse("bytes 0-9/100")->total, 100U);
  EXPECT_FALSE(ContentRange::parse("bytes 5-9/*")->total.has_value());
  for (const char* wrong :
       {"", "bytes", "bytes 9-0/100", "bytes 0-9", "bytes 0-9/9", "bytes 0-9/10x", "items 0-9/100",
        "bytes -9/100", "bytes 0-99999999999999999999/1", "bytes */100"})
    EXPECT_FALSE(ContentRange::parse(wrong).has_value()) << wrong;
}

HttpResponse answer(int status,
                    std::initializer_list<std::pair<const char*, const char*>> headers) {
  HttpResponse response;
  response.status = status;
  for (const auto& [name, value] : headers) response.headers.add(name, value);
  return response;
}

TEST(HttpResponse, TellsSizeAndTag) {
  EXPECT_EQ(answer(200, {{"content-length", "7"}}).total_bytes(), 7U);
  EXPECT_EQ(answer(206, {{"Content-Length", "7"}, {"Content-Range", "bytes 0-6/70"}}).total_bytes(),
            70U);
  EXPECT_FALSE(answer(200, {{"Content-Length", "7, 7"}}).total_bytes().has_value());
  EXPECT_EQ(answer(200, {{"ETag", "W/\"x\""}}).etag(), "x");
  EXPECT_EQ(answer(200, {{"etag", "\"y\""}}).etag(), "y");
}

TEST(Redirect, CredentialsStayWithTheirOrigin) {
  HttpRequest request;
  request.url = url("https://hub/resolve/a");
  request.headers.set("Authorization", "Bearer canary");
  request.headers.set("X-Amz-Security-Token", "canary");
  request.headers.set("Range", "bytes=0-9");
  const auto there = redirected(request, answer(302, {{"Location", "https://cdn/a?sig=1"}}));
  EXPECT_EQ(there->url.host, "cdn");
  EXPECT_EQ(there->headers.get("Range"), "bytes=0-9");
  EXPECT_EQ(there->headers.find("Authorization"), nullptr);
  EXPECT_EQ(there->headers.find("X-Amz-Security-Token"), nullptr);
  const auto here = redirected(request, answer(302, {{"Location", "/other"}}));
  EXPECT_EQ(here->headers.get("Authorization"), "Bearer canary");
}

TEST(Redirect, SomePlacesAreNotGoneTo) {
  HttpRequest request;
  request.url = url("https://hub/a");
  for (const char* place : {"http://hub/a", "https://169.254.169.254/latest/meta-data",
                            "https://metadata.google.internal/", "ftp://hub/a"})
    EXPECT_FALSE(redirected(request, answer(302, {{"Location", place}})).ok()) << place;
}

TEST(HttpError, SaysWhatWhereAndInTheServersWords) {
  HttpResponse refused = answer(403, {});
  refused.body =
      "<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied</Code>"
      "<Message>No.</Message></Error>";
  const Error error = http_error("read", "s3://bucket/key", refused);
  EXPECT_EQ(error.code, Code::kDenied);
  EXPECT_EQ(error.message, "cannot read: the server answered 403 (AccessDenied No.)");
  EXPECT_EQ(error.origin.shard, "s3://bucket/key");
  EXPECT_EQ(http_error("read", "x", answer(404, {})).code, Code::kNotFound);
  EXPECT_EQ(http_error("read", "x", answer(412, {})).code, Code::kChanged);
  EXPECT_EQ(http_error("read", "x", answer(507, {})).code, Code::kNoSpace);
}

}  // namespace
}  // namespace headrace
