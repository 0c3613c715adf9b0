#include "codec/picture_steps.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "codec/affine.h"
#include "codec/blur.h"
#include "codec/orientation.h"
#include "codec/pixel_ops.h"
#include "codec/resample.h"

namespace headrace {
namespace {

int modulo(int value, int period) {
  const int rest = value % period;
  return rest < 0 ? rest + period : rest;
}

/// The pixel of a line of `size` that stands for pixel `i`, which may lie outside; -1: none does.
int source_of(int i, int size, Edge edge) {
  if (i >= 0 && i < size) return i;
  switch (edge) {
    case Edge::constant:
      return -1;
    case Edge::edge:
      return std::clamp(i, 0, size - 1);
    case Edge::reflect: {
      if (size == 1) return 0;
      const int at = modulo(i, 2 * (size - 1));
      return std::min(at, 2 * (size - 1) - at);
    }
    case Edge::symmetric: {
      const int at = modulo(i, 2 * size);
      return std::min(at, 2 * size - 1 - at);
    }
  }
  return -1;
}

/// One line of a padded picture; `from` is nullptr where all of it is fill.
void pad_line(const uint8_t* from, const Picture& picture, const Box& box, Edge edge,
              const Fill& fill, uint8_t* out) {
  const auto channels = static_cast<size_t>(picture.channels);
  const int left = std::clamp(-box.left, 0, box.width);
  const int right = std::clamp(picture.width - box.left, left, box.width);
  const auto outside = [&](int begin, int end) {
    for (int x = begin; x < end; ++x) {
      const int at = from == nullptr ? -1 : source_of(x + box.left, picture.width, edge);
      const uint8_t* pixel = at < 0 ? fill.data() : from + static_cast<size_t>(at) * channels;
      std::copy(pixel, pixel + channels, out + static_cast<size_t>(x) * channels);
    }
  };
  if (from == nullptr) return outside(0, box.width);
  outside(0, left);
  if (right > left)
    std::memcpy(out + static_cast<size_t>(left) * channels,
                from + static_cast<size_t>(left + box.left) * channels,
                static_cast<size_t>(right - left) * channels);
  outside(right, box.width);
}

/// A box that reaches over the picture's edge.
Picture padded(const Picture& from, const Box& box, Edge edge, const Fill& fill,
               ReusedBuffer& into) {
  const size_t stride = static_cast<size_t>(box.width) * static_cast<size_t>(from.channels);
  auto* out =
      reinterpret_cast<uint8_t*>(into.take(stride * static_cast<size_t>(box.height)).data());
  for (int y = 0; y < box.height; ++y) {
    const int at = source_of(y + box.top, from.height, edge);
    pad_line(at < 0 ? nullptr : from.line(at), from, box, edge, fill,
             out + static_cast<size_t>(y) * stride);
  }
  return {out, box.width, box.height, from.channels, stride};
}

Scaling scaling_of(const PictureStep& step) {
  return {step.box.size(), step.full, step.part, step.filter, step.inner};
}

Box moved(const Box& box, int down, int right) {
  return {box.top + down, box.left + right, box.height, box.width};
}

/// That of two in which `picture` does not lie. (Not every step moves it to another: a cut is a
/// part of what was there, and some actions leave some pictures as they are.)
ReusedBuffer& free_one(ReusedBuffer (&buffers)[2], const Picture& picture) {
  return buffers[buffers[0].holds(picture.pixels) ? 1 : 0];
}

Picture act(const PixelAction& action, const Picture& from, ReusedBuffer& into,
            Scratch::Buffers& buffers) {
  if (const auto* adjustment = std::get_if<Adjustment>(&action))
    return adjusted(from, *adjustment, into);
  if (const auto* affine = std::get_if<Affine>(&action)) return warped(from, *affine, into);
  return blurred(from, std::get<Blur>(action), into, buffers);
}

}  // namespace

Error picture_too_large(uint64_t height, uint64_t width, uint64_t limit) {
  return {Code::kCorrupt,
          "picture refused: " + std::to_string(width) + " x " + std::to_string(height) +
              " pixels are more than the limit of " + std::to_string(limit),
          {},
          "raise pixel_limit if such pictures are meant to be there"};
}

Box step_source(const PictureStep& step) {
  return moved(resize_source(scaling_of(step)), step.box.top, step.box.left);
}

Result<Picture> run_step(const PictureStep& step, uint64_t limit, const Picture& picture,
                         const Box& held, Scratch::Buffers& buffers) {
  const auto height = static_cast<uint64_t>(step.out.height);
  const auto width = static_cast<uint64_t>(step.out.width);
  if (height * width > limit) return picture_too_large(height, width, limit);
  ReusedBuffer& into = free_one(buffers.resized, picture);
  switch (step.kind) {
    case PictureStep::Kind::turn:
      return turn_upright(picture, step.orientation, into);
    case PictureStep::Kind::pixels:
      return act(step.action, picture, into, buffers);
    case PictureStep::Kind::scale:
      break;
  }
  const Scaling scaling = scaling_of(step);
  const Box source = step_source(step);
  if (source.inside_of(held)) {
    const Box there = moved(source, -held.top, -held.left);
    return resize(cut(picture, there), {source.top - step.box.top, source.left - step.box.left},
                  scaling, into, buffers);
  }
  const Box box = moved(step.box, -held.top, -held.left);
  const Picture whole =
      padded(picture, box, step.edge, step.fill, free_one(buffers.padded, picture));
  return resize(whole, {}, scaling, into, buffers);
}

}  // namespace headrace
