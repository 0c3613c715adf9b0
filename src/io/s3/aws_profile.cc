#include "io/s3/aws_profile.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>

#include "base/try.h"
#include "io/environment.h"
#include "io/system_error.h"

namespace headrace {
namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view trim(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

// The value of a line, without a comment: " #" and " ;" begin one.
std::string_view value_of(std::string_view text) {
  for (const std::string_view mark : {" #", " ;", "\t#", "\t;"})
    text = text.substr(0, text.find(mark));
  return trim(text);
}

// "profile dev" -> "dev"; "services local" -> as `kind` asks, or "".
std::string section_name(std::string_view header, std::string_view kind) {
  if (!header.starts_with(kind)) return "";
  const std::string_view rest = header.substr(kind.size());
  if (rest.empty() || kSpace.find(rest.front()) == std::string_view::npos) return "";
  std::string_view name = trim(rest);
  if (name.size() > 1 && name.front() == '"' && name.back() == '"')
    name = name.substr(1, name.size() - 2);
  return std::string(name);
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::string();
    return system_error("read", path, errno);
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string file_path(const char* variable, const char* name) {
  const std::string named = environment(variable);
  const std::string path = named.empty() ? std::string("~/.aws/") + name : named;
  return path.starts_with("~/") ? environment("HOME") + path.substr(1) : path;
}

}  // namespace

std::string AwsProfiles::chosen() {
  const std::string name = environment({"AWS_PROFILE", "AWS_DEFAULT_PROFILE"});
  return name.empty() ? "default" : name;
}

Result<AwsProfiles> AwsProfiles::read() {
  HR_TRY(const std::string config, read_file(file_path("AWS_CONFIG_FILE", "config")));
  HR_TRY(const std::string credentials,
         read_file(file_path("AWS_SHARED_CREDENTIALS_FILE", "credentials")));
  AwsProfiles profiles;
  profiles.add(config, true);
  profiles.add(credentials, false);
  return profiles;
}

void AwsProfiles::add(const std::string& text, bool is_config) {
  Settings* section = nullptr;
  std::string outer;  // of nested settings
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string_view content = trim(line);
    if (content.empty() || content.front() == '#' || content.front() == ';') continue;
    if (content.front() == '[') {
      const std::string_view header = trim(content.substr(1, content.find(']') - 1));
      const std::string profile = section_name(header, "profile");
      const std::string service = section_name(header, "services");
      outer.clear();
      section = nullptr;
      if (!is_config || header == "default")
        section = &profiles_[std::string(header)];
      else if (!profile.empty())
        section = &profiles_[profile];
      else if (!service.empty())
        section = &services_[service];
      continue;
    }
    const size_t equals = content.find('=');
    if (section == nullptr || equals == std::string_view::npos) continue;
    const std::string name(trim(content.substr(0, equals)));
    const std::string value(value_of(content.substr(equals + 1)));
    const bool nested = kSpace.find(line.front()) != std::string_view::npos && !outer.empty();
    if (!nested) outer = value.empty() ? name : "";
    if (!value.empty()) (*section)[nested ? outer + "." + name : name] = value;
  }
}

const AwsProfiles::Settings* AwsProfiles::find(const std::string& profile) const {
  const auto found = profiles_.find(profile);
  return found == profiles_.end() ? nullptr : &found->second;
}

std::string AwsProfiles::get(const std::string& profile, const std::string& setting) const {
  const Settings* settings = find(profile);
  if (settings == nullptr) return "";
  const auto found = settings->find(setting);
  return found == settings->end() ? "" : found->second;
}

std::string AwsProfiles::endpoint(const std::string& profile, const std::string& service) const {
  if (const auto section = services_.find(get(profile, "services")); section != services_.end())
    if (const auto found = section->second.find(service + ".endpoint_url");
        found != section->second.end())
      return found->second;
  return get(profile, "endpoint_url");
}

}  // namespace headrace
