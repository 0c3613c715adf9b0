#include "cli/command.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace headrace::cli {
namespace {

std::string where(const Origin& origin) {
  std::string text;
  const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (!origin.shard.empty()) add("shard " + origin.shard);
  if (!origin.member.empty()) add("member " + origin.member);
  if (origin.offset != Origin::kNoOffset) add("at byte " + std::to_string(origin.offset));
  return text.empty() ? text : " (" + text + ")";
}

std::string error_text(const Error& error) {
  const bool colour = wants_colour(STDERR_FILENO);
  std::string text = colour ? "\x1b[1;31merror:\x1b[0m " : "error: ";
  text += printable(error_line(error)) + "\n";
  if (!error.hint.empty())
    text += (colour ? "\x1b[1;36mhint:\x1b[0m " : "hint: ") + printable(error.hint) + "\n";
  return text;
}

std::string error_json(const Error& error) {
  std::string text;
  Json json(text);
  json.object().key("error").object();
  json.member("code", code_name(error.code));
  json.member("exit", static_cast<unsigned>(exit_code(error.code)));
  json.member("message", error.message);
  if (!error.origin.shard.empty()) json.member("shard", error.origin.shard);
  if (!error.origin.member.empty()) json.member("member", error.origin.member);
  if (error.origin.offset != Origin::kNoOffset) json.member("offset", error.origin.offset);
  if (!error.hint.empty()) json.member("hint", error.hint);
  json.end().end();
  return text + "\n";
}

}  // namespace

void Context::note(const std::string& line) const {
  if (!quiet) std::fputs((printable(line) + "\n").c_str(), stderr);
}

std::string error_line(const Error& error) { return error.message + where(error.origin); }

CLI::Validator whole_number(uint64_t least) {
  const auto check = [least](const std::string& text) {
    uint64_t number = 0;
    const char* end = text.data() + text.size();
    const auto [stop, problem] = std::from_chars(text.data(), end, number);
    if (problem == std::errc() && stop == end && number >= least) return std::string();
    return "'" + text + "' is not a whole number of at least " + std::to_string(least);
  };
  return {check, ""};
}

void print_error(const Error& error, bool json) {
  std::fputs((json ? error_json(error) : error_text(error)).c_str(), stderr);
}

bool is_terminal(int descriptor) {
  const char* terminal = std::getenv("TERM");
  return ::isatty(descriptor) == 1 && terminal && std::strcmp(terminal, "dumb") != 0;
}

bool wants_colour(int descriptor) {
  const char* no_colour = std::getenv("NO_COLOR");
  return is_terminal(descriptor) && (!no_colour || *no_colour == '\0');
}

}  // namespace headrace::cli
