// What services say of uploads that nobody completed, and what is asked next. On real servers:
// live_upload_test.cc.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "io/az/az_service.h"
#include "io/bucket/part_object.h"
#include "io/gs/gs_service.h"
#include "io/s3/s3_service.h"

namespace headrace {
namespace {

const std::string kHelloMd5 = "5d41402abc4b2a76b9719d911017c592";

Url endpoint() { return Url::parse("https://host").value(); }
S3Service s3() { return {"s3", "bucket", {}, nullptr}; }
GsService google() { return {"bucket", endpoint(), true, nullptr}; }
AzService azure() { return {"box", endpoint(), {}}; }

HttpResponse answer(std::string body, int status = 200) {
  HttpResponse made;
  made.status = status;
  made.body = std::move(body);
  return made;
}

std::string query_of(const BucketService& service, const std::string& key,
                     const Unfinished& found) {
  return service.list_unfinished(key, found).request.url.query;
}

std::string upload(const std::string& key, const std::string& id, const std::string& time) {
  return "<Upload><Key>" + key + "</Key><UploadId>" + id + "</UploadId><Initiated>" + time +
         "</Initiated></Upload>";
}

std::string s3_part(int number, const std::string& etag, const std::string& size) {
  return "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>&quot;" + etag +
         "&quot;</ETag><Size>" + size + "</Size></Part>";
}

TEST(Unfinished, OfS3TheLatestUploadOfTheVeryKeyThenItsPartsPageByPage) {
  const S3Service service = s3();
  Unfinished found;
  EXPECT_EQ(query_of(service, "a b", found), "encoding-type=url&prefix=a%20b&uploads=");
  ASSERT_TRUE(service
                  .parse_unfinished("a b",
                                    answer("<ListMultipartUploadsResult><EncodingType>url"
                                           "</EncodingType>" +
                                           upload("a+b", "old", "2026-01-02T00:00:00.000Z") +
                                           upload("a+b", "late", "2026-01-03T00:00:00.000Z") +
                                           upload("a+b", "first", "2026-01-01T00:00:00.000Z") +
                                           upload("a+b2", "other", "2026-02-01T00:00:00.000Z") +
                                           "</ListMultipartUploadsResult>"),
                                    &found)
                  .ok());
  EXPECT_EQ(found.id, "late");
  EXPECT_FALSE(found.is_whole);
  EXPECT_EQ(query_of(service, "a b", found), "uploadId=late");
  ASSERT_TRUE(service
                  .parse_unfinished("a b",
                                    answer("<ListPartsResult><UploadId>late</UploadId>"
                                           "<IsTruncated>true</IsTruncated>"
                                           "<NextPartNumberMarker>1</NextPartNumberMarker>" +
                                           s3_part(1, kHelloMd5, "5") + "</ListPartsResult>"),
                                    &found)
                  .ok());
  EXPECT_FALSE(found.is_whole);
  EXPECT_EQ(query_of(service, "a b", found), "uploadId=late&part-number-marker=1");
  ASSERT_TRUE(service
                  .parse_unfinished("a b",
                                    answer("<ListPartsResult><UploadId>late</UploadId>"
                                           "<IsTruncated>false</IsTruncated>" +
                                           s3_part(7, "of-a-kms-key", "6") + "</ListPartsResult>"),
                                    &found)
                  .ok());
  EXPECT_TRUE(found.is_whole);
  ASSERT_EQ(found.parts.size(), 2U);
  const auto equal = found.parts.find(service.proof("1", as_bytes("hello")));
  ASSERT_NE(equal, found.parts.end());
  EXPECT_EQ(equal->second.bytes, 5U);
  EXPECT_EQ(equal->second.mark, kHelloMd5);
  EXPECT_FALSE(found.parts.contains(service.proof("2", as_bytes("hello")))) << "another number";
}

TEST(Unfinished, OfS3NoUploadOfTheKeyEndsTheSearch) {
  Unfinished found;
  ASSERT_TRUE(
      s3().parse_unfinished("k",
                            answer("<ListMultipartUploadsResult>" + upload("k2", "id", "2026") +
                                   "</ListMultipartUploadsResult>"),
                            &found)
          .ok());
  EXPECT_TRUE(found.is_whole);
  EXPECT_EQ(found.id, "");
}

TEST(Unfinished, AServerThatRepeatsAPageEndsTheSearch) {
  Unfinished found{.id = "id", .parts = {}, .next = "7"};
  ASSERT_TRUE(s3().parse_unfinished("k",
                                    answer("<ListPartsResult><UploadId>id</UploadId>"
                                           "<IsTruncated>true</IsTruncated>"
                                           "<NextPartNumberMarker>7</NextPartNumberMarker>"
                                           "</ListPartsResult>"),
                                    &found)
                  .ok());
  EXPECT_TRUE(found.is_whole);
}

TEST(Unfinished, OfGoogleThePartObjectsOfTheVeryKey) {
  const GsService service = google();
  Unfinished found;
  EXPECT_NE(query_of(service, "a/b", found).find("prefix=a%2Fb.headrace-part-&"),
            std::string::npos);
  const auto item = [](const std::string& name) {
    return nlohmann::json{{"name", name}, {"size", "5"}, {"md5Hash", "XUFAKrxLKna5cZ2REBfFkg=="}};
  };
  nlohmann::json page{{"items", {item("a/b.headrace-part-1-0.part")}}, {"nextPageToken", "more"}};
  ASSERT_TRUE(service.parse_unfinished("a/b", answer(page.dump()), &found).ok());
  EXPECT_FALSE(found.is_whole);
  EXPECT_NE(query_of(service, "a/b", found).find("pageToken=more"), std::string::npos);
  const auto equal = found.parts.find(service.proof("", as_bytes("hello")));
  ASSERT_NE(equal, found.parts.end());
  EXPECT_EQ(equal->second.mark, "a/b.headrace-part-1-0.part");

  // What is named here would be composed, and removed afterwards.
  found = {};
  page = {{"items", {item("a/b"), item("precious.part"), item("a/b.headrace-part-1-0")}}};
  ASSERT_TRUE(service.parse_unfinished("a/b", answer(page.dump()), &found).ok());
  EXPECT_TRUE(found.is_whole);
  EXPECT_TRUE(found.parts.empty());
}

TEST(Unfinished, OfAzureTheBlocksWhoseIdsHaveTheDigestOfTheirBytes) {
  const AzService service = azure();
  const std::string first = service.part_name({}, 0, as_bytes("hello"));
  EXPECT_NE(first, service.part_name({}, 1, as_bytes("hello")));
  EXPECT_NE(first, service.part_name({}, 0, as_bytes("other")));
  EXPECT_EQ(first, service.part_name({}, 0, as_bytes("hello")));
  EXPECT_EQ(first.size(), service.part_name({}, 49'999, as_bytes("other")).size());
  Unfinished found;
  EXPECT_EQ(query_of(service, "k", found), "comp=blocklist&blocklisttype=uncommitted");
  const auto block = [](const std::string& id) {
    return "<Block><Name>" + id + "</Name><Size>5</Size></Block>";
  };
  ASSERT_TRUE(
      service
          .parse_unfinished("k",
                            answer("\xEF\xBB\xBF<?xml version=\"1.0\"?><BlockList>"
                                   "<CommittedBlocks>" +
                                   block("committed") + "</CommittedBlocks><UncommittedBlocks>" +
                                   block(first) + "</UncommittedBlocks></BlockList>"),
                            &found)
          .ok());
  EXPECT_TRUE(found.is_whole);
  ASSERT_EQ(found.parts.size(), 1U);
  EXPECT_EQ(found.parts.at(service.proof(first, as_bytes("hello"))).mark, first);
}

TEST(Unfinished, DamagedAnswersAreErrorsOrHoldNothing) {
  const S3Service aws = s3();
  const GsService gs = google();
  const AzService az = azure();
  for (const std::string body :
       {"", "no xml, no json", "<html></html>", "{", "[]", "{\"items\": 7}",
        "{\"items\": [7, {\"name\": 1}, {\"name\": \"k.headrace-part-x.part\"}]}", "<BlockList>",
        "<BlockList><UncommittedBlocks><Block><Name>x</Name><Size>-1</Size></Block>"
        "</UncommittedBlocks></BlockList>",
        "<ListMultipartUploadsResult><Upload><Key>k</Key></Upload></ListMultipartUploadsResult>",
        "<ListPartsResult><UploadId>another</UploadId><Part><PartNumber>1</PartNumber>"
        "<ETag>x</ETag><Size>1</Size></Part></ListPartsResult>",
        "<ListPartsResult><UploadId>an-upload</UploadId><Part><PartNumber>1</PartNumber></Part>"
        "</ListPartsResult>",
        "<ListPartsResult><UploadId>an-upload</UploadId><Part><Size>99999999999999999999</Size>"
        "</Part></ListPartsResult>"}) {
    SCOPED_TRACE(body);
    for (const BucketService* service : std::initializer_list<const BucketService*>{&aws, &gs, &az})
      for (const char* id : {"", "an-upload"}) {
        Unfinished found{.id = id};
        const Status status = service->parse_unfinished("k", answer(body), &found);
        EXPECT_TRUE(!status.ok() || found.parts.empty());
      }
  }
}

TEST(PartObject, OnlyNamesThatWeMakeAreHidden) {
  EXPECT_TRUE(is_part_object(part_object("a/b.tar", "0123-7")));
  for (const char* name : {"a.part", "a.headrace-part-1", "a.headrace-part-1.part/b.part", "", "x"})
    EXPECT_FALSE(is_part_object(name)) << name;
}

std::vector<std::string> sources_of(const HttpCall& compose) {
  const auto body = nlohmann::json::parse(as_text(compose.request.body));
  std::vector<std::string> names;
  for (const auto& source : body["sourceObjects"]) names.push_back(source["name"]);
  return names;
}

std::string target_of(const HttpCall& compose) {
  const std::string& path = compose.request.url.path;
  const size_t begin = path.find("/o/") + 3;
  return percent_decode(path.substr(begin, path.rfind("/compose") - begin));
}

// The parts that `name` is made of, in order.
void take_apart(const std::map<std::string, std::vector<std::string>>& made,
                const std::string& name, std::vector<std::string>* out) {
  const auto found = made.find(name);
  if (found == made.end()) return out->push_back(name);
  for (const std::string& source : found->second) take_apart(made, source, out);
}

TEST(GoogleParts, AreComposedInRoundsOf32InOrderAndOnlyTheLastIsConditional) {
  const GsService service = google();
  EXPECT_EQ(service.limits().part_bytes * service.limits().most_parts, uint64_t{1} << 40);
  for (const size_t count : {2, 32, 33, 1024, 1025, 32'768}) {
    SCOPED_TRACE(count);
    Upload upload{.key = "k/x.tar", .id = "id"};
    for (size_t i = 0; i < count; ++i) upload.parts.push_back(service.part_name(upload, i, {}));
    const std::vector<std::string> parts = upload.parts;
    std::map<std::string, std::vector<std::string>> made;
    int rounds = 0;
    for (auto calls = service.join_parts(&upload); !calls.empty();
         calls = service.join_parts(&upload), ++rounds)
      for (const HttpCall& call : calls) {
        EXPECT_LE(sources_of(call).size(), 32U);
        EXPECT_EQ(call.request.url.query, "");
        EXPECT_TRUE(is_part_object(target_of(call)));
        made[target_of(call)] = sources_of(call);
      }
    EXPECT_EQ(rounds, count <= 32 ? 0 : count <= 1024 ? 1 : 2);
    const HttpCall last = service.complete_upload(upload, true);
    EXPECT_EQ(last.request.url.query, "ifGenerationMatch=0");
    EXPECT_EQ(target_of(last), "k/x.tar");
    EXPECT_LE(sources_of(last).size(), 32U);
    std::vector<std::string> order;
    for (const std::string& source : sources_of(last)) take_apart(made, source, &order);
    EXPECT_EQ(order, parts);

    std::set<std::string> removed;
    for (const HttpCall& call : service.remove_parts(upload, UploadEnd::kGivenUp))
      removed.insert(call.request.url.path);
    EXPECT_EQ(removed.size(), parts.size() + made.size()) << "all parts, and all that was joined";
  }
}

TEST(GoogleParts, WhatIsJoinedOfOtherPartsHasAnotherName) {
  const GsService service = google();
  const auto joined = [&](const std::string& id) {
    Upload upload{.key = "k", .id = id};
    for (size_t i = 0; i < 64; ++i) upload.parts.push_back(service.part_name(upload, i, {}));
    service.join_parts(&upload);
    return upload.parts;
  };
  EXPECT_EQ(joined("a"), joined("a"));
  EXPECT_NE(joined("a")[0], joined("b")[0]);
}

TEST(LostUploads, AreToldByEachServiceInItsWay) {
  const std::string invalid = "<Error><Code>InvalidPart</Code></Error>";
  EXPECT_TRUE(s3().is_lost(answer("<Error><Code>NoSuchUpload</Code></Error>", 404)));
  EXPECT_TRUE(s3().is_lost(answer(invalid, 400)));
  EXPECT_FALSE(s3().is_lost(answer("<Error><Code>EntityTooSmall</Code></Error>", 400)));
  EXPECT_TRUE(azure().is_lost(answer("<Error><Code>InvalidBlockList</Code></Error>", 400)));
  EXPECT_FALSE(azure().is_lost(answer("", 404)));
  HttpResponse missing = answer("{}", 404);
  missing.url = endpoint();
  EXPECT_FALSE(google().is_lost(missing)) << "a part: there is no such bucket";
  missing.url.path = "/storage/v1/b/bucket/o/k/compose";
  EXPECT_TRUE(google().is_lost(missing));
  EXPECT_EQ(s3().remove_parts({}, UploadEnd::kLost).size(), 0U) << "it is another writer's";
  EXPECT_EQ(s3().remove_parts({}, UploadEnd::kGivenUp).size(), 1U);
}

}  // namespace
}  // namespace headrace
