// What the server takes for a request, and what it answers about a file: tables of both.
#include "serve/http_request.h"

#include <gtest/gtest.h>

#include "serve/connection.h"
#include "serve/file_answer.h"

namespace headrace {
namespace {

int refused(const std::string& head) {
  ServedRequest request;
  EXPECT_EQ(head_size(head), head.size());
  const auto refusal = parse_request(head, request);
  return refusal ? refusal->status : 0;
}

TEST(ServedRequest, TakesWhatClientsSend) {
  ServedRequest request;
  const std::string head =
      "GET /a%20b/part-0.tar?x=1 HTTP/1.1\r\nHost: Node-1:80\r\nRANGE:bytes=0-9 \r\n"
      "Connection: Close\r\n\r\n";
  ASSERT_FALSE(parse_request(head, request));
  EXPECT_EQ(request.method, "GET");
  EXPECT_EQ(request.path, "a b/part-0.tar");
  EXPECT_EQ(request.host, "node-1:80");
  EXPECT_EQ(*request.find("range"), "bytes=0-9");
  EXPECT_FALSE(request.keep_alive);
  EXPECT_EQ(head_size("GET / HTTP/1.1\r\nHost: x\r\n"), 0u);
}

TEST(ServedRequest, RefusesWhatCouldBeReadTwoWays) {
  const std::string host = "Host: h\r\n";
  const std::vector<std::pair<std::string, int>> table = {
      {"GET /a HTTP/1.1\r\n" + host, 0},
      {"HEAD /a HTTP/1.1\r\n" + host + "Content-Length: 0\r\n", 0},
      {"POST /a HTTP/1.1\r\n" + host, 405},
      {"GET /a HTTP/1.0\r\n" + host, 505},
      {"GET /a\r\n" + host, 400},
      {"GET  /a HTTP/1.1\r\n" + host, 400},
      {"GET /a HTTP/1.1 \r\n" + host, 505},
      {"GET http://h/a HTTP/1.1\r\n" + host, 400},
      {"GET * HTTP/1.1\r\n" + host, 400},
      {" GET /a HTTP/1.1\r\n" + host, 400},
      {"GET /a HTTP/1.1\r\n", 400},  // no Host
      {"GET /a HTTP/1.1\r\n" + host + host, 400},
      {"GET /a HTTP/1.1\r\nHost:\r\n", 400},
      {"GET /a HTTP/1.1\r\n" + host + "Range: bytes=0-1\r\nRange: bytes=2-3\r\n", 400},
      {"GET /a HTTP/1.1\r\n" + host + "Name : x\r\n", 400},
      {"GET /a HTTP/1.1\r\n" + host + " folded\r\n", 400},
      {"GET /a HTTP/1.1\r\n" + host + "nocolon\r\n", 400},
      {"GET /a HTTP/1.1\r\n" + host + "X: a\nY: b\r\n", 400},
      {"GET /a HTTP/1.1\r\n" + host + "X: a\rb\r\n", 400},
      {"GET /a HTTP/1.1\r\n" + host + std::string("X: a\0b\r\n", 8), 400},
      {"GET /a HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\n", 501},
      {"GET /a HTTP/1.1\r\n" + host + "Content-Length: 5\r\n", 413},
      {"GET /a HTTP/1.1\r\n" + host + "Content-Length: 0\r\nContent-Length: 0\r\n", 400},
      {"GET /" + std::string(9000, 'a') + " HTTP/1.1\r\n" + host, 414},
      {"GET /a HTTP/1.1\r\n" + host + "X: " + std::string(17000, 'a') + "\r\n", 431},
      {"GET /../x HTTP/1.1\r\n" + host, 400},
  };
  for (const auto& [head, status] : table) EXPECT_EQ(refused(head + "\r\n"), status) << head;
}

TEST(ServedRequest, PathsStayInside) {
  EXPECT_EQ(safe_target("/a/b.tar"), "a/b.tar");
  EXPECT_EQ(safe_target("/"), "");
  EXPECT_EQ(safe_target("/a%25"), "a%");
  EXPECT_EQ(safe_target("/%41"), "A");
  for (const char* bad :
       {"",          "a",    "/..",   "/../a",        "/a/../b", "/a/..", "/%2e%2e/a",
        "/a/%2E%2E", "//a",  "/a//b", "/.git/config", "/a/.x",   "/.",    "/a%2fb",
        "/a%2Fb",    "/%00", "/a%0a", "/%",           "/%4",     "/%zz",  "/a\x7f"})
    EXPECT_EQ(safe_target(bad), std::nullopt) << bad;
}

FileAnswer answer(const std::vector<std::pair<std::string, std::string>>& headers,
                  uint64_t bytes = 100) {
  const ServedRequest request{
      .method = "GET", .path = "x", .host = "h", .keep_alive = true, .headers = headers};
  return answer_file(request, bytes, "\"v1\"");
}

TEST(FileAnswer, RangesAndConditions) {
  struct Row {
    std::vector<std::pair<std::string, std::string>> headers;
    int status;
    uint64_t begin, size;
  };
  const std::vector<Row> table = {
      {{}, 200, 0, 100},
      {{{"range", "bytes=0-0"}}, 206, 0, 1},
      {{{"range", "bytes=10-19"}}, 206, 10, 10},
      {{{"range", "bytes=90-"}}, 206, 90, 10},
      {{{"range", "bytes=-7"}}, 206, 93, 7},
      {{{"range", "bytes=-700"}}, 206, 0, 100},
      {{{"range", "bytes=99-5000"}}, 206, 99, 1},
      {{{"range", "bytes=100-"}}, 416, 0, 0},
      {{{"range", "bytes=100-200"}}, 416, 0, 0},
      {{{"range", "bytes=-0"}}, 416, 0, 0},
      {{{"range", "bytes=5-4"}}, 200, 0, 100},
      {{{"range", "bytes=0-1,5-6"}}, 200, 0, 100},
      {{{"range", "lines=0-1"}}, 200, 0, 100},
      {{{"range", "bytes=a-b"}}, 200, 0, 100},
      {{{"range", "bytes=0-99999999999999999999999"}}, 200, 0, 100},
      {{{"range", "bytes=0-9"}, {"if-range", "\"v1\""}}, 206, 0, 10},
      {{{"range", "bytes=0-9"}, {"if-range", "\"v2\""}}, 200, 0, 100},
      {{{"if-match", "\"v0\", \"v1\""}}, 200, 0, 100},
      {{{"if-match", "*"}}, 200, 0, 100},
      {{{"if-match", "\"v2\""}}, 412, 0, 0},
      {{{"if-match", "W/\"v1\""}}, 412, 0, 0},
      {{{"range", "bytes=0-9"}, {"if-match", "\"v2\""}}, 412, 0, 0},
      {{{"if-none-match", "\"v1\""}}, 304, 0, 0},
      {{{"if-none-match", "\"v2\""}}, 200, 0, 100},
  };
  for (const Row& row : table) {
    const FileAnswer got = answer(row.headers);
    const std::string what = row.headers.empty() ? "" : row.headers.front().second;
    EXPECT_EQ(got.status, row.status) << what;
    EXPECT_EQ(got.size, row.size) << what;
    EXPECT_EQ(got.begin, row.begin) << what;
  }
  EXPECT_NE(answer({{"range", "bytes=10-19"}}).headers.find("Content-Range: bytes 10-19/100\r\n"),
            std::string::npos);
  EXPECT_EQ(answer({{"range", "bytes=0-"}}, 0).status, 416);
  EXPECT_EQ(answer({{"range", "bytes=-5"}}, 0).status, 416);
}

TEST(Host, NamesThatOthersCouldOwnAreRefused) {
  for (const char* good : {"127.0.0.1", "127.0.0.1:8080", "localhost:80", "[::1]:80", "[::1]",
                           "10.0.0.7:1", "store-1:80"})
    EXPECT_TRUE(is_known_host(good, {"store-1"})) << good;
  for (const char* bad : {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example",
                          "127.0.0.1:80:80", "127.0.0.1:x", "[evil]:80", "[::1", "::1x"})
    EXPECT_FALSE(is_known_host(bad, {"store-1"})) << bad;
}

}  // namespace
}  // namespace headrace
