// A Store is where objects live: a folder tree, later a bucket or a server. Objects are named by
// paths with '/' relative to the store's root, are read by ranges, and appear whole or not at all.
//
// One small interface for every kind of storage, so that a new store is one file, and the seam
// where tests inject faults. Errors carry the object's full name; a missing object is
// Code::kNotFound, a full disk Code::kNoSpace, a forbidden one Code::kDenied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/bytes.h"
#include "headrace/result.h"

namespace headrace {

/// An object open for reading. Thread-safe: any number of threads may read at once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Full path or URL, for messages.
  virtual const std::string& name() const = 0;
  /// In bytes, as it was when the source was opened.
  virtual uint64_t size() const = 0;
  /// Fills `into` from `offset` on. Fewer bytes there is an error (Code::kCorrupt: it was cut).
  virtual Status read_at(uint64_t offset, MutableBytes into) const = 0;
  /// Says that a range will be read soon, so that the storage may fetch it meanwhile. May do
  /// nothing.
  virtual void will_need(uint64_t offset, uint64_t size) const = 0;
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
};

/// Thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  /// Path or URL of the root, for messages.
  virtual const std::string& name() const = 0;
  virtual Result<std::unique_ptr<ByteSource>> open(const std::string& path) const = 0;
  virtual Result<bool> exists(const std::string& path) const = 0;
  /// Every object under `prefix` (a folder, "" for all), sorted by the bytes of its path.
  virtual Result<std::vector<StoreEntry>> list(const std::string& prefix) const = 0;
  virtual Result<std::unique_ptr<ByteSink>> create(const std::string& path) = 0;
  /// Removing what is not there is a success.
  virtual Status remove(const std::string& path) = 0;
  /// Everything committed so far is on stable storage (fsync of files and folders) afterwards.
  virtual Status sync() = 0;
};

/// The whole object.
Result<std::string> read_all(const Store& store, const std::string& path);
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

}  // namespace headrace
