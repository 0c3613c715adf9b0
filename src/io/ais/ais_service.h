// AIStore's own interface as operations on a bucket. Ranges are pinned by checksum and version,
// which every answer shows, because no conditional header is honoured; for the same reason a put
// never fails because there is an object already.
// Thread-safe.
#pragma once

#include <memory>
#include <string>

#include "io/ais/cluster.h"
#include "io/bucket/bucket_service.h"

namespace headrace {

class AisService : public BucketService {
 public:
  /// `name`: "ais://bucket".
  AisService(std::shared_ptr<AisCluster> cluster, std::string bucket, std::string name);

  const std::string& name() const override { return name_; }
  Status ready() const override { return cluster_->ready(); }

  HttpCall object(const char* method, const std::string& key) const override;
  /// A member of the archive `key`, whole.
  HttpCall member(const std::string& key, const std::string& member) const;
  void pin(HttpRequest&, const std::string&) const override {}
  std::string version(const HttpResponse& answer) const override;
  void found(const std::string& key, const Url& url) const override;
  HttpCall put(const std::string& key, const std::shared_ptr<const std::string>& body,
               bool if_absent) const override;

  HttpCall list(const ListRequest& request) const override;
  Result<ListPage> parse_list(const HttpResponse& answer) const override;

  UploadLimits limits() const override;
  HttpCall begin_upload(const std::string& key) const override;
  Result<std::string> parse_upload(const HttpResponse& answer) const override;
  HttpCall put_part(const Upload& upload, const std::string& name,
                    const std::shared_ptr<const std::string>& body) const override;
  HttpCall complete_upload(const Upload& upload, bool if_absent) const override;
  std::vector<HttpCall> remove_parts(const Upload& upload, UploadEnd end) const override;

  bool recover(const HttpResponse&) const override { return false; }
  Error error(std::string_view action, const std::string& object,
              const HttpResponse& answer) const override;
  bool refuses_second_put() const override { return false; }

 private:
  HttpCall call(const char* method, const std::string& key, const std::string& query = "") const;

  const std::shared_ptr<AisCluster> cluster_;
  const std::string bucket_;
  const std::string name_;
};

}  // namespace headrace
