#include "codec/resample.h"

#include <algorithm>
#include <cstring>

#include "codec/picture_steps.h"
#include "codec/resample_passes.h"

namespace headrace {
namespace {

uint8_t* take_pixels(ReusedBuffer& buffer, size_t stride, int lines) {
  return reinterpret_cast<uint8_t*>(buffer.take(stride * static_cast<size_t>(lines)).data());
}

Ratio columns_of(const Scaling& scaling) {
  const int in = scaling.from.width;
  if (!scaling.inner) return {in, scaling.to.width};
  return {in, scaling.to.width, scaling.inner->left, scaling.inner->width};
}

Ratio lines_of(const Scaling& scaling) {
  const int in = scaling.from.height;
  if (!scaling.inner) return {in, scaling.to.height};
  return {in, scaling.to.height, scaling.inner->top, scaling.inner->height};
}

Picture nearest(const Picture& picture, Corner corner, const Scaling& scaling, ReusedBuffer& into,
                std::vector<int>& columns, std::vector<int>& lines) {
  const Box& part = scaling.part;
  const auto channels = static_cast<size_t>(picture.channels);
  const size_t stride = static_cast<size_t>(part.width) * channels;
  uint8_t* out = take_pixels(into, stride, part.height);
  nearest_sources(columns_of(scaling), part.left, part.width, columns);
  nearest_sources(lines_of(scaling), part.top, part.height, lines);
  uint8_t* to = out;
  for (const int y : lines) {
    const uint8_t* line = picture.line(y - corner.top);
    for (const int x : columns) {
      const uint8_t* pixel = line + static_cast<size_t>(x - corner.left) * channels;
      to = std::copy(pixel, pixel + channels, to);
    }
  }
  return {out, part.width, part.height, picture.channels, stride};
}

}  // namespace

Box resize_source(const Scaling& scaling) {
  const Box& part = scaling.part;
  const Span lines =
      filter_span(scaling.filter, lines_of(scaling), part.top, part.top + part.height);
  const Span columns =
      filter_span(scaling.filter, columns_of(scaling), part.left, part.left + part.width);
  return {lines.begin, columns.begin, lines.end - lines.begin, columns.end - columns.begin};
}

Picture resize(const Picture& picture, Corner corner, const Scaling& scaling, ReusedBuffer& into,
               Scratch::Buffers& scratch) {
  const Ratio columns = columns_of(scaling);
  const Ratio lines = lines_of(scaling);
  const Box& part = scaling.part;
  const Box source = resize_source(scaling);
  const Box there{source.top - corner.top, source.left - corner.left, source.height, source.width};
  if (columns.copies() && lines.copies()) return cut(picture, there);
  if (scaling.filter == Interpolation::nearest)
    return nearest(picture, corner, scaling, into, scratch.filter_x.bounds,
                   scratch.filter_y.bounds);

  const size_t stride = static_cast<size_t>(part.width) * static_cast<size_t>(picture.channels);
  const bool down = !lines.copies();
  // The lines that the second pass reads.
  Picture between = cut(picture, there);
  if (!columns.copies()) {
    const Filter across =
        make_filter(scaling.filter, columns, part.left, part.width, source.left, scratch.filter_x);
    uint8_t* out = take_pixels(down ? scratch.horizontal : into, stride, between.height);
    scale_lines(between, across, part.width, scratch.paired_weights, out);
    between = {out, part.width, between.height, picture.channels, stride};
  }
  if (!down) return between;

  const Filter along =
      make_filter(scaling.filter, lines, part.top, part.height, source.top, scratch.filter_y);
  uint8_t* out = take_pixels(into, stride, part.height);
  for (int y = 0; y < part.height; ++y)
    blend_lines(between.line(along.first(y)), between.stride, along.weights_of(y), along.count(y),
                stride, out + static_cast<size_t>(y) * stride);
  return {out, part.width, part.height, picture.channels, stride};
}

}  // namespace headrace
