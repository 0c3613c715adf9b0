// A whole object in memory: asked for at once, and there when the first read needs it.
// Thread-safe.
#pragma once

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "base/try.h"
#include "headrace/store.h"

namespace headrace {

class MemorySource final : public ByteSource {
 public:
  /// Asks for all of `from`; reads wait for it, and give its error if there was one.
  static std::unique_ptr<ByteSource> start(std::unique_ptr<ByteSource> from) {
    auto object = std::make_shared<Object>(std::move(from));
    object->from->start_read(0, object->bytes, kNow, [object](Status status) {
      object->arrival.set_value(std::move(status));
    });
    return std::make_unique<MemorySource>(std::move(object));
  }
  /// The same, and waits.
  static Result<std::unique_ptr<ByteSource>> load(std::unique_ptr<ByteSource> from) {
    auto source = start(std::move(from));
    HR_CHECK(source->read_at(0, {}));
    return source;
  }

  struct Object {
    explicit Object(std::unique_ptr<ByteSource> source)
        : from(std::move(source)), bytes(from->size()) {}
    const std::unique_ptr<ByteSource> from;
    std::vector<std::byte> bytes;
    std::promise<Status> arrival;
  };
  explicit MemorySource(std::shared_ptr<Object> object)
      : object_(std::move(object)), arrived_(object_->arrival.get_future().share()) {}

  const std::string& name() const override { return object_->from->name(); }
  uint64_t size() const override { return object_->bytes.size(); }
  void will_need(uint64_t, uint64_t) const override {}
  Status read_at(uint64_t offset, MutableBytes into) const override {
    if (const Status& status = arrived_.get(); !status.ok()) return status;
    const std::vector<std::byte>& bytes = object_->bytes;
    if (offset > bytes.size() || into.size() > bytes.size() - offset)
      return Error{.code = Code::kCorrupt,
                   .message = "the object ends before the bytes asked for",
                   .origin = {.shard = name(), .offset = offset}};
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), into.size(), into.begin());
    return {};
  }

 private:
  const std::shared_ptr<Object> object_;
  const std::shared_future<Status> arrived_;
};

}  // namespace headrace
