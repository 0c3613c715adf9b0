#include "dataset/selected_catalog.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/try.h"

namespace headrace {
namespace {

uint32_t count(const std::vector<bool>& kept) {
  return static_cast<uint32_t>(std::ranges::count(kept, true));
}

/// Digest of a shard's bits, whatever the memory layout of std::vector<bool>.
uint64_t digest(const std::vector<bool>& kept) {
  std::string bits((kept.size() + 7) / 8, '\0');
  for (size_t i = 0; i < kept.size(); ++i)
    if (kept[i]) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << i % 8);
  return xxh3(as_bytes(bits));
}

/// A block holds as much of the shard as before, so it has fewer samples.
uint32_t block_samples(uint32_t before, uint32_t all, uint32_t kept) {
  if (kept == 0) return before;
  return static_cast<uint32_t>(std::max<uint64_t>(1, uint64_t{before} * kept / all));
}

class SelectedCatalog final : public Catalog {
 public:
  SelectedCatalog(std::shared_ptr<const Catalog> whole, Selection selection)
      : whole_(std::move(whole)),
        selection_(std::move(selection)),
        manifest_(whole_->manifest()),
        table_(whole_->table()) {
    std::string identity = whole_->fingerprint();
    for (size_t s = 0; s < table_.size(); ++s) {
      const uint32_t samples = count(selection_.kept[s]);
      table_.block_samples[s] = block_samples(table_.block_samples[s], table_.samples[s], samples);
      table_.samples[s] = samples;
      identity += ' ' + hex64(digest(selection_.kept[s]));
    }
    manifest_.samples = table_.total_samples();
    fingerprint_ = sha256_hex(as_bytes(identity));
  }

  const std::string& fingerprint() const override { return fingerprint_; }
  const Manifest& manifest() const override { return manifest_; }
  const ShardTable& table() const override { return table_; }
  bool has_manifest() const override { return whole_->has_manifest(); }
  bool is_remote() const override { return whole_->is_remote(); }
  Result<std::string> shard_name(uint32_t shard) const override {
    return whole_->shard_name(shard);
  }
  Result<uint64_t> shard_checksum(uint32_t shard) const override {
    return whole_->shard_checksum(shard);
  }
  Result<std::shared_ptr<const ByteSource>> open_shard(uint32_t shard) const override {
    return whole_->open_shard(shard);
  }
  Result<std::unique_ptr<ByteSource>> open_file(std::string_view path) const override {
    return whole_->open_file(path);
  }
  Result<std::unique_ptr<ByteSource>> open_known_file(std::string_view path,
                                                      uint64_t bytes) const override {
    return whole_->open_known_file(path, bytes);
  }

  Result<std::shared_ptr<const ShardIndex>> load_index(uint32_t shard) const override {
    HR_TRY(const auto index, whole_->load_index(shard));
    return std::make_shared<const ShardIndex>(index->select(selection_.kept[shard]));
  }

  Result<std::vector<SampleId>> candidates(std::string_view key) const override {
    HR_TRY(const auto found, whole_->candidates(key));
    std::vector<SampleId> own;
    for (const SampleId id : found) {
      const std::vector<bool>& kept = selection_.kept[id.shard];
      if (!kept[id.sample]) continue;
      const auto before = std::count(kept.begin(), kept.begin() + id.sample, true);
      own.push_back({id.shard, static_cast<uint32_t>(before)});
    }
    return own;
  }

 private:
  const std::shared_ptr<const Catalog> whole_;
  const Selection selection_;
  Manifest manifest_;
  ShardTable table_;
  std::string fingerprint_;
};

}  // namespace

Result<std::unique_ptr<Catalog>> select_from(std::shared_ptr<const Catalog> whole,
                                             Selection selection) {
  const std::vector<uint32_t>& samples = whole->table().samples;
  const auto same_size = [](const std::vector<bool>& kept, uint32_t size) {
    return kept.size() == size;
  };
  if (!std::ranges::equal(selection.kept, samples, same_size))
    return Error{.code = Code::kUsage,
                 .message = "the selection does not have the shards and samples of the data set"};
  return std::unique_ptr<Catalog>(
      std::make_unique<SelectedCatalog>(std::move(whole), std::move(selection)));
}

}  // namespace headrace
