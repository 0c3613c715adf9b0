// What `map` does to each sample, and `convert` to pictures, as a plan names it.
// Thread-safety: a plain value.
#pragma once

#include <string>
#include <vector>

#include "base/measure.h"
#include "job/picture_options.h"

namespace headrace {

struct MapStep {
  enum class Kind {
    kCommand,   ///< of sh, in a folder of its own that holds the sample's files
    kPython,    ///< module:function, of a dictionary
    kPictures,  ///< those of the sample are changed, in this process
  };
  Kind kind = Kind::kCommand;
  std::string what = {};         ///< the command or the function
  PictureOptions pictures = {};  ///< of kPictures
  bool skip = false;  ///< a sample at which it fails is left out; otherwise the job stops
};

struct MapField {
  std::string name;
  std::string bytes;
  Measure measure = {};  ///< as the index of the input has it; what is made has none
};

/// A sample in memory: what goes in, and what comes out.
struct MapSample {
  std::string key;
  std::vector<MapField> fields;
};

}  // namespace headrace
