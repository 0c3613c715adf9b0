// The requests of S3's REST interface. Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "io/bucket/bucket_service.h"
#include "io/s3/s3_options.h"
#include "io/s3/s3_signer.h"

namespace headrace {

class S3Service : public BucketService {
 public:
  /// Without a signer, requests are anonymous.
  S3Service(const std::string& scheme, std::string bucket, S3Options options,
            std::shared_ptr<S3Signer> signer);

  const std::string& name() const override { return name_; }
  Status ready() const override;
  HttpCall object(const char* method, const std::string& key) const override;
  HttpCall put(const std::string& key, const std::shared_ptr<const std::string>& body,
               bool if_absent) const override;
  HttpCall list(const ListRequest& request) const override;
  Result<ListPage> parse_list(const HttpResponse& answer) const override;
  HttpCall begin_upload(const std::string& key) const override;
  Result<std::string> parse_upload(const HttpResponse& answer) const override;
  HttpCall put_part(const Upload& upload, const std::string& name,
                    const std::shared_ptr<const std::string>& body) const override;
  std::string part_mark(const HttpResponse& answer, const std::string& name) const override;
  /// The latest upload of the key, then its parts.
  HttpCall list_unfinished(const std::string& key, const Unfinished& found) const override;
  Status parse_unfinished(const std::string& key, const HttpResponse& answer,
                          Unfinished* found) const override;
  /// Parts' ETags are MD5s, unless a key of KMS or the customer's encrypts them: none is equal
  /// then.
  std::string proof(const std::string& name, ByteView body) const override;
  bool is_lost(const HttpResponse& answer) const override;
  HttpCall complete_upload(const Upload& upload, bool if_absent) const override;
  HttpResponse truth(HttpResponse answer) const override;
  std::vector<HttpCall> remove_parts(const Upload& upload, UploadEnd end) const override;
  bool is_completed(const Upload& upload, const std::string& etag) const override;
  bool recover(const HttpResponse& answer) const override;
  Error error(std::string_view action, const std::string& object,
              const HttpResponse& answer) const override;
  /// At AWS; other servers may not know the condition.
  bool refuses_second_put() const override { return !options_.endpoint.custom; }

 private:
  HttpCall call(const char* method, std::string_view key, const QueryParameters& query = {}) const;
  void give_body(HttpCall* call, std::shared_ptr<const std::string> body) const;

  const std::string bucket_;
  const S3Options options_;
  const std::shared_ptr<S3Signer> signer_;
  const std::string name_;
};

}  // namespace headrace
