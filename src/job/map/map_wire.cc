#include "job/map/map_wire.h"

#include "base/little_endian.h"
#include "headrace/bytes.h"

namespace headrace {
namespace {

void put_text(std::string& out, std::string_view text) {
  append_le(out, static_cast<uint64_t>(text.size()));
  out += text;
}

// Once something does not fit, everything reads as zero.
class Answer {
 public:
  explicit Answer(std::string_view bytes) : left_(bytes) {}

  uint64_t number() {
    if (left_.size() < sizeof(uint64_t)) return fail();
    const uint64_t value = load_le<uint64_t>(as_bytes(left_).data());
    left_.remove_prefix(sizeof(uint64_t));
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    if (size > left_.size()) return fail(), "";
    std::string out(left_.substr(0, size));
    left_.remove_prefix(size);
    return out;
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && left_.empty(); }

 private:
  uint64_t fail() {
    good_ = false;
    left_ = {};
    return 0;
  }

  std::string_view left_;
  bool good_ = true;
};

std::vector<MapSample> decode_samples(Answer& answer) {
  std::vector<MapSample> samples;
  for (uint64_t left = answer.number(); left > 0 && answer.good(); --left) {
    MapSample& sample = samples.emplace_back();
    sample.key = answer.text();
    for (uint64_t fields = answer.number(); fields > 0 && answer.good(); --fields) {
      std::string name = answer.text();
      sample.fields.push_back({.name = std::move(name), .bytes = answer.text()});
    }
  }
  return samples;
}

}  // namespace

std::string encode_map_question(const MapSample& sample, uint64_t number) {
  std::string question;
  append_le(question, number);
  put_text(question, sample.key);
  append_le(question, static_cast<uint64_t>(sample.fields.size()));
  for (const MapField& field : sample.fields) {
    put_text(question, field.name);
    put_text(question, field.bytes);
  }
  return question;
}

Result<MapAnswer> decode_map_answer(std::string_view bytes) {
  Answer answer(bytes);
  MapAnswer out;
  const uint64_t kind = answer.number();
  if (kind == 0) out.samples = decode_samples(answer);
  if (kind == 1) out.raised = answer.text();
  if (kind > 1 || !answer.at_end()) return damaged_map_answer();
  return out;
}

Error damaged_map_answer() {
  return {.code = Code::kCorrupt, .message = "what the Python process said is damaged"};
}

}  // namespace headrace
