#include "cli/shard_options.h"

#include "base/try.h"
#include "base/units.h"
#include "cli/command.h"
#include "dataset/containers.h"

namespace headrace::cli {
namespace {

std::string check_size(const std::string& text) {
  const auto bytes = parse_bytes(text);
  return bytes.ok() && *bytes == 0 ? "a shard of " + text + " bytes has no room for a sample" : "";
}

}  // namespace

void add_shard_options(CLI::App& app, ShardWords& words, uint64_t& samples, uint64_t& shards,
                       std::string& name) {
  const std::string group = "Shards";
  app.add_option("--shard-size", words.size,
                 "So many bytes a shard (256MiB), at most; on average where all shards get equally "
                 "many samples")
      ->type_name("SIZE")
      ->check(CLI::Validator(check_size, ""))
      ->group(group);
  app.add_option("--samples", samples, "At most so many samples a shard")
      ->type_name("N")
      ->check(whole_number(1))
      ->group(group);
  app.add_option("--shards", shards, "So many shards of equal counts")
      ->type_name("N")
      ->check(whole_number(1))
      ->group(group);
  app.add_option(
         "--container", words.container,
         "tar, tar.zst, tgz, tar.lz4 or zip; else by the name's end (all are read at random)")
      ->type_name("KIND")
      ->group(group);
  app.add_option("--name", name, "Names: train-%06d.tar, train-{000..127}.tar or train-@0099.tar")
      ->type_name("TEMPLATE")
      ->group(group);
}

Result<std::optional<Container>> parse_container(const std::string& word) {
  if (word.empty()) return std::optional<Container>();
  if (const auto container = container_of("." + word)) {
    HR_CHECK(check_is_written(*container));
    return container;
  }
  return Error{.code = Code::kUsage,
               .message = "'" + word + "' is no container of shards",
               .origin = {},
               .hint = "Choose tar, tar.zst, tgz, tar.lz4 or zip."};
}

void add_writing_options(CLI::App& app, bool& replace, bool& fsync, bool& verify,
                         std::string& memory) {
  const std::string group = "Job";
  app.add_flag("--replace", replace,
               "Take the place of another data set; readers see the old one until the end")
      ->group(group);
  app.add_flag_callback(
         "--no-fsync", [&fsync] { fsync = false; }, "Do not wait for the disk")
      ->group(group);
  app.add_flag("--verify", verify,
               "Read the shards back, from the disk or the store, before they become a data set")
      ->group(group);
  add_memory(app, memory);
}

void add_memory(CLI::App& app, std::string& memory) {
  app.add_option("--memory", memory, "For buffers, at most (256MiB)")
      ->type_name("SIZE")
      ->group("Job");
}

}  // namespace headrace::cli
