#include "job/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

namespace headrace {

struct Pattern::Compiled {
  explicit Compiled(pcre2_code* compiled) : code(compiled) {}
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() { pcre2_code_free(code); }
  pcre2_code* code;
};

Result<Pattern> Pattern::compile(const std::string& text) {
  int problem = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0,
                                   &problem, &at, nullptr);
  if (code == nullptr) {
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(problem, buffer.data(), buffer.size());
    return Error{.code = Code::kUsage,
                 .message = "'" + text + "' is no regular expression: at character " +
                            std::to_string(at) + ": " +
                            reinterpret_cast<const char*>(buffer.data())};
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  Pattern pattern;
  pattern.text_ = text;
  pattern.compiled_ = std::make_shared<const Compiled>(code);
  return pattern;
}

bool Pattern::matches(std::string_view subject) const {
  const auto free = [](pcre2_match_data* data) { pcre2_match_data_free(data); };
  const std::unique_ptr<pcre2_match_data, decltype(free)> found(pcre2_match_data_create(1, nullptr),
                                                                free);
  return pcre2_match(compiled_->code, reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(),
                     0, 0, found.get(), nullptr) >= 0;
}

}  // namespace headrace
