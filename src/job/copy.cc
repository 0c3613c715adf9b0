#include "job/copy.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/parallel.h"
#include "base/try.h"
#include "job/copy_plan.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

constexpr unsigned kThreads = 8;  // they wait for the network
constexpr uint64_t kPiece = uint64_t{16} << 20;

Error holds(const Store& store, const std::string& what) {
  return {.code = Code::kUsage,
          .message = "'" + store.name() + "' already holds " + what,
          .origin = {},
          .hint = "Choose another place."};
}

/// The checksum that the plan knows, of bytes that come piece by piece.
class Check {
 public:
  explicit Check(const CopyObject& object) : object_(object) {}

  void update(ByteView bytes) {
    if (object_.xxh3 != 0) fast_.update(bytes);
    if (!object_.sha256.empty()) strong_.update(bytes);
  }
  bool is_right() {
    return (object_.xxh3 == 0 || fast_.digest() == object_.xxh3) &&
           (object_.sha256.empty() || strong_.hex() == object_.sha256);
  }

 private:
  const CopyObject& object_;
  Xxh3Stream fast_;
  Sha256Stream strong_;
};

class Copy {
 public:
  Copy(const CopyOptions& options, const CopyPlan& plan, Store& to, Progress& progress)
      : options_(options), plan_(plan), to_(to), progress_(progress) {}

  Result<CopyReport> run() {
    report_.has_manifest = !plan_.root.empty();
    report_.objects = plan_.objects.size() + (report_.has_manifest ? 1 : 0);
    report_.bytes = plan_.bytes() + plan_.root.size();
    progress_.total_bytes = plan_.bytes();
    progress_.total_items = plan_.objects.size();
    HR_TRY(const bool complete, look());
    if (complete) {
      if (!options_.dry_run) HR_CHECK(to_.remove(kPendingName));
      return report_;
    }
    if (!options_.dry_run) HR_CHECK(begin());
    HR_CHECK(copy_all());
    HR_CHECK(finish());
    report_.copied_objects = copied_objects_;
    report_.copied_bytes = copied_bytes_;
    return report_;
  }

 private:
  // Whether the destination holds everything already. Refuses one that holds something else.
  Result<bool> look() {
    if (plan_.root.empty()) {
      HR_CHECK(list_present());
      return false;
    }
    HR_TRY(const bool has_root, to_.exists(kManifestName));
    if (has_root) {
      HR_TRY(const std::string root, to_.read(kManifestName));
      if (root == plan_.root) return true;
      return holds(to_, "another data set");
    }
    HR_TRY(resumes_, to_.exists(kPendingName));
    if (resumes_) {
      HR_TRY(const std::string marker, to_.read(kPendingName));
      if (marker != marker_text()) return holds(to_, "an unfinished job");
    }
    HR_CHECK(list_present());
    return false;
  }

  Status list_present() {
    HR_TRY(const auto entries, to_.list(""));
    for (const StoreEntry& entry : entries) present_.emplace(entry.path, entry.bytes);
    return {};
  }

  std::string marker_text() const {
    const nlohmann::json marker{
        {"pending", "a copy of a data set is under way, or was stopped; the same command ends it"},
        {"plan", plan_.digest()}};
    return marker.dump(2) + "\n";
  }

  Status begin() {
    if (plan_.root.empty() || resumes_) return {};
    HR_TRY(const bool ours, put_if_absent(to_, kPendingName, as_bytes(marker_text())));
    return ours ? to_.sync() : holds(to_, "the beginnings of another job");
  }

  Status copy_all() {
    std::atomic<size_t> next{0};
    std::mutex mutex;
    Status failed;
    const uint64_t threads = options_.threads > 0 ? options_.threads : kThreads;
    run_on_threads(std::min<uint64_t>(threads, plan_.objects.size()), [&] {
      std::vector<std::byte> memory(kPiece);
      for (size_t i = next++; i < plan_.objects.size(); i = next++) {
        const Status status = copy_one(plan_.objects[i], memory);
        if (status.ok()) continue;
        next = plan_.objects.size();
        const std::lock_guard lock(mutex);
        if (failed.ok()) failed = status;
      }
    });
    return failed;
  }

  Status copy_one(const CopyObject& object, std::vector<std::byte>& memory) {
    if (progress_.stopped()) return Progress::interrupted();
    HR_TRY(const bool there, is_there(object, memory));
    if (there) {
      progress_.bytes += object.bytes;
    } else {
      if (!options_.dry_run) HR_CHECK(transfer(object, memory));
      ++copied_objects_;
      copied_bytes_ += object.bytes;
    }
    ++progress_.items;
    return {};
  }

  Result<bool> is_there(const CopyObject& object, std::vector<std::byte>& memory) {
    const auto found = present_.find(object.to());
    if (found == present_.end()) return false;
    if (found->second == object.bytes) {
      if (!object.has_checksum()) return true;
      HR_TRY(const auto source, to_.open_known(object.to(), object.bytes));
      Check check(object);
      HR_CHECK(read_all(*source, memory, [&](ByteView piece) -> Status {
        check.update(piece);
        return {};
      }));
      if (check.is_right()) return true;
    }
    if (!plan_.root.empty() && !resumes_) return holds(to_, "another '" + object.to() + "'");
    return false;
  }

  template <typename Take>
  Status read_all(const ByteSource& source, std::vector<std::byte>& memory, const Take& take) {
    for (uint64_t at = 0; at < source.size();) {
      if (progress_.stopped()) return Progress::interrupted();
      const MutableBytes piece =
          MutableBytes(memory).first(std::min<uint64_t>(kPiece, source.size() - at));
      HR_CHECK(source.read_at(at, piece));
      HR_CHECK(take(piece));
      at += piece.size();
    }
    return {};
  }

  Result<std::unique_ptr<ByteSource>> open(const CopyObject& object) const {
    if (object.address.empty()) {
      const Store& from = object.is_shard ? *plan_.data : *plan_.tables;
      return from.open_known(object.path, object.bytes);
    }
    HR_TRY(auto source, open_url(object.address));
    if (source->size() == object.bytes) return source;
    return Error{.code = Code::kChanged,
                 .message = "the object had " + std::to_string(object.bytes) + " bytes and has " +
                            std::to_string(source->size()) + " now",
                 .origin = {.shard = source->name()}};
  }

  Status transfer(const CopyObject& object, std::vector<std::byte>& memory) {
    if (object.made) return put(to_, object.to(), as_bytes(*object.made));
    HR_TRY(const auto source, open(object));
    HR_TRY(const auto sink, to_.create(object.to()));
    Check check(object);
    HR_CHECK(read_all(*source, memory, [&](ByteView piece) -> Status {
      check.update(piece);
      HR_CHECK(sink->append(piece));
      progress_.bytes += piece.size();
      return {};
    }));
    if (check.is_right()) return sink->commit();
    return Error{.code = Code::kCorrupt,
                 .message = "the object does not have the checksum that the manifest names",
                 .origin = {.shard = source->name()},
                 .hint = "Run 'headrace verify' on the source."};
  }

  Status finish() {
    if (options_.dry_run) return {};
    HR_CHECK(to_.sync());
    if (!plan_.root.empty()) {
      HR_CHECK(put(to_, kManifestName, as_bytes(plan_.root)));
      ++copied_objects_;
      copied_bytes_ += plan_.root.size();
      HR_CHECK(to_.sync());
      HR_CHECK(to_.remove(kPendingName));
    }
    HR_CHECK(to_.publish());
    return to_.sync();
  }

  const CopyOptions& options_;
  const CopyPlan& plan_;
  Store& to_;
  Progress& progress_;
  CopyReport report_;
  bool resumes_ = false;
  std::map<std::string, uint64_t> present_;  // at the destination
  std::atomic<uint64_t> copied_objects_{0};
  std::atomic<uint64_t> copied_bytes_{0};
};

}  // namespace

Result<CopyReport> copy(const CopyOptions& options, Progress& progress) {
  HR_TRY(const CopyPlan plan, plan_copy(options.source, options.transform));
  HR_TRY(const auto to,
         open_store(options.destination, options.fsync ? Durability::kDurable : Durability::kFast));
  return Copy(options, plan, *to, progress).run();
}

}  // namespace headrace
