#include "job/reshape/cost.h"

#include <algorithm>
#include <fstream>

#include "base/units.h"
#include "dataset/containers.h"
#include "io/urls.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

// Of one machine; the model only has to rank two ways, and to tell seconds from hours.
constexpr double kCachedBytes = 1.0e9;   // a second, files in the page cache
constexpr double kDiskBytes = 0.5e9;     // a second, files that are not
constexpr double kNetworkBytes = 1.0e9;  // a second
constexpr double kDiskReads = 20'000;    // at random, a second
constexpr double kRequests = 2'000;      // a second to one bucket from one machine
constexpr double kDollarsGet = 0.4e-6;   // each
constexpr double kDollarsPut = 5e-6;     // each
constexpr uint64_t kRequestBytes = uint64_t{4} << 20;
constexpr uint64_t kPartBytes = uint64_t{8} << 20;

uint64_t free_memory() {
  std::ifstream info("/proc/meminfo");
  std::string name;
  uint64_t kibibytes = 0;
  for (std::string rest; info >> name >> kibibytes; std::getline(info, rest))
    if (name == "MemAvailable:") return kibibytes << 10;
  return uint64_t{1} << 30;
}

uint64_t index_memory(const Inputs& inputs) {
  uint64_t bytes = 0;
  for (const auto& set : inputs.sets()) {
    for (const FieldSummary& field : set->manifest().fields) bytes += field.count * 24;
    bytes += set->size() * 64;  // places, and keys of about 30 bytes
  }
  return bytes;
}

double reading_seconds(const Inputs& inputs, uint64_t bytes, uint64_t reads, bool random) {
  const auto size = static_cast<double>(bytes);
  const auto count = static_cast<double>(reads);
  if (inputs.is_remote()) return std::max(size / kNetworkBytes, count / kRequests);
  const bool cached = inputs.bytes() < free_memory() / 2;
  if (cached) return size / kCachedBytes;
  return std::max(size / kDiskBytes, random ? count / kDiskReads : 0);
}

}  // namespace

Choice choose_algorithm(const ReshapePlan& plan, uint64_t tasks, uint64_t memory_bytes,
                        Algorithm wanted) {
  const Inputs& inputs = plan.inputs();
  const bool jumps = plan.order().kind() != SampleOrder::Kind::kIdentity;
  const bool remote_out = is_remote_location(plan.out());
  const double part =
      static_cast<double>(tasks) / static_cast<double>(std::max<uint64_t>(1, plan.tasks()));
  const auto share = [part](uint64_t all) {
    return static_cast<uint64_t>(static_cast<double>(all) * part);
  };
  const uint64_t samples = share(plan.order().size());
  const uint64_t mean = inputs.bytes() / std::max<uint64_t>(1, inputs.samples());
  const uint64_t output = samples * mean * plan.order().columns();

  Choice choice;
  Cost& gather = choice.gather;
  gather.bytes_read = gather.bytes_written = output;
  const uint64_t reads = jumps ? samples * plan.order().columns() : output / kRequestBytes + 1;
  gather.memory = jumps ? index_memory(inputs) + memory_bytes / 4 : memory_bytes / 4;
  gather.seconds = reading_seconds(inputs, output, reads, jumps);
  Cost& buckets = choice.buckets;
  buckets.bytes_read = inputs.bytes() + output;
  buckets.bytes_written = 2 * output;
  buckets.memory = memory_bytes;
  buckets.scratch = output;
  const uint64_t windows = inputs.bytes() / kRequestBytes + inputs.shards();
  buckets.seconds = reading_seconds(inputs, inputs.bytes(), windows, false) +
                    2 * static_cast<double>(output) / kCachedBytes;
  if (inputs.is_remote()) {
    gather.requests_read = reads;
    buckets.requests_read = windows;
  }
  for (Cost* cost : {&gather, &buckets}) {
    if (remote_out) cost->requests_written = output / kPartBytes + 3 * tasks;
    cost->seconds += static_cast<double>(output) / kCachedBytes;
    cost->dollars = static_cast<double>(cost->requests_read) * kDollarsGet +
                    static_cast<double>(cost->requests_written) * kDollarsPut;
  }

  const bool fits = gather.memory <= memory_bytes;
  choice.algorithm = wanted;
  if (plan.assignment().map) {
    choice.algorithm = Algorithm::kGather;
    choice.why = plan.assignment().map->kind == MapStep::Kind::kPictures
                     ? "each sample is read where it lies, and its pictures change on the way"
                     : "each sample is read where it lies, and goes through the command";
  } else if (plan.order().columns() > 1) {
    choice.algorithm = Algorithm::kGather;
    choice.fits = fits;
    choice.why = "a join reads each of its samples where it lies";
  } else if (is_compressed(plan.container())) {
    // Two passes would cut other frames, and the bytes must not depend on the algorithm.
    choice.algorithm = Algorithm::kGather;
    choice.fits = fits;
    choice.why = "compressed shards are written in one pass";
  } else if (wanted != Algorithm::kAuto) {
    choice.why = "--algorithm says so";
  } else if (!jumps) {
    choice.algorithm = Algorithm::kGather;
    choice.why = "the order is that of the input, which is read from front to back";
  } else if (!fits) {
    choice.algorithm = Algorithm::kBuckets;
    choice.why = "the indexes would take " + format_bytes(gather.memory) + " of the " +
                 format_bytes(memory_bytes) + " that --memory allows";
  } else if (buckets.seconds < gather.seconds) {
    choice.algorithm = Algorithm::kBuckets;
    choice.why =
        "samples of " + format_bytes(mean) + " are slower to read one by one than to move twice";
  } else {
    choice.algorithm = Algorithm::kGather;
    choice.why = "reading samples of " + format_bytes(mean) +
                 " where they lie is faster than moving all twice";
  }
  return choice;
}

}  // namespace headrace
