#include "io/http/webdav.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/try.h"
#include "io/http/multistatus.h"
#include "io/spool.h"
#include "io/unique_id.h"

namespace headrace {
namespace {

constexpr int kMethodNotAllowed = 405;  // of MKCOL: the folder is there
constexpr int kNoParent = 409;
constexpr int kLocked = 423;  // servers lock what another request works on, for its time

bool takes_no_writes(int status) { return status == kMethodNotAllowed || status == 501; }

Error refused(std::string_view action, const std::string& object, const HttpResponse& answer) {
  if (!takes_no_writes(answer.status)) return http_error(action, object, answer);
  return {.code = Code::kUsage,
          .message = "the web server takes no objects: it does not speak WebDAV here",
          .origin = {.shard = object},
          .hint = "Write to a folder or a bucket and serve that."};
}

}  // namespace

class WebDav::Sink : public ByteSink {
 public:
  Sink(const WebDav& server, std::string path)
      : server_(server), path_(std::move(path)), part_(path_ + ".part-" + unique_id()) {}
  ~Sink() override {
    if (uploaded_) static_cast<void>(server_.remove(part_));
  }

  Status append(ByteView bytes) override { return spool_->append(bytes); }
  Status commit() override {
    HR_TRY([[maybe_unused]] const bool written, finish(true));
    return {};
  }
  Result<bool> commit_if_absent() override { return finish(false); }

 private:
  Result<bool> finish(bool overwrite) {
    HR_CHECK(upload());
    HttpCall move = server_.call("MOVE", part_);
    move.request.headers.set("Destination", server_.address(path_).to_string());
    move.request.headers.set("Overwrite", overwrite ? "T" : "F");
    const std::string name = move.object;
    HR_TRY(const HttpResponse answer, server_.fetcher_->send(std::move(move)));
    // The answer to a first attempt was lost: there is nothing to move any more.
    if (answer.status == 404 && overwrite && is_here()) return true;
    if (!overwrite && answer.status == 412) return false;
    if (!answer.is_success()) return refused("write", name, answer);
    uploaded_ = false;
    return true;
  }

  bool is_here() const {
    HttpCall head = server_.call("HEAD", path_);
    const auto answer = server_.fetcher_->send(std::move(head));
    return answer.ok() && answer->is_success() && answer->total_bytes() == spool_->size();
  }

  Status upload() {
    HR_TRY(const ByteView bytes, spool_->view());
    for (bool again = false;; again = true) {
      HttpCall put = server_.call("PUT", part_);
      put.request.body = bytes;
      put.request.body_owner = spool_;
      HR_TRY(const HttpResponse answer, server_.fetcher_->send(std::move(put)));
      uploaded_ = answer.is_success();
      if (uploaded_) return {};
      const bool no_folder = answer.status == kNoParent || answer.status == 404;
      if (!no_folder || again) return refused("write", server_.address(path_).to_string(), answer);
      HR_CHECK(server_.make_folders(path_));
    }
  }

  const WebDav server_;  // a copy: the store may end before
  const std::string path_;
  const std::string part_;
  const std::shared_ptr<Spool> spool_ = std::make_shared<Spool>();
  bool uploaded_ = false;  // the part is there
};

WebDav::WebDav(std::shared_ptr<Fetcher> fetcher, std::shared_ptr<const Signer> headers, Url root)
    : fetcher_(std::move(fetcher)), headers_(std::move(headers)), root_(std::move(root)) {}

std::unique_ptr<ByteSink> WebDav::create(const std::string& path) const {
  return std::make_unique<Sink>(*this, path);
}

Url WebDav::address(const std::string& path) const {
  Url url = root_;
  url.path += "/" + percent_encode(path, "/");
  return url;
}

HttpCall WebDav::call(const char* method, const std::string& path) const {
  HttpCall call{.request = {}, .object = "", .signer = headers_};
  call.request.method = method;
  call.request.url = address(path);
  call.object = call.request.url.to_string();
  call.again = [](Url&, const HttpResponse* answer, bool usual) {
    return usual || (answer != nullptr && answer->status == kLocked);
  };
  return call;
}

/// All above `path`. Those near the top may be there and forbidden, so the last one's answer
/// counts.
Status WebDav::make_folders(const std::string& path) const {
  const Url object = address(path);
  const size_t last = object.path.rfind('/');
  for (size_t slash = object.path.find('/', 1); slash <= last;
       slash = object.path.find('/', slash + 1)) {
    HttpCall make = call("MKCOL", "");
    make.request.url.path = object.path.substr(0, slash + 1);
    make.object = make.request.url.to_string();
    const std::string name = make.object;
    HR_TRY(const HttpResponse answer, fetcher_->send(std::move(make)));
    const bool is_there = answer.is_success() || answer.status == kMethodNotAllowed;
    if (slash == last && !is_there) return refused("make the folder", name, answer);
  }
  return {};
}

Status WebDav::remove(const std::string& path) const {
  HttpCall remove = call("DELETE", path);
  const std::string name = remove.object;
  HR_TRY(const HttpResponse answer, fetcher_->send(std::move(remove)));
  if (answer.is_success() || answer.status == 404) return {};
  return refused("remove", name, answer);
}

Result<std::vector<StoreEntry>> WebDav::list(const std::string& prefix) const {
  std::vector<StoreEntry> files;
  std::vector<std::string> folders = {prefix};
  while (!folders.empty()) {
    const std::string folder = std::move(folders.back());
    folders.pop_back();
    HR_CHECK(list_folder(folder, &files, &folders));
  }
  std::ranges::sort(files, {}, &StoreEntry::path);
  return files;
}

Status WebDav::list_folder(const std::string& folder, std::vector<StoreEntry>* files,
                           std::vector<std::string>* folders) const {
  HttpCall find = call("PROPFIND", folder);
  if (!find.request.url.path.ends_with('/')) find.request.url.path += "/";
  find.request.headers.set("Depth", "1");
  const std::string name = find.object;
  const std::string itself = percent_decode(find.request.url.path);
  HR_TRY(const HttpResponse answer, fetcher_->send(std::move(find)));
  if (answer.status == 404) return {};
  auto listed = answer.status == 207 ? parse_multistatus(answer.body, root_, itself) : std::nullopt;
  if (!listed && (answer.is_success() || takes_no_writes(answer.status) || answer.status == 403))
    return Error{.code = Code::kUsage,
                 .message = "the web server gives no list of what it has",
                 .origin = {.shard = name},
                 .hint =
                     "Name the shards, as shards-{000000..000012}.tar, or make a manifest "
                     "there with 'headrace index'."};
  if (!listed) return http_error("list", name, answer);
  std::ranges::move(listed->files, std::back_inserter(*files));
  std::ranges::move(listed->folders, std::back_inserter(*folders));
  return {};
}

}  // namespace headrace
