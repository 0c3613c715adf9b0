#include "dataset/decoded_source.h"

#include <algorithm>

#include "base/parallel.h"
#include "base/try.h"
#include "format/frame_codec.h"
#include "format/parquet/rows.h"

namespace headrace {

struct DecodedSource::Fetched {
  uint64_t offset = 0;
  ByteView bytes = {};

  bool has(uint64_t begin, uint64_t size) const {
    return begin >= offset && begin - offset <= bytes.size() &&
           size <= bytes.size() - (begin - offset);
  }
};

IoThreads& DecodedFrames::threads() const {
  return threads_.get([] { return std::make_unique<IoThreads>(thread_count(0)); });
}

DecodedSource::DecodedSource(std::shared_ptr<const ByteSource> object,
                             std::shared_ptr<const FrameMap> frames,
                             std::shared_ptr<DecodedFrames> decoded, uint32_t shard)
    : object_(std::move(object)),
      frames_(std::move(frames)),
      decoded_(std::move(decoded)),
      shard_(shard),
      stored_(frames_->is_stored()) {}

Status DecodedSource::check_range(uint64_t offset, uint64_t size) const {
  if (offset <= this->size() && size <= this->size() - offset) return {};
  return Error{.code = Code::kCorrupt,
               .message = "the archive ends before the bytes asked for",
               .origin = {.shard = name(), .offset = offset}};
}

Status DecodedSource::read_at(uint64_t offset, MutableBytes into) const {
  HR_CHECK(check_range(offset, into.size()));
  return decode(offset, into, {});
}

void DecodedSource::will_need(uint64_t offset, uint64_t size) const {
  if (size == 0 || !check_range(offset, size).ok()) return;
  const Frame& first = frames_->frames()[frames_->at(offset)];
  const Frame& last = frames_->frames()[frames_->at(offset + size - 1)];
  object_->will_need(first.encoded_offset, last.encoded_end() - first.encoded_offset);
}

void DecodedSource::start_read(uint64_t offset, MutableBytes into, Deadline deadline,
                               const Done& done) const {
  if (Status status = check_range(offset, into.size()); !status.ok() || into.empty())
    return done(std::move(status));
  if (!object_->is_remote()) {
    return decoded_->threads().post([this, offset, into, done] { done(decode(offset, into, {})); });
  }
  const uint64_t begin = frames_->frames()[frames_->at(offset)].encoded_offset;
  const uint64_t end = frames_->frames()[frames_->at(offset + into.size() - 1)].encoded_end();
  const auto packed = std::make_shared<std::string>(end - begin, '\0');
  object_->start_read(begin, as_writable_bytes(*packed), deadline,
                      [this, offset, into, done, begin, packed](Status status) {
                        if (!status.ok()) return done(std::move(status));
                        decoded_->threads().post([this, offset, into, done, begin, packed] {
                          done(decode(offset, into, {begin, as_bytes(*packed)}));
                        });
                      });
}

Status DecodedSource::decode(uint64_t offset, MutableBytes into, const Fetched& fetched) const {
  if (into.empty()) return {};
  for (size_t number = frames_->at(offset); !into.empty(); ++number) {
    const Frame& frame = frames_->frames()[number];
    const uint64_t from = offset - frame.decoded_offset;
    const MutableBytes part = into.first(std::min(into.size(), frame.decoded_size - from));
    HR_CHECK(part.size() == frame.decoded_size ? decode_whole(frame, part, fetched)
                                               : decode_part(number, from, part, fetched));
    offset += part.size();
    into = into.subspan(part.size());
  }
  return {};
}

Status DecodedSource::decode_part(size_t number, uint64_t from, MutableBytes into,
                                  const Fetched& fetched) const {
  const Frame& frame = frames_->frames()[number];
  if (frame.encoding == Encoding::kStored) {
    const uint64_t at = frame.encoded_offset + from;
    if (!fetched.has(at, into.size())) return object_->read_at(at, into);
    std::ranges::copy(fetched.bytes.subspan(at - fetched.offset, into.size()), into.begin());
    return {};
  }
  const auto load = [&]() -> Result<std::shared_ptr<const std::string>> {
    auto bytes = std::make_shared<std::string>(frame.decoded_size, '\0');
    HR_CHECK(decode_whole(frame, as_writable_bytes(*bytes), fetched));
    return std::shared_ptr<const std::string>(std::move(bytes));
  };
  HR_TRY(const auto whole, decoded_->get(shard_, number, load));
  std::ranges::copy(as_bytes(*whole).subspan(from, into.size()), into.begin());
  return {};
}

Status DecodedSource::decode_whole(const Frame& frame, MutableBytes into,
                                   const Fetched& fetched) const {
  thread_local std::string packed;
  ByteView encoded;
  if (fetched.has(frame.encoded_offset, frame.encoded_size)) {
    encoded = fetched.bytes.subspan(frame.encoded_offset - fetched.offset, frame.encoded_size);
  } else {
    packed.resize(frame.encoded_size);
    HR_CHECK(object_->read_at(frame.encoded_offset, as_writable_bytes(packed)));
    encoded = as_bytes(packed);
  }
  auto status = frame.encoding == Encoding::kRowGroup ? decode_rows(frame, encoded, into)
                                                      : decode_frame(frame, encoded, into);
  if (!status.ok()) return std::move(status).error().at({.shard = name()});
  return status;
}

Status DecodedSource::decode_rows(const Frame& frame, ByteView encoded, MutableBytes into) const {
  auto footer = footer_.load();
  if (!footer) {  // two threads may read it at once
    HR_TRY(parquet::Footer read,
           parquet::read_footer(object_->size(), [this](uint64_t offset, MutableBytes part) {
             return object_->read_at(offset, part);
           }));
    footer = std::make_shared<const parquet::Footer>(std::move(read));
    footer_.store(footer);
  }
  return parquet::decode_row_group(*footer, frame, encoded, into);
}

}  // namespace headrace
