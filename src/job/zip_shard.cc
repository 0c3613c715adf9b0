#include "job/zip_shard.h"

#include <algorithm>

#include "base/try.h"
#include "format/frame_codec.h"

namespace headrace {
namespace {

constexpr uint64_t kSaved = 16;  // a part of so many has to be saved
constexpr size_t kLongestName = 0xffff;

}  // namespace

Status ZipShard::put(const std::string& text, ByteView bytes) {
  HR_CHECK(write_(as_bytes(text)));
  if (!bytes.empty()) HR_CHECK(write_(bytes));
  written_ += text.size() + bytes.size();
  return {};
}

Status ZipShard::begin(std::string name, uint64_t size, ByteView there) {
  if (name.size() > kLongestName)
    return Error{.code = Code::kUsage,
                 .message = "a name of more than 65,535 bytes does not fit into a zip archive",
                 .origin = {.member = name.substr(0, 100)}};
  contents_ += size;
  if (there.size() == size) return put_whole(name, there);
  Open open{.name = std::move(name), .entry = {}, .left = size};
  open.entry = {.name = {}, .described = true, .size = size, .header_offset = written_};
  open.entry.name = open.name;
  open.entry.packed_size = size;
  std::string header;
  append_zip_header(header, open.entry);
  HR_CHECK(put(header));
  open.data = written_;
  open_ = std::move(open);
  return go_on(there);
}

Status ZipShard::put_whole(const std::string& name, ByteView payload) {
  ZipEntry entry{.name = name,
                 .crc32 = crc32_of(payload),
                 .packed_size = payload.size(),
                 .size = payload.size(),
                 .header_offset = written_};
  std::string packed;
  if (!payload.empty()) packed = encode_frame(Encoding::kDeflate, payload);
  entry.deflated = packed.size() + payload.size() / kSaved < payload.size();
  if (entry.deflated) entry.packed_size = packed.size();
  std::string header;
  append_zip_header(header, entry);
  const uint64_t data = written_ + header.size();
  HR_CHECK(put(header, entry.deflated ? as_bytes(packed) : payload));
  return end(name, entry, data);
}

Status ZipShard::go_on(ByteView bytes) {
  if (!open_) return {};
  const ByteView part = bytes.first(std::min<uint64_t>(bytes.size(), open_->left));
  open_->entry.crc32 = crc32_of(part, open_->entry.crc32);
  open_->left -= part.size();
  HR_CHECK(put({}, part));
  if (open_->left > 0) return {};
  std::string descriptor;
  append_zip_descriptor(descriptor, open_->entry);
  HR_CHECK(put(descriptor));
  const Open done = std::move(*open_);
  open_.reset();
  return end(done.name, done.entry, done.data);
}

Status ZipShard::end(const std::string& name, ZipEntry entry, uint64_t data) {
  entry.name = name;
  append_zip_entry(directory_, entry);
  ++entries_;
  if (entry.size == 0) return {};
  frames_.add({.encoded_offset = data,
               .encoded_size = entry.packed_size,
               .decoded_size = entry.size,
               .crc32 = entry.crc32,
               .encoding = entry.deflated ? Encoding::kDeflate : Encoding::kStored});
  return {};
}

Status ZipShard::finish() {
  append_zip_end(directory_, entries_, directory_.size(), written_);
  return put(directory_);
}

}  // namespace headrace
