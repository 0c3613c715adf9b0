// What turns one sample into others: a command of sh for each, a Python process that a function
// lives in, or what is done to pictures here.
//
// A Mapper belongs to one thread. Errors of the sample itself (the command failed, the function
// raised, a picture cannot be decoded) are Mapped::failed; anything else stops the job.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headrace/result.h"
#include "job/map/children.h"
#include "job/map/sandbox.h"
#include "job/map/step.h"

namespace headrace {

struct Mapped {
  std::vector<MapSample> samples = {};  ///< none: the sample is left out
  std::string failed = {};              ///< how, and what it said last; empty: it did not
  std::string picture = {};     ///< the field that cannot be decoded, if that is how it failed
  PictureReport pictures = {};  ///< what was done to those of this sample
};

class Mapper {
 public:
  virtual ~Mapper() = default;

  /// `number`: of the sample in the input, for commands that draw at random.
  virtual Result<Mapped> run(MapSample sample, uint64_t number) = 0;
};

/// Whether samples are unpacked into a folder for it.
bool needs_sandbox(const MapStep& step);

/// `children` and `root` outlive it; `root` may be nullptr where no sandbox is needed. `python`:
/// the program. `thread`: numbers the sandbox.
Result<std::unique_ptr<Mapper>> make_mapper(const MapStep& step, Children& children,
                                            const SandboxRoot* root, const std::string& python,
                                            unsigned thread);

}  // namespace headrace
