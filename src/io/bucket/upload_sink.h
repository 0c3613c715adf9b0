// An object being written to a bucket: in one request if it is small, else in parts that go out in
// parallel while more is appended. Nothing shows before the commit; destroyed without one, the
// parts are given up. What a killed writer of the same key left is not sent again, part by part,
// where it is proved equal.
//
// Two writers of one key may have parts in common. A completion names every part by what its bytes
// are, so it never mixes them; whoever comes second is told that the upload is lost
// (Code::kChanged).
// Belongs to one thread. Memory: at most (kMostAtOnce + 1) parts.
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "io/bucket/bucket_service.h"

namespace headrace {

class UploadSink : public ByteSink {
 public:
  UploadSink(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const BucketService> service,
             std::string key);
  ~UploadSink() override;

  Status append(ByteView bytes) override;
  Status commit() override;
  Result<bool> commit_if_absent() override;

 private:
  static constexpr size_t kMostAtOnce = 4;
  struct Part {
    size_t number;
    std::string name;
    std::shared_ptr<const std::string> body;
  };
  using Held = std::map<std::string, Unfinished::Part>;

  Result<bool> finish(bool if_absent);
  Result<HttpResponse> put(const std::shared_ptr<const std::string>& body, bool if_absent);
  Result<HttpResponse> complete(bool if_absent);
  Status begin();
  Status ask_for_id();
  Held::iterator find_held(const std::string& name);
  Status send_part();
  void start_part(const Part& part, bool again);
  void part_done(const Part& part, bool again, Result<HttpResponse> answer);
  void add_part(std::string mark, size_t in_flight);
  Status join_parts();
  Error failure(const HttpResponse& answer);
  Status wait_for(size_t most_in_flight);
  Result<bool> is_there() const;
  bool is_ours() const;

  const std::shared_ptr<Fetcher> fetcher_;
  const std::shared_ptr<const BucketService> service_;
  const std::string name_;
  const UploadLimits limits_;
  std::string buffer_;
  uint64_t bytes_ = 0;  // of the parts
  bool begun_ = false;
  UploadEnd end_ = UploadEnd::kGivenUp;
  bool resumes_ = false;
  Held held_;  // what was not used yet of unfinished uploads
  Upload upload_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t in_flight_ = 0;
  std::optional<Error> failed_;
};

}  // namespace headrace
