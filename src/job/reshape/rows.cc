#include "job/reshape/rows.h"

#include "base/try.h"

namespace headrace {
namespace {

constexpr size_t kBuffer = 8192;  // numbers

}  // namespace

Rows::Rows(std::vector<uint64_t> numbers) {
  auto owner = std::make_shared<const std::vector<uint64_t>>(std::move(numbers));
  numbers_ = *owner;
  owner_ = std::move(owner);
}

Status RowsBuilder::add(uint64_t number) {
  buffer_.push_back(number);
  return buffer_.size() < kBuffer ? Status() : flush();
}

Status RowsBuilder::add(std::span<const uint64_t> numbers) {
  HR_CHECK(flush());
  return spool_->append(std::as_bytes(numbers));
}

Status RowsBuilder::flush() {
  HR_CHECK(spool_->append(std::as_bytes(std::span(buffer_))));
  buffer_.clear();
  return {};
}

Result<Rows> RowsBuilder::finish() {
  HR_CHECK(flush());
  HR_TRY(const ByteView bytes, spool_->view());
  Rows rows;
  rows.numbers_ = {reinterpret_cast<const uint64_t*>(bytes.data()),
                   bytes.size() / sizeof(uint64_t)};
  rows.owner_ = std::move(spool_);
  return rows;
}

}  // namespace headrace
