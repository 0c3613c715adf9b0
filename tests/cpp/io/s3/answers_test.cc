#include "io/s3/answers.h"

#include <gtest/gtest.h>

#include "io/s3/aws_profile.h"
#include "io/s3/s3_service.h"

namespace headrace {
namespace {

HttpResponse answer(int status, std::string body) {
  HttpResponse made;
  made.status = status;
  made.body = std::move(body);
  return made;
}

S3Service service() { return {"s3", "bucket", {}, nullptr}; }

TEST(S3Answers, ListingsAreDecodedOnlyIfTheServerEncodedThem) {
  const auto encoded = parse_s3_list(
      "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>a+b/c==</NextContinuationToken>"
      "<Contents><Key>a+b%2Bc%2520</Key><Size>7</Size></Contents>"
      "<CommonPrefixes><Prefix>x+y/</Prefix></CommonPrefixes></ListBucketResult>",
      "s3://b");
  ASSERT_TRUE(encoded.ok());
  EXPECT_EQ(encoded->entries[0].path, "a b+c%20");
  EXPECT_EQ(encoded->entries[0].bytes, 7U);
  EXPECT_EQ(encoded->prefixes[0], "x y/");
  EXPECT_EQ(encoded->next, "a+b/c==");
  const auto plain = parse_s3_list(
      "<ListBucketResult><Contents><Key>a+b &amp; c</Key><Size>0</Size></Contents>"
      "</ListBucketResult>",
      "s3://b");
  EXPECT_EQ(plain->entries[0].path, "a+b & c");
  EXPECT_EQ(plain->next, "");
}

TEST(S3Answers, BrokenListingsAreErrors) {
  for (const char* body :
       {"", "no xml", "<html></html>", "<ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"})
    EXPECT_FALSE(parse_s3_list(body, "s3://b").ok()) << body;
}

// As CompleteMultipartUpload answers when it fails after it has begun to answer.
TEST(S3Service, AnErrorThatComesWithStatus200IsAnError) {
  const std::string head = "<?xml version=\"1.0\"?>\n\n  \n<Error><Code>";
  EXPECT_EQ(service().truth(answer(200, head + "InternalError</Code></Error>")).status, 500);
  EXPECT_EQ(service().truth(answer(200, head + "PreconditionFailed</Code></Error>")).status, 412);
  EXPECT_EQ(service().truth(answer(200, "<ListBucketResult/>")).status, 200);
}

TEST(S3Service, ErrorsShowCodeAndMessageButNothingThatTheServerEchoes) {
  const Error error = service().error(
      "read", "s3://b/k",
      answer(403,
             "<Error><Code>SignatureDoesNotMatch</Code><Message>It does not</Message>"
             "<AWSAccessKeyId>AKIDSECRET</AWSAccessKeyId><StringToSign>AWS4</StringToSign>"
             "<SignatureProvided>f00ba4</SignatureProvided></Error>"));
  EXPECT_EQ(error.code, Code::kDenied);
  EXPECT_NE(error.to_string().find("SignatureDoesNotMatch: It does not"), std::string::npos);
  for (const char* secret : {"AKIDSECRET", "f00ba4", "AWS4"})
    EXPECT_EQ(error.to_string().find(secret), std::string::npos);
}

TEST(S3Service, TheServersAnswerTellsTheRegionAndTheTime) {
  auto credentials = std::make_shared<Renewed<S3Credentials>>([]() -> Result<S3Credentials> {
    return S3Credentials{"key", "secret"};
  });
  const auto signer = std::make_shared<S3Signer>(credentials, "us-east-1");
  const S3Service bucket("s3", "bucket", {}, signer);
  HttpResponse redirect = answer(301, "");
  EXPECT_FALSE(bucket.recover(redirect));
  redirect.headers.set("x-amz-bucket-region", "eu-west-3");
  EXPECT_TRUE(bucket.recover(redirect));
  EXPECT_EQ(bucket.object("GET", "k").request.url.host, "bucket.s3.eu-west-3.amazonaws.com");
  EXPECT_TRUE(bucket.recover(answer(
      400, "<Error><Code>AuthorizationHeaderMalformed</Code><Region>mars-1</Region></Error>")));
  EXPECT_EQ(signer->region(), "mars-1");

  HttpResponse late = answer(403, "<Error><Code>RequestTimeTooSkewed</Code></Error>");
  late.headers.set("Date", "Sat, 01 Jan 2050 12:00:00 GMT");
  EXPECT_TRUE(bucket.recover(late));
  ASSERT_TRUE(bucket.ready().ok());
  HttpRequest request = bucket.object("GET", "k").request;
  ASSERT_TRUE(signer->sign(request).ok());
  EXPECT_EQ(request.headers.get("x-amz-date").substr(0, 8), "20500101");
}

TEST(S3Answers, TheEtagOfPartsIsThatOfTheirDigests) {
  EXPECT_EQ(s3_multipart_etag({"d41d8cd98f00b204e9800998ecf8427e"}),
            "59adb24ef3cdbe0297f05b395827453f-1");
  EXPECT_EQ(s3_multipart_etag({"not-an-md5"}), "");
}

TEST(AwsProfiles, NestedSettingsCommentsAndBothFiles) {
  AwsProfiles profiles;
  profiles.add(
      "# a comment\n[default]\nregion = here ; not this\n\n[profile \"two words\"]\ns3 =\n"
      "  addressing_style = virtual\n  max = 1\nregion=there\nnot a setting\n[profile]\n"
      "[other thing]\nregion = nowhere\n[services s]\ns3 =\n endpoint_url = http://inside\n",
      true);
  profiles.add("[two words]\nregion = from credentials\r\nservices = s\n", false);
  EXPECT_EQ(profiles.get("default", "region"), "here");
  EXPECT_EQ(profiles.get("two words", "s3.addressing_style"), "virtual");
  EXPECT_EQ(profiles.get("two words", "region"), "from credentials");
  EXPECT_EQ(profiles.endpoint("two words", "s3"), "http://inside");
  EXPECT_EQ(profiles.endpoint("default", "s3"), "");
  EXPECT_EQ(profiles.find("thing"), nullptr);
}

}  // namespace
}  // namespace headrace
