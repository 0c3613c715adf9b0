#include "cli/picture_options.h"

#include <charconv>
#include <cstdio>

#include "base/try.h"
#include "base/units.h"
#include "cli/sample_options.h"

namespace headrace::cli {
namespace {

Error usage(std::string message) {
  return {.code = Code::kUsage,
          .message = std::move(message),
          .origin = {},
          .hint = "As in --image \"max-side=512, quality=90\" or --image raw-uint8."};
}

template <typename T>
Status parse_number(const std::string& word, size_t equals, T least, T most, T* into) {
  const char* end = word.data() + word.size();
  const auto [stopped, problem] = std::from_chars(word.data() + equals + 1, end, *into);
  if (problem == std::errc() && stopped == end && *into >= least && *into <= most) return {};
  return usage("--image: '" + word + "' is not a whole number from " + std::to_string(least) +
               " to " + std::to_string(most));
}

Status take_word(const std::string& word, PictureOptions* into) {
  constexpr uint32_t kMostPixels = 1U << 20;
  const size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (name == "max-side" && equals != word.npos)
    return parse_number(word, equals, 1U, kMostPixels, &into->max_side);
  if (name == "quality" && equals != word.npos)
    return parse_number(word, equals, 1, 100, &into->quality);
  if (word != "raw-uint8")
    return usage("--image knows max-side=N, quality=N and raw-uint8, not '" + word + "'");
  into->raw = true;
  return {};
}

}  // namespace

void add_picture_options(CLI::App& app, PictureWords& words) {
  const std::string group = "Pictures";
  app.add_option("--image", words.image,
                 "\"max-side=512, quality=90\": JPEGs whose longer side is longer shrink; "
                 "raw-uint8: pictures are decoded, the field becomes npy")
      ->type_name("RECIPE")
      ->group(group);
  app.add_option("--jpeg", words.jpeg,
                 "baseline: progressive JPEGs become baseline, the same pixels, metadata kept; "
                 "baseline,strip: without metadata")
      ->type_name("FORM")
      ->group(group);
  app.add_flag("--drop-corrupt", words.drop_corrupt,
               "Decode every picture; leave out samples with one that cannot be decoded")
      ->group(group);
}

Result<PictureOptions> parse_picture_options(const PictureWords& words) {
  enum class Form { kAny, kBaseline, kStripped };
  PictureOptions options;
  for (const std::string& word : split_fields(words.image)) HR_CHECK(take_word(word, &options));
  if (!words.image.empty() && options.max_side == 0 && !options.raw)
    return usage("--image says nothing that changes a picture");
  Form form = Form::kAny;
  if (!words.jpeg.empty())
    HR_CHECK(choose("--jpeg", words.jpeg,
                    {{"baseline", Form::kBaseline}, {"baseline,strip", Form::kStripped}}, &form));
  options.baseline = form != Form::kAny;
  options.strip = form == Form::kStripped;
  options.drop_corrupt = words.drop_corrupt;
  return options;
}

std::string describe_pictures(const PictureReport& report) {
  std::string text =
      format_number_of(report.pictures, "picture") + ", " + format_count(report.changed) +
      " changed: " + format_bytes(report.bytes_before) + " -> " + format_bytes(report.bytes_after);
  if (report.timed == 0) return text;
  const auto each = [&report](double seconds) {
    char number[32];
    std::snprintf(number, sizeof number, "%.2f ms",
                  1e3 * seconds / static_cast<double>(report.timed));
    return std::string(number);
  };
  return text + "; decoding one takes " + each(report.seconds_before) + " -> " +
         each(report.seconds_after) + " (mean of " + format_count(report.timed) + ", one thread)";
}

void write_pictures(const PictureReport& report, Json& json) {
  json.object()
      .member("pictures", report.pictures)
      .member("changed", report.changed)
      .member("bytes_before", report.bytes_before)
      .member("bytes_after", report.bytes_after)
      .member("timed", report.timed)
      .member("decode_seconds_before", report.seconds_before)
      .member("decode_seconds_after", report.seconds_after)
      .end();
}

}  // namespace headrace::cli
