// The requests of Azure Blob Storage, for block blobs. Thread-safe.
//
// Parts are blocks that Azure forgets after a week if no list names them. A block's id has the
// MD5 of its bytes, because listings of such blocks tell only ids and sizes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "io/bucket/bucket_service.h"

namespace headrace {

/// How requests are let in: by a signer, by what is added to every query (a SAS), or freely.
struct AzureAccess {
  std::shared_ptr<const Signer> signer = {};
  std::function<Status()> ready = {};  ///< waits for the signer's token; may be empty
  std::string sas = {};                ///< without '?'
};

class AzService : public BucketService {
 public:
  /// `endpoint` is the account's: https://ACCOUNT.blob.core.windows.net.
  AzService(std::string container, Url endpoint, AzureAccess access);

  const std::string& name() const override { return name_; }
  Status ready() const override { return access_.ready ? access_.ready() : Status(); }
  HttpCall object(const char* method, const std::string& key) const override;
  HttpCall put(const std::string& key, const std::shared_ptr<const std::string>& body,
               bool if_absent) const override;
  HttpCall list(const ListRequest& request) const override;
  Result<ListPage> parse_list(const HttpResponse& answer) const override;
  UploadLimits limits() const override { return {uint64_t{8} << 20, 50'000}; }
  HttpCall begin_upload(const std::string&) const override { return nothing_to_ask(); }
  Result<std::string> parse_upload(const HttpResponse&) const override { return std::string(); }
  std::string part_name(const Upload&, size_t number, ByteView body) const override;
  HttpCall put_part(const Upload& upload, const std::string& name,
                    const std::shared_ptr<const std::string>& body) const override;
  HttpCall list_unfinished(const std::string& key, const Unfinished&) const override;
  Status parse_unfinished(const std::string& key, const HttpResponse& answer,
                          Unfinished* found) const override;
  bool is_lost(const HttpResponse& answer) const override;
  HttpCall complete_upload(const Upload& upload, bool if_absent) const override;
  /// A conditional put that finds a blob: 409 there, 412 elsewhere.
  HttpResponse truth(HttpResponse answer) const override;
  std::vector<HttpCall> remove_parts(const Upload&, UploadEnd) const override { return {}; }
  bool recover(const HttpResponse&) const override { return false; }
  Error error(std::string_view action, const std::string& object,
              const HttpResponse& answer) const override;
  bool refuses_second_put() const override { return true; }

 private:
  HttpCall call(const char* method, const std::string& key, const QueryParameters& query) const;

  const Url endpoint_;
  const std::string container_;
  const AzureAccess access_;
  const std::string name_;
};

}  // namespace headrace
