// Google Cloud Storage: objects are read and removed by its XML interface, which is as S3's there,
// and written and listed by the JSON one, which knows conditions for all it does.
//
// The parts of a large object are objects of their own (part_object.h) until they are composed, 32
// at a time and what that makes again. A name stands for the same bytes for ever: of parts it has
// an id that no other writer has, of what was composed the digest of its sources' names. So writers
// of one key can use each other's parts and never mix their bytes. Thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "io/bucket/bearer.h"
#include "io/bucket/bucket_service.h"

namespace headrace {

class GsService : public BucketService {
 public:
  /// Without a signer, requests are anonymous.
  GsService(std::string bucket, Url endpoint, bool is_emulator,
            std::shared_ptr<const BearerSigner> signer);

  const std::string& name() const override { return name_; }
  Status ready() const override;
  HttpCall object(const char* method, const std::string& key) const override;
  /// By generation, which both interfaces and listings tell alike; an ETag differs between them.
  void pin(HttpRequest& request, const std::string& version) const override;
  std::string version(const HttpResponse& answer) const override;
  HttpCall put(const std::string& key, const std::shared_ptr<const std::string>& body,
               bool if_absent) const override;
  HttpCall list(const ListRequest& request) const override;
  Result<ListPage> parse_list(const HttpResponse& answer) const override;
  /// As many as three rounds of composition take: 1 TiB.
  UploadLimits limits() const override { return {uint64_t{32} << 20, 32 * 32 * 32}; }
  HttpCall begin_upload(const std::string&) const override { return nothing_to_ask(); }
  Result<std::string> parse_upload(const HttpResponse&) const override;
  std::string part_name(const Upload& upload, size_t number, ByteView body) const override;
  HttpCall put_part(const Upload& upload, const std::string& name,
                    const std::shared_ptr<const std::string>& body) const override;
  HttpCall list_unfinished(const std::string& key, const Unfinished& found) const override;
  Status parse_unfinished(const std::string& key, const HttpResponse& answer,
                          Unfinished* found) const override;
  std::string proof(const std::string& name, ByteView body) const override;
  std::vector<HttpCall> join_parts(Upload* upload) const override;
  /// A source that another writer removed, because it completed the object or gave it up.
  bool is_lost(const HttpResponse& answer) const override;
  HttpCall complete_upload(const Upload& upload, bool if_absent) const override;
  std::vector<HttpCall> remove_parts(const Upload& upload, UploadEnd) const override;
  bool recover(const HttpResponse&) const override { return false; }
  Error error(std::string_view action, const std::string& object,
              const HttpResponse& answer) const override;
  /// Emulators do not know all conditions.
  bool refuses_second_put() const override { return !is_emulator_; }

 private:
  HttpCall call(const char* method, std::string path, const QueryParameters& query,
                const std::string& key) const;
  HttpCall list_call(const std::string& prefix, const QueryParameters& more,
                     const std::string& token) const;
  HttpCall compose(std::span<const std::string> sources, const std::string& key,
                   bool if_absent) const;

  const std::string bucket_;
  const Url endpoint_;
  const bool is_emulator_;
  const std::shared_ptr<const BearerSigner> signer_;
  const std::string name_;
};

}  // namespace headrace
