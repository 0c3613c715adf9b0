#include "cli/suggest.h"

#include <algorithm>

namespace headrace::cli {
namespace {

// Optimal string alignment distance, by rows.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 256;  // names beyond this are not typed by hand
  if (word.size() > kLongest) return {};
  std::string best;
  size_t fewest = word.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word.size() + fewest || candidate.size() + fewest < word.size())
      continue;
    const size_t changes = distance(word, candidate);
    if (changes >= fewest || changes >= candidate.size()) continue;
    fewest = changes;
    best = candidate;
  }
  return best;
}

}  // namespace headrace::cli
