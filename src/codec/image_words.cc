#include "codec/image_words.h"

#include <initializer_list>
#include <utility>

namespace headrace {
namespace {

template <typename T>
std::optional<T> meaning(std::string_view word,
                         std::initializer_list<std::pair<std::string_view, T>> words) {
  for (const auto& [name, value] : words)
    if (word == name) return value;
  return std::nullopt;
}

}  // namespace

std::optional<Interpolation> interpolation_of(std::string_view word) {
  using enum Interpolation;
  return meaning<Interpolation>(word, {{"nearest", nearest},
                                       {"box", box},
                                       {"bilinear", bilinear},
                                       {"bicubic", bicubic},
                                       {"lanczos", lanczos}});
}

std::optional<Edge> edge_of(std::string_view word) {
  using enum Edge;
  return meaning<Edge>(
      word,
      {{"constant", constant}, {"edge", edge}, {"reflect", reflect}, {"symmetric", symmetric}});
}

std::optional<Channels> channels_of(std::string_view word) {
  using enum Channels;
  return meaning<Channels>(
      word, {{"rgb", rgb}, {"gray", gray}, {"rgba", rgba}, {"unchanged", unchanged}});
}

}  // namespace headrace
