// How the verbs that write shards are told what shards, and how to write them: the same words in
// all.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "headrace/result.h"
#include "plan/manifest.h"

namespace headrace::cli {

/// As they were written; empty: not given.
struct ShardWords {
  std::string size;
  std::string container;
};

/// --shard-size, --samples, --shards, --container, --name. What is no word goes to its place.
void add_shard_options(CLI::App& app, ShardWords& words, uint64_t& samples, uint64_t& shards,
                       std::string& name);

/// Nothing for an empty word; Code::kUsage for one that names no container of shards.
Result<std::optional<Container>> parse_container(const std::string& word);

/// --replace, --no-fsync, --verify, --memory.
void add_writing_options(CLI::App& app, bool& replace, bool& fsync, bool& verify,
                         std::string& memory);
void add_memory(CLI::App& app, std::string& memory);

}  // namespace headrace::cli
