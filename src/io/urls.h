// Lists of locations as people write them: `shards-{000000..000012}.tar`, globs, `@list.txt`.
// Pure but for globs and lists, which read the file system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headrace/result.h"

namespace headrace {

/// "s3" of "s3://bucket/x"; "" of a path. A scheme is two or more of a-z, 0-9, +, - and a colon.
std::string url_scheme(std::string_view location);

/// The path of a `file:` URL (percent escapes resolved), or the path itself.
std::string local_path(std::string_view location);

/// An http or https address without its query, which may be a signature and is another one in the
/// next run: what names the object in messages, states and caches. Anything else is as it is.
std::string_view without_query(std::string_view location);

/// Whether reading there takes requests over a network: any scheme but `file:` and `mem:`.
bool is_remote_location(std::string_view location);

/// An object's place: the location of the folder that holds it, and its name there. Escapes of http
/// addresses are resolved in the name, since stores take names and not addresses; a query is left
/// out.
struct ObjectPlace {
  std::string folder;
  std::string name;
};
ObjectPlace split_location(const std::string& location);

/// Ranges `{3..12}` (`{007..123}`: zero padding to the longer width; an optional step `{0..9..2}`)
/// and lists `{a,b}`, any number of them, nested too; the last varies fastest. A brace without a
/// range or comma stands for itself, and the query of an http address is left as it is. More than
/// kMaxLocations names: Code::kUsage.
Result<std::vector<std::string>> expand_braces(std::string_view text);
inline constexpr size_t kMaxLocations = 50'000'000;

/// The paths of the text of a list: one a line (LF or CRLF), or NUL-separated if it has a NUL;
/// empty lines are left out. Bytes, not characters.
std::vector<std::string> split_list(std::string_view text);

/// Everything on standard input.
Result<std::string> read_standard_input();

/// Braces, then globs of paths (`*`, `?`, `[...]`; sorted by bytes; no match is Code::kNotFound),
/// then
/// `@list.txt` (lines of the same syntax but for `@`). An existing path is taken as it is, whatever
/// characters it holds.
Result<std::vector<std::string>> expand_locations(const std::vector<std::string>& locations);

}  // namespace headrace
