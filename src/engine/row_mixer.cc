#include "engine/row_mixer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "base/counter_rng.h"
#include "base/try.h"
#include "codec/narrow_float.h"

namespace headrace {
namespace {

/// The operation's number in the randomness: no recipe has so many.
constexpr uint64_t kMixOperation = 0x6d69'7872'6f77;

Error usage(std::string message, std::string hint = "") {
  return {.code = Code::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

double normal(CounterRng& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

/// The logarithm of a Gamma(alpha, 1) number. Marsaglia, Tsang, "A Simple Method for Generating
/// Gamma Variables", 2000; for alpha below 1 with their power of a uniform number.
double log_gamma_draw(double alpha, CounterRng& random) {
  const double d = (alpha < 1 ? alpha + 1 : alpha) - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  const double power = alpha < 1 ? std::log(1 - random.uniform()) / alpha : 0;
  for (;;) {
    const double x = normal(random);
    const double v = std::pow(1 + c * x, 3);
    const double u = 1 - random.uniform();
    if (v > 0 && std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v))
      return std::log(d * v) + power;
  }
}

/// Beta(alpha, alpha).
double beta_draw(double alpha, CounterRng& random) {
  const double a = log_gamma_draw(alpha, random);
  const double b = log_gamma_draw(alpha, random);
  return 1 / (1 + std::exp(b - a));
}

/// A box of a picture, columns and rows [begin, end).
struct CutBox {
  int64_t left, right, top, bottom;
};

CutBox cut_box(const MixDraw& draw, int64_t width, int64_t height) {
  const auto x = static_cast<int64_t>(draw.centre_x * static_cast<double>(width));
  const auto y = static_cast<int64_t>(draw.centre_y * static_cast<double>(height));
  const double half = 0.5 * std::sqrt(1 - draw.lambda);
  const auto half_width = static_cast<int64_t>(half * static_cast<double>(width));
  const auto half_height = static_cast<int64_t>(half * static_cast<double>(height));
  return {std::max<int64_t>(x - half_width, 0), std::min(x + half_width, width),
          std::max<int64_t>(y - half_height, 0), std::min(y + half_height, height)};
}

/// The sides of a picture in a column of them.
struct Sides {
  int64_t channels, height, width;
};

Sides sides_of(const Column& column, Layout layout) {
  const std::vector<int64_t>& shape = column.shape;
  if (layout == Layout::chw) return {shape[1], shape[2], shape[3]};
  return {shape[3], shape[1], shape[2]};
}

/// Copies the box from one row to another, for either layout.
void paste(std::byte* to, const std::byte* from, const CutBox& box, const Sides& sides,
           Layout layout, size_t size) {
  const bool planes = layout == Layout::chw;
  const int64_t pixel = planes ? 1 : sides.channels;
  for (int64_t c = 0; c < (planes ? sides.channels : 1); ++c)
    for (int64_t y = box.top; y < box.bottom; ++y) {
      const auto begin = static_cast<size_t>(
          (c * sides.height * sides.width + y * sides.width + box.left) * pixel);
      const auto count = static_cast<size_t>(std::max<int64_t>(box.right - box.left, 0) * pixel);
      std::memcpy(to + begin * size, from + begin * size, count * size);
    }
}

void blend_floats(std::byte* to, const std::byte* from, size_t count, float lambda) {
  auto* own = reinterpret_cast<float*>(to);
  const auto* other = reinterpret_cast<const float*>(from);
  const float rest = 1 - lambda;
  for (size_t i = 0; i < count; ++i) own[i] = other[i] * rest + own[i] * lambda;
}

template <typename Read, typename Write>
void blend_narrow(std::byte* to, const std::byte* from, size_t count, float lambda, Read read,
                  Write write) {
  auto* own = reinterpret_cast<uint16_t*>(to);
  const auto* other = reinterpret_cast<const uint16_t*>(from);
  const float rest = 1 - lambda;
  for (size_t i = 0; i < count; ++i) own[i] = write(read(other[i]) * rest + read(own[i]) * lambda);
}

void blend(std::byte* to, const std::byte* from, size_t bytes, DType dtype, double lambda) {
  const auto share = static_cast<float>(lambda);
  const size_t count = bytes / dtype_size(dtype);
  if (dtype == DType::f32) return blend_floats(to, from, count, share);
  if (dtype == DType::bf16) return blend_narrow(to, from, count, share, from_bf16, to_bf16);
  blend_narrow(to, from, count, share, from_f16, to_f16);
}

int64_t integer_at(const Column& column, size_t row) {
  const std::byte* at = column.data.data() + row * dtype_size(column.dtype);
  const auto read = [at]<typename T>(T value) {
    std::memcpy(&value, at, sizeof value);
    return static_cast<int64_t>(value);
  };
  switch (column.dtype) {
    case DType::u8:
      return read(uint8_t{});
    case DType::i8:
      return read(int8_t{});
    case DType::u16:
      return read(uint16_t{});
    case DType::i16:
      return read(int16_t{});
    case DType::u32:
      return read(uint32_t{});
    case DType::i32:
      return read(int32_t{});
    default:
      return read(int64_t{});
  }
}

Result<size_t> find(const std::vector<ColumnPlan>& columns, const std::string& name) {
  const auto found = std::ranges::find_if(
      columns, [&](const ColumnPlan& column) { return column.spec.name == name; });
  if (found == columns.end())
    return usage("rows are mixed by column '" + name + "', which is not there");
  return static_cast<size_t>(found - columns.begin());
}

Status check_image(const ColumnPlan& column, bool mixes_values) {
  const RowShape& row = column.decoder->row_shape();
  const bool fixed = row.kind == RowShape::Kind::kFixed && row.shape.size() == 3;
  if (!std::holds_alternative<ImageSpec>(column.spec.kind) || !fixed)
    return usage(
        "rows are mixed by pictures of one size; column '" + column.spec.name + "' has none",
        "End its recipe with a crop or a resize to one size.");
  if (mixes_values && row.dtype == DType::u8)
    return usage("mixup needs rows of floats; column '" + column.spec.name + "' is uint8",
                 "Add normalize() or to_float() to its recipe.");
  return {};
}

Status check_labels(const ColumnPlan& column, const MixRows& options) {
  if (!std::holds_alternative<IntegerSpec>(column.spec.kind))
    return usage("rows are mixed with labels that are integers; column '" + column.spec.name +
                 "' is not one");
  if (options.classes < 1 || options.classes > 1'000'000)
    return usage("the number of classes must be between 1 and a million");
  return {};
}

}  // namespace

Result<RowMixer> RowMixer::create(const MixRows& options, const std::vector<ColumnPlan>& columns,
                                  uint64_t group, uint64_t seed, uint32_t world) {
  const bool alphas = options.mixup_alpha >= 0 && options.cutmix_alpha >= 0 &&
                      options.mixup_alpha + options.cutmix_alpha > 0;
  if (!alphas) return usage("give mixup or cutmix an alpha above zero");
  if (!(options.probability >= 0 && options.probability <= 1))
    return usage("the probability of mixing must be between 0 and 1");
  HR_TRY(const size_t image, find(columns, options.image));
  HR_TRY(const size_t label, find(columns, options.label));
  HR_CHECK(check_image(columns[image], options.mixup_alpha > 0));
  HR_CHECK(check_labels(columns[label], options));
  if (find(columns, "lam").ok())
    return usage("a column 'lam' is made by mixing rows: name yours otherwise");
  if (group < 2)
    return usage(
        "a lane gives one row to a step, so there is no neighbour to mix it with (of " +
            std::to_string(world) + " ranks)",
        "Take fewer lanes: .shuffle(lanes=…), so that a step has two rows or more of each.");
  const auto& spec = std::get<ImageSpec>(columns[image].spec.kind);
  return RowMixer(options, image, label, spec.layout, group, seed);
}

MixDraw RowMixer::draw(uint64_t epoch, uint64_t first_position) const {
  CounterRng random(seed_, epoch, first_position, kMixOperation);
  MixDraw draw;
  if (random.uniform() >= options_.probability) return draw;
  const bool both = options_.mixup_alpha > 0 && options_.cutmix_alpha > 0;
  const bool cuts = both ? random.uniform() < 0.5 : options_.cutmix_alpha > 0;
  draw.kind = cuts ? MixDraw::Kind::cutmix : MixDraw::Kind::mixup;
  draw.lambda = beta_draw(cuts ? options_.cutmix_alpha : options_.mixup_alpha, random);
  draw.centre_x = random.uniform();
  draw.centre_y = random.uniform();
  return draw;
}

RowMixer::Group RowMixer::group_of(const Batch& batch, const StepPlace& place,
                                   std::span<const uint32_t> original, size_t begin) const {
  const uint64_t number = (place.first_row + original[begin]) / group_;
  Group group{begin, begin + 1, draw(batch.epoch, place.first_position + number * group_), 1};
  while (group.end < original.size() && (place.first_row + original[group.end]) / group_ == number)
    ++group.end;
  group.lambda = group.draw.lambda;
  if (group.end - begin < 2) group.lambda = 1;  // its neighbours were left out
  if (group.draw.kind == MixDraw::Kind::cutmix && group.lambda < 1) {
    const Sides sides = sides_of(batch.columns[image_], layout_);
    const CutBox box = cut_box(group.draw, sides.width, sides.height);
    const auto area = static_cast<double>((box.right - box.left) * (box.bottom - box.top));
    group.lambda = 1 - area / static_cast<double>(sides.width * sides.height);
  }
  return group;
}

Status RowMixer::mix(Batch& batch, const StepPlace& place, std::span<const uint32_t> original,
                     SlotPool& pool, std::vector<std::shared_ptr<const Slot>>& slots) const {
  std::vector<Group> groups;
  for (size_t at = 0; at < original.size(); at = groups.back().end)
    groups.push_back(group_of(batch, place, original, at));
  const Column& images = batch.columns[image_];
  const size_t bytes = original.empty() ? 0 : images.data.size() / original.size();
  const auto row = [&](size_t i) { return images.data.data() + i * bytes; };
  std::vector<std::byte> last;  // of the group, before it is mixed
  for (const Group& group : groups) {
    if (group.lambda >= 1) continue;
    last.assign(row(group.end - 1), row(group.end - 1) + bytes);
    // Backwards, so that each neighbour is still as it was.
    for (size_t i = group.end; i-- > group.begin;) {
      const std::byte* other = i == group.begin ? last.data() : row(i - 1);
      if (group.draw.kind == MixDraw::Kind::mixup) {
        blend(row(i), other, bytes, images.dtype, group.lambda);
      } else {
        const Sides sides = sides_of(images, layout_);
        paste(row(i), other, cut_box(group.draw, sides.width, sides.height), sides, layout_,
              dtype_size(images.dtype));
      }
    }
  }
  return mix_labels(batch, groups, pool, slots);
}

Status RowMixer::mix_labels(Batch& batch, std::span<const Group> groups, SlotPool& pool,
                            std::vector<std::shared_ptr<const Slot>>& slots) const {
  const size_t rows = batch.rows.size();
  const auto classes = static_cast<size_t>(options_.classes);
  slots.push_back(pool.take(rows * (classes + 1) * sizeof(float)));
  const MutableBytes memory = slots.back()->memory.first(rows * (classes + 1) * sizeof(float));
  auto* soft = reinterpret_cast<float*>(memory.data());
  float* shares = soft + rows * classes;
  std::fill(soft, shares, 0.0F);
  const Column& labels = batch.columns[label_];
  for (size_t i = 0; i < rows; ++i) {
    const int64_t label = integer_at(labels, i);
    if (label >= 0 && label < options_.classes) continue;
    return Error{.code = Code::kCorrupt,
                 .message = "column '" + labels.name + "' has the class " + std::to_string(label) +
                            " in position " + std::to_string(batch.rows[i].position) +
                            ", but there are " + std::to_string(classes)};
  }
  for (const Group& group : groups)
    for (size_t i = group.begin; i < group.end; ++i) {
      const size_t other = i == group.begin ? group.end - 1 : i - 1;
      const auto share = static_cast<float>(group.lambda);
      float* out = soft + i * classes;
      out[integer_at(labels, other)] += static_cast<float>(1 - group.lambda);
      out[integer_at(labels, i)] += share;
      shares[i] = share;
    }
  const auto count = static_cast<int64_t>(rows);
  Column& column = batch.columns[label_];
  column.dtype = DType::f32;
  column.shape = {count, options_.classes};
  column.data = memory.first(rows * classes * sizeof(float));
  Column lambda;
  lambda.name = "lam";
  lambda.dtype = DType::f32;
  lambda.shape = {count};
  lambda.data = memory.subspan(rows * classes * sizeof(float));
  batch.columns.push_back(std::move(lambda));
  return {};
}

}  // namespace headrace
