// The XML of S3's interface, read and written. Pure functions; `where` is for messages.
#pragma once

#include <string>
#include <vector>

#include "io/bucket/bucket_service.h"

namespace headrace {

Result<ListPage> parse_s3_list(const std::string& body, const std::string& where);
Result<std::string> parse_s3_upload_id(const std::string& body, const std::string& where);
/// Of the uploads in a listing the one of this very key that was begun last; "" if there is none.
Result<std::string> latest_s3_upload(const std::string& body, const std::string& key,
                                     const std::string& where);
/// Adds a page of an upload's parts.
Status add_s3_parts(const std::string& body, const std::string& where, Unfinished* found);
/// BucketService::proof(): parts keep their numbers.
std::string s3_proof(const std::string& number, const std::string& etag);
/// The body of CompleteMultipartUpload for the parts' ETags.
std::string s3_completion(const std::vector<std::string>& etags);
/// The ETag of an object made of parts with these: the MD5 of their MD5s; "" if they are no MD5s.
std::string s3_multipart_etag(const std::vector<std::string>& etags);

}  // namespace headrace
