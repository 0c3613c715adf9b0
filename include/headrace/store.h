// A Store is where objects live: a folder tree, a bucket, a server. Objects are named by paths with
// '/' relative to the store's root, are read by ranges, and appear whole or not at all.
//
// One small interface for every kind of storage, so that a new store is one file, and the seam
// where tests inject faults. Errors carry the object's full name; a missing object is
// Code::kNotFound, a full disk Code::kNoSpace, a forbidden one Code::kDenied.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// How soon a read is needed: lower comes first. Readers that wait for their bytes have kNow;
/// loaders give the epoch and the number of the batch.
using Deadline = uint64_t;
inline constexpr Deadline kNow = 0;

/// An object open for reading. Thread-safe: any number of threads may read at once.
class ByteSource {
 public:
  using Done = std::function<void(Status)>;

  virtual ~ByteSource() = default;

  /// Full path or URL, for messages.
  virtual const std::string& name() const = 0;
  /// In bytes, as it was when the source was opened.
  virtual uint64_t size() const = 0;
  /// Fills `into` from `offset` on. Fewer bytes there is an error (Code::kCorrupt: it was cut).
  virtual Status read_at(uint64_t offset, MutableBytes into) const = 0;
  /// The same for consecutive bytes that go to several places: files need one system call.
  virtual Status read_parts(uint64_t offset, std::span<const MutableBytes> parts) const;
  /// Says that a range will be read soon, so that the storage may fetch it meanwhile. May do
  /// nothing.
  virtual void will_need(uint64_t offset, uint64_t size) const = 0;

  /// Whether a read takes so long (a request over a network) that many should be under way at once.
  virtual bool is_remote() const { return false; }
  /// Whether its bytes were streamed into a temporary file that goes with it: who will read it
  /// again keeps it open.
  virtual bool is_spooled() const { return false; }
  /// Reads as read_at does, without waiting where that is possible: `done` is called once, from any
  /// thread, maybe before this returns; it must be short. `into` and the source live until then.
  virtual void start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                          const Done& done) const;
  /// The same, but never streams the whole object for it: where nothing else is left, the answer is
  /// Code::kUsage and is_spooled() says so. For who shares the stream with other processes.
  virtual void start_range(uint64_t offset, MutableBytes into, Deadline deadline,
                           const Done& done) const {
    start_read(offset, into, deadline, done);
  }
  /// Names the very bytes of this object, for caches: two sources with one identity are equal byte
  /// for byte. Empty: the bytes cannot be told from others (a server without ETag), or a cache
  /// would not help.
  virtual std::string identity() const { return ""; }
  /// Tells this object from what was or will be there under its name: a file's size and time of
  /// change, else identity(). May ask the store. Empty: nothing tells.
  virtual std::string version() const { return identity(); }
};

/// An object being written. Belongs to one thread. Destroyed without commit(): nothing remains.
class ByteSink {
 public:
  virtual ~ByteSink() = default;

  virtual Status append(ByteView bytes) = 0;
  /// Makes the object visible under its name, whole, replacing what was there.
  virtual Status commit() = 0;
  /// The same, but leaves what is already there and answers false then.
  virtual Result<bool> commit_if_absent() = 0;
};

/// One object in a listing.
struct StoreEntry {
  std::string path;  ///< relative to the store's root
  uint64_t bytes = 0;
  /// When it was last written, by the store's clock; nothing where listings do not say so.
  std::optional<std::chrono::system_clock::time_point> modified = std::nullopt;
  /// XXH3 of what ByteSource::identity() says of the object; 0: the listing does not tell.
  uint64_t identity = 0;
};

/// Thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  /// Path or URL of the root, for messages.
  virtual const std::string& name() const = 0;
  virtual Result<std::unique_ptr<ByteSource>> open(const std::string& path) const = 0;
  /// The same for an object that is known to have `bytes` bytes; another size is Code::kCorrupt.
  /// Remote stores ask nothing before the first read, whose answer shows the size.
  virtual Result<std::unique_ptr<ByteSource>> open_known(const std::string& path,
                                                         uint64_t bytes) const;
  /// The whole object, in one request where there are requests.
  virtual Result<std::string> read(const std::string& path) const;
  virtual Result<bool> exists(const std::string& path) const = 0;
  /// Every object under `prefix` (a folder, "" for all), sorted by the bytes of its path.
  virtual Result<std::vector<StoreEntry>> list(const std::string& prefix) const = 0;
  virtual Result<std::unique_ptr<ByteSink>> create(const std::string& path) = 0;
  /// Removing what is not there is a success.
  virtual Status remove(const std::string& path) = 0;
  /// Whether commit_if_absent() keeps two writers apart that come at the same instant. Without, it
  /// looks and then writes.
  virtual bool creates_atomically() const { return true; }
  /// Ends a series of changes that belong together: where a store shows changes to others in groups
  /// (the Hub's commits), this is one. Elsewhere they were visible all along.
  virtual Status publish() { return {}; }
  /// Everything committed so far is on stable storage (fsync of files and folders) afterwards.
  virtual Status sync() = 0;
};

/// Creates or replaces an object.
Status put(Store& store, const std::string& path, ByteView bytes);
/// Creates an object; false if there was one, which stays as it is.
Result<bool> put_if_absent(Store& store, const std::string& path, ByteView bytes);

/// Whether a commit waits until the bytes are on stable storage (fsync), or trusts the system.
enum class Durability { kDurable, kFast };

/// The store of a location: a path or `file:` URL of a folder (which need not exist yet), or
/// `mem:NAME`, one in memory per name and process.
Result<std::shared_ptr<Store>> open_store(const std::string& location,
                                          Durability durability = Durability::kDurable);

/// One object by its path or URL. That of http and https may have a query, as signed ones have.
Result<std::unique_ptr<ByteSource>> open_url(const std::string& location);
/// The whole of such an object.
Result<std::string> read_url(const std::string& location);

}  // namespace headrace
