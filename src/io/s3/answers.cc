#include "io/s3/answers.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "base/digest.h"
#include "base/try.h"
#include "io/bucket/xml.h"
#include "io/timestamp.h"

namespace headrace {
namespace {

constexpr size_t kMd5Bytes = 16;

// encoding-type=url: as in a form, where '+' is a space.
std::string decode_key(std::string text, bool encoded) {
  if (!encoded) return text;
  std::replace(text.begin(), text.end(), '+', ' ');
  return percent_decode(text);
}

Error bad_number(const std::string& text, const std::string& where) {
  return {.code = Code::kFailure,
          .message = "the listing gives '" + text + "' as the size of an object",
          .origin = {.shard = where}};
}

Result<uint64_t> number_of(const std::string& text, const std::string& where) {
  uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return bad_number(text, where);
  return number;
}

bool add_md5(const std::string& text, std::string* bytes) {
  if (text.size() != 2 * kMd5Bytes) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    unsigned value = 0;
    const auto [end, problem] = std::from_chars(&text[i], &text[i] + 2, value, 16);
    if (problem != std::errc() || end != &text[i] + 2) return false;
    *bytes += static_cast<char>(value);
  }
  return true;
}

}  // namespace

Result<ListPage> parse_s3_list(const std::string& body, const std::string& where) {
  pugi::xml_document document;
  HR_TRY(const pugi::xml_node root, parse_xml(&document, body, "ListBucketResult", where));
  const bool encoded = std::string_view(root.child_value("EncodingType")) == "url";
  ListPage page;
  for (const pugi::xml_node object : root.children("Contents")) {
    HR_TRY(const uint64_t bytes, number_of(object.child_value("Size"), where));
    std::string etag = object.child_value("ETag");
    std::erase(etag, '"');
    page.entries.push_back({decode_key(object.child_value("Key"), encoded), bytes,
                            parse_iso_time(object.child_value("LastModified")), std::move(etag)});
  }
  for (const pugi::xml_node folder : root.children("CommonPrefixes"))
    page.prefixes.push_back(decode_key(folder.child_value("Prefix"), encoded));
  if (std::string_view(root.child_value("IsTruncated")) != "true") return page;
  page.next = root.child_value("NextContinuationToken");
  if (!page.next.empty()) return page;
  return Error{.code = Code::kFailure,
               .message = "the listing goes on, but the server does not say where",
               .origin = {.shard = where}};
}

Result<std::string> parse_s3_upload_id(const std::string& body, const std::string& where) {
  pugi::xml_document document;
  document.load_buffer(body.data(), body.size());
  // Servers differ in what they call the root.
  std::string id = document.first_child().child_value("UploadId");
  if (!id.empty()) return id;
  return Error{.code = Code::kFailure,
               .message = "the server began an upload in parts without giving it an id",
               .origin = {.shard = where}};
}

std::string s3_completion(const std::vector<std::string>& etags) {
  pugi::xml_document document;
  pugi::xml_node root = document.append_child("CompleteMultipartUpload");
  root.append_attribute("xmlns") = "http://s3.amazonaws.com/doc/2006-03-01/";
  int number = 0;
  for (const std::string& etag : etags) {
    pugi::xml_node part = root.append_child("Part");
    part.append_child("PartNumber").text() = ++number;
    part.append_child("ETag").text() = ("\"" + etag + "\"").c_str();
  }
  std::ostringstream text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  return text.str();
}

std::string s3_multipart_etag(const std::vector<std::string>& etags) {
  std::string digests;
  for (const std::string& etag : etags)
    if (!add_md5(etag, &digests)) return "";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  if (EVP_Digest(digests.data(), digests.size(), digest.data(), &size, EVP_md5(), nullptr) != 1)
    return "";
  return hex(std::as_bytes(std::span(digest).first(size))) + "-" + std::to_string(etags.size());
}

}  // namespace headrace
