// An object of a web server: read by ranges or, where the server serves none, streamed once into a
// temporary file (Download). Which of the two may show with the first read.
// Thread-safe. In a child after fork() what is streamed and was not complete is streamed anew.
#pragma once

#include <atomic>
#include <memory>

#include "io/cache/per_process.h"
#include "io/http/download.h"
#include "io/http/http_object.h"
#include "io/remote_source.h"

namespace headrace {

class HttpSource final : public ByteSource {
 public:
  /// `pin` knows the size.
  HttpSource(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const HttpObject> object,
             std::shared_ptr<ObjectPin> pin);

  /// It is known that there are no ranges. `begun`: a download of it, or nullptr.
  void stream(std::shared_ptr<Download> begun = nullptr);

  const std::string& name() const override { return object_->name(); }
  uint64_t size() const override { return ranges_.size(); }
  Status read_at(uint64_t offset, MutableBytes into) const override;
  void will_need(uint64_t, uint64_t) const override {}
  /// False once all of it was streamed.
  bool is_remote() const override;
  bool is_spooled() const override { return streams(); }
  void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                  const Done& done) const override;
  void start_range(uint64_t offset, MutableBytes into, Deadline deadline,
                   const Done& done) const override;
  std::string identity() const override;

 private:
  bool streams() const;
  std::shared_ptr<Download> download() const;
  Status ask_version() const;

  const std::shared_ptr<Fetcher> fetcher_;
  const std::shared_ptr<const HttpObject> object_;
  const std::shared_ptr<ObjectPin> pin_;
  const RemoteSource ranges_;
  mutable std::atomic<bool> streams_{false};
  PerProcess<std::shared_ptr<Download>> downloads_;
};

}  // namespace headrace
