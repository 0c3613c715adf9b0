#include "job/sources.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <iterator>
#include <map>

#include "base/try.h"
#include "headrace/store.h"
#include "io/local_store.h"
#include "io/system_error.h"
#include "io/urls.h"
#include "plan/manifest.h"

namespace headrace {
namespace {

constexpr std::string_view kTablePrefix = "_headrace/";

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
    if (::stat(source.c_str(), &info) == 0)
      return S_ISDIR(info.st_mode) ? add_folder(source) : add_file(source);
    if (source.size() > 1 && source.front() == '@') {
      HR_TRY(const auto list, open_local_file(source.substr(1)));
      std::string text(list->size(), '\0');
      HR_CHECK(list->read_at(0, as_writable_bytes(text)));
      return add_list(split_list(text));
    }
    return system_error("read source", source, errno);
  }

  // Looks at the files that were named one by one; folders have been looked at while walking.
  Result<Sources> finish() {
    for (auto& [root, list] : listed_) {
      stat_files(found_.roots[root].folder.get(), found_.roots[root].name, list, walk_.threads,
                 &found_.notes);
      found_.files.append(list, root);
    }
    found_.files.sort();
    return std::move(found_);
  }

 private:
  Status add_folder(const std::string& folder) {
    HR_TRY(FileList files, walk(folder, walk_, &found_.notes));
    files.filter([&files](size_t i) {  // a manifest in place is no part of the data
      return files.path(i) != kManifestName && !files.path(i).starts_with(kTablePrefix);
    });
    HR_TRY(const uint32_t root, open_root(folder.ends_with('/') ? folder : folder + "/", folder));
    found_.files.append(files, root);
    return {};
  }

  Status add_file(const std::string& path) {
    const size_t slash = path.rfind('/') + 1;
    const std::string folder = path.substr(0, slash);
    return add_named(folder, folder.empty() ? "." : folder, path.substr(slash));
  }

  Status add_list(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      const bool absolute = path.front() == '/';
      size_t begin = path.find_first_not_of('/');
      if (begin == std::string::npos) begin = path.size();
      while (path.compare(begin, 2, "./") == 0) begin += 2;
      HR_CHECK(add_named(absolute ? "/" : "", absolute ? "/" : ".", path.substr(begin)));
    }
    return {};
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
    File opened = open_file(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY);
    if (!opened.is_open()) return system_error("read folder", folder, errno);
    found_.roots.push_back({name, std::move(opened)});
    return static_cast<uint32_t>(found_.roots.size() - 1);
  }

  WalkOptions walk_;
  Sources found_;
  std::map<std::string, uint32_t> named_;  // roots of files named one by one
  std::map<uint32_t, FileList> listed_;    // and these files
};

}  // namespace

Result<Sources> find_sources(const std::vector<std::string>& sources, bool hidden, unsigned threads,
                             const std::string& skip) {
  if (sources.empty())
    return Error{.code = Code::kUsage,
                 .message = "no source was given",
                 .origin = {},
                 .hint = "Name folders, files, @list.txt, or - for a list on standard input."};
  Finder finder(hidden, threads, skip);
  for (const std::string& source : sources) HR_CHECK(finder.add(source));
  return finder.finish();
}

}  // namespace headrace
