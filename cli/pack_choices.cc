#include "cli/pack_choices.h"

#include "base/try.h"

namespace headrace::cli {

Status choose_duplicate(const std::string& text, OnDuplicate* into) {
  return choose("--on-duplicate", text,
                {{"error", OnDuplicate::kError},
                 {"first", OnDuplicate::kFirst},
                 {"last", OnDuplicate::kLast},
                 {"rename", OnDuplicate::kRename}},
                into);
}

Status choose_missing(const std::string& text, std::optional<OnMissing>* into) {
  if (text.empty()) return {};
  OnMissing policy = OnMissing::kError;
  HR_CHECK(choose("--on-missing", text,
                  {{"error", OnMissing::kError},
                   {"warn", OnMissing::kWarn},
                   {"ignore", OnMissing::kIgnore},
                   {"drop-sample", OnMissing::kDropSample},
                   {"drop-field", OnMissing::kDropField}},
                  &policy));
  *into = policy;
  return {};
}

std::vector<std::string> split_fields(const std::string& text) {
  std::vector<std::string> fields;
  std::string field;
  for (const char c : text + ",") {
    if (c != ',' && c != ';' && c != ' ') {
      field += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      continue;
    }
    if (field.starts_with('.')) field.erase(0, 1);
    if (!field.empty()) fields.push_back(field);
    field.clear();
  }
  return fields;
}

}  // namespace headrace::cli
