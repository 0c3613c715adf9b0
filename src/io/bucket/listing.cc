#include "io/bucket/listing.h"

#include <mutex>
#include <unordered_set>

#include "base/digest.h"
#include "base/parallel.h"
#include "base/try.h"
#include "io/bucket/part_object.h"
#include "io/remote_source.h"

namespace headrace {
namespace {

constexpr size_t kMostAtOnce = 16;
constexpr size_t kMostEmpty = 1000;  // pages, one after the other

class Listing {
 public:
  Listing(const BucketService& service, Fetcher& fetcher) : service_(service), fetcher_(fetcher) {}

  Result<ListPage> page(const ListRequest& request) const {
    const std::string where = service_.name() + "/" + request.prefix;
    HR_TRY(const HttpResponse answer,
           send_to(service_, fetcher_, [&] { return service_.list(request); }));
    if (!answer.is_success()) return service_.error("list", where, answer);
    HR_TRY(ListPage found, service_.parse_list(answer));
    if (!found.next.empty() && found.next == request.token) return in_circles(request);
    return found;
  }

  /// The page that `request` asks for and all after it, added to `all`. A server that goes in
  /// circles begins a page as it began one before, or gives nothing again and again.
  Status walk(ListRequest request, ListPage* all) const {
    std::unordered_set<std::string> begins;
    size_t empty = 0;
    do {
      HR_TRY(ListPage found, page(request));
      const std::string* first = first_of(found);
      empty = first == nullptr ? empty + 1 : 0;
      if (empty > kMostEmpty || (first != nullptr && !begins.insert(*first).second))
        return in_circles(request);
      add(std::move(found), all);
      request.token = all->next;
    } while (!request.token.empty());
    return {};
  }

  /// Each prefix, by threads that wait for their answers.
  Status walk_all(const std::vector<std::string>& prefixes, ListPage* all) const {
    std::mutex mutex;
    return for_each(prefixes.size(), kMostAtOnce, [&](uint64_t i) -> Status {
      ListPage found;
      HR_CHECK(walk({prefixes[i]}, &found));
      const std::lock_guard lock(mutex);
      add(std::move(found), all);
      return {};
    });
  }

 private:
  Error in_circles(const ListRequest& request) const {
    return {.code = Code::kFailure,
            .message = "the server gives the same page of the listing again and again",
            .origin = {.shard = service_.name() + "/" + request.prefix}};
  }

  /// nullptr: the page is empty, which services may give where they look at a part of the bucket.
  static const std::string* first_of(const ListPage& page) {
    if (!page.entries.empty()) return &page.entries.front().path;
    return page.prefixes.empty() ? nullptr : &page.prefixes.front();
  }

  static void add(ListPage found, ListPage* all) {
    std::move(found.entries.begin(), found.entries.end(), std::back_inserter(all->entries));
    std::move(found.prefixes.begin(), found.prefixes.end(), std::back_inserter(all->prefixes));
    all->next = std::move(found.next);
  }

  const BucketService& service_;
  Fetcher& fetcher_;
};

}  // namespace

Result<std::vector<StoreEntry>> list_bucket(const BucketService& service, Fetcher& fetcher,
                                            const std::string& prefix) {
  const Listing listing(service, fetcher);
  HR_TRY(ListPage all, listing.page({prefix}));
  if (!all.next.empty()) {
    all = {};
    HR_CHECK(listing.walk({prefix, true}, &all));
    HR_CHECK(listing.walk_all(all.prefixes, &all));
  }
  std::vector<StoreEntry> entries;
  entries.reserve(all.entries.size());
  for (ListedObject& object : all.entries) {
    if (object.bytes == 0 && object.path.ends_with('/')) continue;
    if (is_part_object(object.path)) continue;
    const std::string identity =
        object_identity(service.name() + "/" + object.path, object.version, object.bytes);
    const uint64_t hash = identity.empty() ? 0 : xxh3(as_bytes(identity));
    entries.push_back({std::move(object.path), object.bytes, object.modified, hash});
  }
  std::sort(entries.begin(), entries.end(),
            [](const StoreEntry& a, const StoreEntry& b) { return a.path < b.path; });
  return entries;
}

}  // namespace headrace
