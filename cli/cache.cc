// headrace cache: what is in the node's cache, and what shall be.
#include <algorithm>
#include <ctime>
#include <memory>

#include "base/try.h"
#include "base/units.h"
#include "cli/cache_contents.h"
#include "cli/verbs.h"
#include "io/cache/node_cache.h"

namespace headrace::cli {
namespace {

struct Options {
  std::string action;
  std::string location;
  std::string folder;
  bool remove = false;
};

std::string root_of(const Options& options) {
  std::string root = options.location;
  while (root.ends_with('/')) root.pop_back();
  return root;
}

std::string date(int64_t seconds) {
  char text[32];
  const std::time_t time = seconds;
  std::tm parts{};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", ::localtime_r(&time, &parts));
  return text;
}

void print_text(const std::vector<CachedSet>& sets, Output& out) {
  for (const CachedSet& set : sets) {
    std::string size = format_bytes(set.bytes);
    size.insert(0, std::max<size_t>(size.size(), 10) - size.size(), ' ');
    out.text(size + "  " + (set.objects == 0 ? std::string(16, ' ') : date(set.last_used)) + "  ");
    out.name(set.root);
    out.text(set.pinned ? "  pinned" : "");
    out.text(set.in_use ? "  in use\n" : "\n");
  }
}

void print_json(const std::vector<CachedSet>& sets, Output& out) {
  std::string text;
  Json json(text);
  json.object().member("schema", "headrace.cache/1").key("sets").array();
  for (const CachedSet& set : sets) {
    json.object().member("root", set.root).member("folder", set.folder);
    json.member("objects", set.objects).member("bytes", set.bytes);
    json.member("last_used", static_cast<uint64_t>(set.last_used));
    json.member("pinned", set.pinned).member("in_use", set.in_use).end();
  }
  json.end().end();
  out.text(text + "\n");
}

Result<int> list(CacheFolder& cache, Context& context) {
  HR_TRY(const auto sets, cache.sets());
  if (context.json)
    print_json(sets, context.out);
  else
    print_text(sets, context.out);
  uint64_t bytes = 0;
  for (const CachedSet& set : sets) bytes += set.bytes;
  HR_CHECK(context.out.flush());
  context.note(format_number_of(sets.size(), "data set") + ", " + format_bytes(bytes));
  return 0;
}

Result<int> clear(CacheFolder& cache, const Options& options, Context& context) {
  HR_TRY(const auto before, cache.sets());
  const std::string root = root_of(options);
  const bool known =
      root.empty() || std::ranges::any_of(before, [&](const auto& s) { return s.root == root; });
  if (!known)
    return Error{.code = Code::kNotFound,
                 .message = "the cache holds nothing of '" + root + "'",
                 .hint = "'headrace cache ls' shows what it holds."};
  HR_TRY(const auto busy, cache.clear(root));
  for (const CachedSet& set : busy) context.note("in use, so it stays: " + set.root);
  return busy.empty() ? 0 : exit_code(Code::kPartial);
}

Result<int> run(const Options& options, Context& context) {
  HR_TRY(const CacheOptions at, cache_options(options.folder));
  if (at.folder.empty())
    return Error{.code = Code::kUsage,
                 .message = "there is no cache",
                 .hint = "Name its folder with --cache, or in HEADRACE_CACHE."};
  const bool needs_url = options.action == "pin" || options.action == "prefetch";
  if (needs_url && options.location.empty())
    return Error{.code = Code::kUsage, .message = options.action + " takes the URL of a data set"};
  if (options.action == "prefetch") return prefetch(options.location, at.folder, context);
  HR_TRY(const auto cache, CacheFolder::open(at.folder, at.limits));
  if (options.action == "verify") return verify_cache(*cache, context);
  if (options.action == "clear") return clear(*cache, options, context);
  if (options.action == "ls") return list(*cache, context);
  HR_CHECK(cache->pin(root_of(options), !options.remove));
  return 0;
}

}  // namespace

const Verb kCache{
    .name = "cache",
    .summary = "Look at the node's cache of remote data sets, fill and clear it",
    .examples =
        "headrace cache ls                       # what it holds, when it was last used\n"
        "headrace cache prefetch https://host/set  # fetch all of a data set now\n"
        "headrace cache pin https://host/set     # never evict it; --remove takes that back\n"
        "headrace cache verify                   # every byte against its checksum\n"
        "headrace cache clear https://host/set   # without a URL: everything\n",
    .setup = [](CLI::App& app) -> Action {
      auto o = std::make_shared<Options>();
      app.add_option("ACTION", o->action, "ls, verify, pin, prefetch or clear")
          ->required()
          ->type_name("")
          ->check(CLI::IsMember({"ls", "verify", "pin", "prefetch", "clear"}));
      app.add_option("URL", o->location, "Of a data set")->type_name("");
      app.add_option("--cache", o->folder, "The cache's folder (HEADRACE_CACHE)")
          ->type_name("FOLDER");
      app.add_flag("--remove", o->remove, "pin: take the pin off");
      return [o](Context& context) { return run(*o, context); };
    },
    .stoppable = true};

}  // namespace headrace::cli
