#include "io/s3/answers.h"

#include <algorithm>
#include <charconv>
#include <sstream>

#include "base/digest.h"
#include "base/try.h"
#include "io/bucket/whole_number.h"
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
  const auto number = whole_number(text);
  if (!number) return bad_number(text, where);
  return *number;
}

std::string etag_of(const pugi::xml_node& node) {
  std::string etag = node.child_value("ETag");
  std::erase(etag, '"');
  return etag;
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
    page.entries.push_back({decode_key(object.child_value("Key"), encoded), bytes,
                            parse_iso_time(object.child_value("LastModified")), etag_of(object)});
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

Result<std::string> latest_s3_upload(const std::string& body, const std::string& key,
                                     const std::string& where) {
  pugi::xml_document document;
  HR_TRY(const pugi::xml_node root,
         parse_xml(&document, body, "ListMultipartUploadsResult", where));
  const bool encoded = std::string_view(root.child_value("EncodingType")) == "url";
  std::string latest;
  std::string begun;  // as the server writes it; all in one way, so that texts compare as times do
  for (const pugi::xml_node upload : root.children("Upload")) {
    if (decode_key(upload.child_value("Key"), encoded) != key) continue;
    const std::string time = upload.child_value("Initiated");
    if (time < begun) continue;
    begun = time;
    latest = upload.child_value("UploadId");
  }
  return latest;
}

Status add_s3_parts(const std::string& body, const std::string& where, Unfinished* found) {
  pugi::xml_document document;
  document.load_buffer(body.data(), body.size());
  const pugi::xml_node root = document.first_child();  // servers differ in what they call it
  if (root.child_value("UploadId") != found->id)
    return Error{.code = Code::kFailure,
                 .message = "the server's answer is not the list of an upload's parts",
                 .origin = {.shard = where}};
  for (const pugi::xml_node part : root.children("Part")) {
    HR_TRY(const uint64_t bytes, number_of(part.child_value("Size"), where));
    const std::string etag = etag_of(part);
    found->parts[s3_proof(part.child_value("PartNumber"), etag)] = {bytes, etag};
  }
  const std::string next = root.child_value("NextPartNumberMarker");
  const bool goes_on = std::string_view(root.child_value("IsTruncated")) == "true";
  found->is_whole = !goes_on || next == found->next;
  found->next = next;
  return {};
}

std::string s3_proof(const std::string& number, const std::string& etag) {
  return number + " " + etag;
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
  return hex(as_bytes(md5(as_bytes(digests)))) + "-" + std::to_string(etags.size());
}

}  // namespace headrace
