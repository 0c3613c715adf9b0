#include "job/map/mapper.h"

#include "base/try.h"
#include "job/map/picture_mapper.h"
#include "job/map/python_mapper.h"

namespace headrace {
namespace {

class CommandMapper : public Mapper {
 public:
  CommandMapper(std::string command, Children& children, Sandbox sandbox)
      : command_(std::move(command)), children_(children), sandbox_(std::move(sandbox)) {}

  Result<Mapped> run(MapSample sample, uint64_t number) override {
    HR_CHECK(sandbox_.unpack(sample));
    HR_TRY(const pid_t child, children_.start({.words = {"/bin/sh", "-c", command_},
                                               .folder = sandbox_.folder(),
                                               .env = {{"HEADRACE_KEY", sample.key},
                                                       {"HEADRACE_NUMBER", std::to_string(number)}},
                                               .output = sandbox_.log(),
                                               .errors = sandbox_.log()}));
    Mapped mapped;
    if (const std::string ended = children_.wait(child); !ended.empty()) {
      mapped.failed = "the command ended with " + ended;
      if (const std::string words = sandbox_.last_words(); !words.empty())
        mapped.failed += ": " + words;
      return mapped;
    }
    HR_TRY(mapped.samples, sandbox_.collect(sample.key));
    return mapped;
  }

 private:
  const std::string command_;
  Children& children_;
  Sandbox sandbox_;
};

}  // namespace

bool needs_sandbox(const MapStep& step) { return step.kind != MapStep::Kind::kPictures; }

Result<std::unique_ptr<Mapper>> make_mapper(const MapStep& step, Children& children,
                                            const SandboxRoot* root, const std::string& python,
                                            unsigned thread) {
  if (!needs_sandbox(step)) return make_picture_mapper(step.pictures);
  HR_TRY(Sandbox sandbox, Sandbox::create(*root, thread));
  if (step.kind == MapStep::Kind::kPython)
    return make_python_mapper(step.what, children, std::move(sandbox), python);
  return std::unique_ptr<Mapper>(
      std::make_unique<CommandMapper>(step.what, children, std::move(sandbox)));
}

}  // namespace headrace
