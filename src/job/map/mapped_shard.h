// A shard that mapped samples are written to, in the order of the input.
// Thread-safety: one thread at a time.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "job/map/step.h"
#include "job/publish.h"
#include "job/shard_object.h"

namespace headrace {

class MappedShard {
 public:
  MappedShard(Store& store, Publication& publication, uint64_t task, std::string name,
              Container container)
      : publication_(publication),
        task_(task),
        object_(store, std::move(name), fields_, container) {}

  Status add(const MapSample& sample);
  void skip(SkippedSample sample) { object_.skip(std::move(sample)); }
  /// Commits it, and its record.
  Status finish();

 private:
  uint32_t field_number(const std::string& name);
  Status add_payload(const std::string& bytes);
  Status flush();

  Publication& publication_;
  const uint64_t task_;
  std::vector<std::string> fields_;  // of this shard, as they come
  ShardObject object_;
  std::string run_;  // not written yet: in compressed containers, the next frame
  std::vector<PlacedMember> placed_;
  std::deque<std::string> keys_;  // keeps those of placed_
};

/// Code::kUsage if readers would not find the sample's key and fields again in its members' names,
/// or there are none.
Status check_names(const MapSample& sample);

}  // namespace headrace
