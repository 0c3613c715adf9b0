#include "job/name_rule.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <vector>

#include "base/safe_path.h"

namespace headrace {
namespace {

Error bad(const std::string& text, const std::string& why) {
  return {.code = Code::kUsage,
          .message = "'" + text + "' is no rule for names: " + why,
          .hint = "Write it as s/EXPRESSION/REPLACEMENT/, with g behind it for every place."};
}

std::string words_of(int problem) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(problem, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

// "a/b\/c/g" at '/' -> a, b/c, g
std::vector<std::string> split(const std::string& text, size_t begin, char at) {
  std::vector<std::string> parts(1);
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == at && parts.size() < 3) {
      parts.emplace_back();
    } else if (text[i] == '\\' && i + 1 < text.size()) {
      if (text[++i] != at) parts.back() += '\\';
      parts.back() += text[i];
    } else {
      parts.back() += text[i];
    }
  }
  return parts;
}

// sed's \1 and & as PCRE2's ${1} and ${0}.
std::string replacement_of(const std::string& sed) {
  std::string out;
  for (size_t i = 0; i < sed.size(); ++i) {
    const bool escaped = sed[i] == '\\' && i + 1 < sed.size();
    const char c = escaped ? sed[++i] : sed[i];
    if (escaped && c >= '0' && c <= '9')
      out += std::string("${") + c + "}";
    else if (!escaped && c == '&')
      out += "${0}";
    else
      out += c == '$' ? "$$" : std::string(1, c);
  }
  return out;
}

}  // namespace

struct NameRule::Compiled {
  explicit Compiled(pcre2_code* compiled) : code(compiled) {}
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcre2_code_free(code); }
  pcre2_code* code;
};

Result<NameRule> NameRule::parse(const std::string& text) {
  if (text.size() < 4 || text[0] != 's' || text[1] == '\\') return bad(text, "it is not s/…/…/");
  const std::vector<std::string> parts = split(text, 2, text[1]);
  if (parts.size() != 3 || parts[0].empty()) return bad(text, "it does not have three parts");
  NameRule rule;
  rule.text_ = text;
  rule.replacement_ = replacement_of(parts[1]);
  uint32_t options = 0;
  for (const char flag : parts[2]) {
    if (flag == 'g')
      rule.global_ = true;
    else if (flag == 'i')
      options |= PCRE2_CASELESS;
    else
      return bad(text, std::string("there is no flag '") + flag + "'");
  }
  int problem = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(parts[0].data()), parts[0].size(),
                                   options, &problem, &at, nullptr);
  if (code == nullptr) return bad(text, words_of(problem));
  rule.compiled_ = std::make_shared<const Compiled>(code);
  return rule;
}

Result<std::string> NameRule::apply(const std::string& name) const {
  constexpr size_t kLongest = 8192;  // twice what any store takes
  std::string out(kLongest, '\0');
  PCRE2_SIZE size = out.size();
  const uint32_t global = global_ ? PCRE2_SUBSTITUTE_GLOBAL : 0;
  const int made =
      pcre2_substitute(compiled_->code, reinterpret_cast<PCRE2_SPTR>(name.data()), name.size(), 0,
                       global, nullptr, nullptr, reinterpret_cast<PCRE2_SPTR>(replacement_.data()),
                       replacement_.size(), reinterpret_cast<PCRE2_UCHAR*>(out.data()), &size);
  if (made < 0)
    return Error{.code = Code::kUsage,
                 .message = "the replacement of '" + text_ + "' cannot be made of '" + name +
                            "': " + words_of(made)};
  out.resize(size);
  if (is_safe_path(out)) return out;
  return Error{.code = Code::kUsage,
               .message = "'" + text_ + "' makes '" + out + "' of '" + name +
                          "', which is no name of an object"};
}

}  // namespace headrace
