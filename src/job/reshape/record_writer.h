// Pass 2 of two passes: records of a bucket, in order, become a shard.
// Thread-safety: one thread. `object` and `progress` outlive it.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "job/progress.h"
#include "job/reshape/bucket_file.h"
#include "job/shard_object.h"

namespace headrace {

class RecordWriter {
 public:
  RecordWriter(ShardObject& object, const std::vector<std::string>& fields, Progress& progress)
      : object_(object), fields_(fields), progress_(progress) {}

  Status add(const BucketFile::Entry& entry);
  Status flush();

 private:
  Status write(ByteView bytes);

  ShardObject& object_;
  const std::vector<std::string>& fields_;
  Progress& progress_;
  std::string bytes_;
  std::deque<std::string> keys_;  // of placed_
  std::vector<PlacedMember> placed_;
};

}  // namespace headrace
