// A store whose n-th operation fails: for tests of what is left behind.
#pragma once

#include <atomic>

#include "headrace/store.h"

namespace headrace {

class FaultyStore : public Store {
 public:
  /// Operation number `fail_at` (from 0: open, list, exists, create, append, commit, remove, sync)
  /// and all after it fail with `code`.
  FaultyStore(Store& inner, uint64_t fail_at, Code code)
      : inner_(inner), fail_at_(fail_at), code_(code) {}

  uint64_t operations() const { return count_; }

  const std::string& name() const override { return inner_.name(); }
  Result<std::unique_ptr<ByteSource>> open(const std::string& path) const override {
    if (fails()) return fault();
    return inner_.open(path);
  }
  Result<bool> exists(const std::string& path) const override {
    if (fails()) return fault();
    return inner_.exists(path);
  }
  Result<std::vector<StoreEntry>> list(const std::string& prefix) const override {
    if (fails()) return fault();
    return inner_.list(prefix);
  }
  Result<std::unique_ptr<ByteSink>> create(const std::string& path) override {
    if (fails()) return fault();
    auto sink = inner_.create(path);
    if (!sink.ok()) return sink;
    return std::unique_ptr<ByteSink>(std::make_unique<Sink>(*this, std::move(*sink)));
  }
  Status remove(const std::string& path) override {
    return fails() ? fault() : inner_.remove(path);
  }
  Status sync() override { return fails() ? fault() : inner_.sync(); }

 private:
  class Sink : public ByteSink {
   public:
    Sink(const FaultyStore& store, std::unique_ptr<ByteSink> inner)
        : store_(store), inner_(std::move(inner)) {}
    Status append(ByteView bytes) override {
      return store_.fails() ? store_.fault() : inner_->append(bytes);
    }
    Status commit() override { return store_.fails() ? store_.fault() : inner_->commit(); }
    Result<bool> commit_if_absent() override {
      if (store_.fails()) return store_.fault();
      return inner_->commit_if_absent();
    }

   private:
    const FaultyStore& store_;
    std::unique_ptr<ByteSink> inner_;
  };

  bool fails() const { return count_++ >= fail_at_; }
  Error fault() const { return {.code = code_, .message = "a fault was injected", .origin = {}}; }

  Store& inner_;
  const uint64_t fail_at_;
  const Code code_;
  mutable std::atomic<uint64_t> count_{0};
};

}  // namespace headrace
