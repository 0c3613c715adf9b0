#include "job/sources.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <mutex>

#include "base/parallel.h"
#include "base/try.h"
#include "dataset/containers.h"
#include "format/shard_index.h"
#include "headrace/dataset.h"
#include "io/system_error.h"
#include "io/urls.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

constexpr std::string_view kTablePrefix = "_headrace/";
constexpr unsigned kRemoteThreads = 32;

// A manifest in place, and what belongs to it, is no part of the data.
bool is_table(std::string_view path) {
  return path == kManifestName || path.starts_with(kTablePrefix);
}

bool is_hidden(std::string_view path) {
  return path.starts_with('.') || path.find("/.") != path.npos;
}

bool is_url(const std::string& location) {
  const std::string scheme = url_scheme(location);
  return !scheme.empty() && scheme != "file" && scheme != "mem";
}

// "s3://bucket/a/b.jpg" -> {"s3://bucket/", "a/b.jpg"}; of the Hub: {"hf://datasets/org/name/", …}.
ObjectPlace split_at_root(const std::string& url) {
  const int names = url_scheme(url) != "hf" ? 1 : url.starts_with("hf://datasets/") ? 3 : 2;
  size_t end = url.find("://");
  end = end == std::string::npos ? 0 : end + 2;
  for (int i = 0; i < names && end != std::string::npos; ++i) end = url.find('/', end + 1);
  if (end == std::string::npos) return {url + "/", ""};
  return {url.substr(0, end + 1), url.substr(end + 1)};
}

class Finder {
 public:
  Finder(bool hidden, unsigned threads, const std::string& skip) {
    walk_.hidden = hidden;
    walk_.threads = threads;
    walk_.skip = skip;
  }

  Status add(const std::string& source) {
    if (source == "-") {
      HR_TRY(const std::string text, read_standard_input());
      return add_list(split_list(text));
    }
    struct stat info;
    const std::string path = local_path(source);
    if (!is_url(source) && ::stat(path.c_str(), &info) == 0) {
      if (S_ISDIR(info.st_mode)) return add_folder(path);
      return container_of(path) ? add_archive(path) : add_file(path);
    }
    const int problem = errno;
    if (source.size() > 1 && source.front() == '@') {
      HR_TRY(const std::string text, read_url(source.substr(1)));
      return add_list(split_list(text));
    }
    HR_TRY(const auto names, expand_braces(source));
    if (names.size() > 1) {
      const bool folders = names.front().ends_with('/');
      for (const std::string& name : names) HR_CHECK(folders ? add(name) : add_listed(name));
      return {};
    }
    if (!is_url(source)) return system_error("read source", source, problem);
    return add_location(source);
  }

  // Looks at what was named one by one; folders have been looked at while walking.
  Result<Sources> finish() {
    for (auto& [root, list] : listed_) {
      const SourceRoot& at = found_.roots[root];
      if (at.store)
        HR_CHECK(stat_objects(*at.store, list));
      else
        stat_files(at.folder.get(), at.name, list, walk_.threads, &found_.notes);
      found_.files.append(list, root);
    }
    found_.files.sort();
    return std::move(found_);
  }

 private:
  Status add_folder(const std::string& folder) {
    HR_TRY(FileList files, walk(folder, walk_, &found_.notes));
    files.filter([&files](size_t i) { return !is_table(files.path(i)); });
    HR_TRY(const uint32_t root, open_root(folder.ends_with('/') ? folder : folder + "/", folder));
    found_.files.append(files, root);
    return {};
  }

  // A URL: an archive, an object, or what lies below it.
  Status add_location(const std::string& url) {
    if (container_of(url)) return add_archive(url);
    HR_CHECK(refuse_query(url));
    const ObjectPlace at = split_at_root(url);
    if (at.name.empty() || at.name.ends_with('/')) return add_prefix(url);
    HR_TRY(const auto store, open_store(at.folder));
    HR_TRY(const bool object, store->exists(at.name));
    return object ? add_listed(url) : add_prefix(url + "/");
  }

  Status add_prefix(const std::string& url) {
    HR_TRY(std::shared_ptr<const Store> store, open_store(url));
    HR_TRY(const auto entries, store->list(""));
    const std::string name = url.ends_with('/') ? url : url + "/";
    std::string skip = walk_.skip.starts_with(name) ? walk_.skip.substr(name.size()) : "";
    if (!skip.empty() && !skip.ends_with('/')) skip += '/';
    FileList files;
    for (const StoreEntry& entry : entries) {
      if (is_table(entry.path) || (!skip.empty() && entry.path.starts_with(skip))) continue;
      if (!walk_.hidden && is_hidden(entry.path)) {
        ++found_.notes.hidden;
        continue;
      }
      files.add(entry.path, 0);
      files[files.size() - 1].bytes = entry.bytes;
      files[files.size() - 1].mtime_ns = static_cast<int64_t>(entry.identity);
    }
    if (entries.empty())
      return Error{.code = Code::kNotFound,
                   .message = "there is no object, and nothing below it",
                   .origin = {.shard = url}};
    found_.roots.push_back({.name = name, .folder = {}, .store = std::move(store)});
    found_.files.append(files, static_cast<uint32_t>(found_.roots.size() - 1));
    return {};
  }

  // Each member is a file of the name that it has there.
  Status add_archive(const std::string& location) {
    HR_TRY(const auto set, Dataset::open({location}, {.threads = walk_.threads}));
    HR_TRY(const auto index, set->index(0));
    HR_TRY(std::shared_ptr<const ByteSource> source, set->source(0, *index, 0));
    HR_TRY(const auto object, open_url(location));
    const int64_t pin = pin_of(object->version());
    const auto root = static_cast<uint32_t>(found_.roots.size());
    FileList files;
    for (uint32_t sample = 0; sample < index->size(); ++sample)
      for (const IndexMember& member : index->members(sample)) {
        files.add(std::string(index->key(sample)) + "." + index->fields()[member.field], 0);
        FileList::Entry& entry = files[files.size() - 1];
        entry.bytes = member.size;
        entry.mtime_ns = pin;
      }
    const size_t before = found_.files.size();
    found_.files.append(files, root);
    size_t file = before;
    for (uint32_t sample = 0; sample < index->size(); ++sample)
      for (const IndexMember& member : index->members(sample))
        found_.member_offsets[found_.files[file++].path_begin] = member.offset;
    found_.roots.push_back(
        {.name = set->name() + "/", .folder = {}, .store = {}, .archive = std::move(source)});
    return {};
  }

  Status add_file(const std::string& path) {
    const size_t slash = path.rfind('/') + 1;
    const std::string folder = path.substr(0, slash);
    return add_named(folder, folder.empty() ? "." : folder, path.substr(slash));
  }

  Status add_list(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      if (!is_url(path)) {
        HR_CHECK(add_listed(path));
        continue;
      }
      HR_TRY(const auto urls, expand_braces(path));
      for (const std::string& url : urls) HR_CHECK(add_listed(url));
    }
    return {};
  }

  Status add_listed(const std::string& path) {
    if (is_url(path)) {
      HR_CHECK(refuse_query(path));
      const ObjectPlace at = split_at_root(path);
      return add_named(at.folder, at.folder, at.name);
    }
    const bool absolute = path.front() == '/';
    size_t begin = path.find_first_not_of('/');
    if (begin == std::string::npos) begin = path.size();
    while (path.compare(begin, 2, "./") == 0) begin += 2;
    return add_named(absolute ? "/" : "", absolute ? "/" : ".", path.substr(begin));
  }

  Status add_named(const std::string& name, const std::string& folder, const std::string& path) {
    auto known = named_.find(name);
    if (known == named_.end()) {
      HR_TRY(const uint32_t root, open_root(name, folder));
      known = named_.emplace(name, root).first;
    }
    listed_[known->second].add(path, 0);
    return {};
  }

  Result<uint32_t> open_root(const std::string& name, const std::string& folder) {
    SourceRoot root{.name = name, .folder = {}};
    if (is_url(folder)) {
      HR_TRY(root.store, open_store(folder));
    } else {
      root.folder = open_file(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY);
      if (!root.folder.is_open()) return system_error("read folder", folder, errno);
    }
    found_.roots.push_back(std::move(root));
    return static_cast<uint32_t>(found_.roots.size() - 1);
  }

  Status stat_objects(const Store& store, FileList& list) {
    std::mutex mutex;
    HR_CHECK(for_each(list.size(), kRemoteThreads, [&](uint64_t i) -> Status {
      auto object = store.open(std::string(list.path(i)));
      if (object.ok()) {
        list[i].bytes = (*object)->size();
        list[i].mtime_ns = pin_of((*object)->identity());
        return {};
      }
      if (object.error().code != Code::kNotFound) return std::move(object).error();
      list[i].mtime_ns = kNoFile;
      const std::lock_guard lock(mutex);
      found_.notes.unreadable.push_back(std::move(object).error());
      return {};
    }));
    std::ranges::sort(found_.notes.unreadable, {}, &Error::to_string);
    list.filter([&list](size_t i) { return list[i].mtime_ns != kNoFile; });
    return {};
  }

  WalkOptions walk_;
  Sources found_;
  std::map<std::string, uint32_t> named_;  // roots of files named one by one
  std::map<uint32_t, FileList> listed_;    // and these files
};

}  // namespace

Status refuse_query(const std::string& location) {
  const std::string_view object = without_query(location);
  if (object.size() == location.size()) return {};
  return Error{.code = Code::kUsage,
               .message =
                   "an address with a query is no input here: a query may be a signature, "
                   "and what a job reads is written into its plan",
               .origin = {.shard = std::string(object)},
               .hint = "Name it in a list, @list.txt, or 'headrace cp' it to a folder first."};
}

Result<Sources> find_sources(const std::vector<std::string>& sources, bool hidden, unsigned threads,
                             const std::string& skip) {
  if (sources.empty())
    return Error{
        .code = Code::kUsage,
        .message = "no source was given",
        .origin = {},
        .hint = "Name folders, files, URLs, @list.txt, or - for a list on standard input."};
  Finder finder(hidden, threads, skip);
  for (const std::string& source : sources) HR_CHECK(finder.add(source));
  return finder.finish();
}

}  // namespace headrace
