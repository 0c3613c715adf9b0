#include "job/reshape/order.h"

namespace headrace {

SampleOrder SampleOrder::identity(uint64_t samples) {
  SampleOrder order;
  order.size_ = samples;
  return order;
}

SampleOrder SampleOrder::permuted(uint64_t samples, uint64_t key) {
  SampleOrder order;
  order.kind_ = Kind::kPermuted;
  order.size_ = samples;
  order.key_ = key;
  order.permutation_ = Permutation(samples, key);
  return order;
}

SampleOrder SampleOrder::listed(Rows rows, uint32_t columns) {
  const uint64_t size = rows.size() / columns;
  return part(size, 0, std::move(rows), columns);
}

SampleOrder SampleOrder::part(uint64_t size, uint64_t first, Rows rows, uint32_t columns) {
  SampleOrder order;
  order.kind_ = Kind::kListed;
  order.size_ = size;
  order.columns_ = columns;
  order.first_ = first;
  order.rows_ = std::move(rows);
  return order;
}

}  // namespace headrace
