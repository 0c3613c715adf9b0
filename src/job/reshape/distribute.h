// Pass 1 of two passes: samples of the input from front to back, each as it will be written in the
// output, and its position there.
// Thread-safety: several threads may call distribute() at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "job/progress.h"
#include "job/reshape/layout.h"
#include "job/reshape/plan.h"
#include "job/reshape/rows.h"
#include "job/reshape/spill_sort.h"
#include "job/shard_object.h"

namespace headrace {

class Distributor {
 public:
  /// A record: append_record_head(), and the tar bytes. Good until take() returns.
  using Take = std::function<Status(uint64_t position, std::string_view head, ByteView tar)>;

  /// What it is given outlives it, but for the room: a listed order is turned round in it.
  static Result<Distributor> make(const ReshapePlan& plan, const SampleLayouts& layouts,
                                  const Progress& progress, const WorkRoom& room);

  /// The samples with numbers in [begin, end) that lie in this shard and whose position `wants`.
  Status distribute(uint32_t shard, uint64_t begin, uint64_t end,
                    const std::function<bool(uint64_t position)>& wants, const Take& take) const;

 private:
  Distributor(const ReshapePlan& plan, const SampleLayouts& layouts, const Progress& progress)
      : plan_(plan), layouts_(layouts), progress_(progress) {}
  uint64_t position_of(uint64_t number) const;
  Result<ByteView> render(const SampleLayout& layout, MutableBytes sample, uint64_t begin,
                          std::vector<PlacedMember>& placed) const;

  const ReshapePlan& plan_;
  const SampleLayouts& layouts_;
  const Progress& progress_;
  Rows inverse_;  // of a listed order
};

}  // namespace headrace
