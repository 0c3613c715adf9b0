#include "job/picture_options.h"

#include <nlohmann/json.hpp>
#include <string>

namespace headrace {

using nlohmann::json;

json picture_options_to_json(const PictureOptions& options) {
  json out = json::object();
  if (options.max_side > 0) {
    out["image"]["max_side"] = options.max_side;
    if (!options.raw) out["image"]["quality"] = options.quality;
  }
  if (options.raw) out["image"]["raw"] = "uint8";
  if (options.baseline) out["jpeg"] = options.strip ? "baseline,strip" : "baseline";
  if (options.drop_corrupt) out["drop_corrupt"] = true;
  return out;
}

PictureOptions picture_options_from_json(const json& in) {
  PictureOptions options;
  const json image = in.value("image", json::object());
  const std::string jpeg = in.value("jpeg", "");
  options.max_side = image.value("max_side", options.max_side);
  options.quality = image.value("quality", options.quality);
  options.raw = image.contains("raw");
  options.baseline = !jpeg.empty();
  options.strip = jpeg == "baseline,strip";
  options.drop_corrupt = in.value("drop_corrupt", false);
  return options;
}

void PictureReport::add(const PictureReport& more) {
  pictures += more.pictures;
  changed += more.changed;
  bytes_before += more.bytes_before;
  bytes_after += more.bytes_after;
  timed += more.timed;
  seconds_before += more.seconds_before;
  seconds_after += more.seconds_after;
}

}  // namespace headrace
