// Samples of tar archives that are no Python objects yet: what flows from the reader through
// shuffles to batches where no function of the user stands between.
//
//   TarRecords ──▶ CheckedRecords, ShuffledRecords … ──▶ ColumnBatches
//
// All need the GIL. A stream belongs to the one that reads it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"

namespace headrace::python {

/// What samples have in common: their fields, and the keys of the dictionaries that they would be,
/// in their order.
struct Layout {
  enum class Part : uint8_t { key, url, local_path, field };
  struct Key {
    nb::object name;
    Part part = Part::field;
    size_t field = 0;  ///< the how manieth
  };
  std::vector<Key> keys;
  std::vector<std::string> fields;
  /// Of each field: batches hold its bytes as they are. The next samples' are then made at once.
  mutable std::vector<bool> wanted_whole;
};

/// What the samples of a shard have in common; None: they have no such key.
struct ShardNames {
  nb::object url;
  nb::object local_path;
};

struct Record {
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const ShardNames> shard;
  std::string key;
  std::vector<std::byte> bytes;  ///< of the fields, but for whole ones
  struct Field {
    size_t begin = 0;
    size_t size = 0;
    nb::object whole;  ///< its bytes as Python has them, or invalid
  };
  std::vector<Field> fields;

  ByteView field(size_t i) const;
  /// The value of a key in the dictionary.
  nb::object value(const Layout::Key& name) const;
  nb::dict to_dict() const;
};

class RecordStream {
 public:
  virtual ~RecordStream() = default;
  /// Nothing: the end. Raises.
  virtual std::optional<Record> next() = 0;
};

}  // namespace headrace::python
