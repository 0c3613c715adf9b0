// The functions of libcurl that we use, and owners for what it allocates. The library is loaded
// when the first remote object is opened: with all it brings along it takes longer to load than all
// the rest of Headrace. Thread-safe but for the handles.
#pragma once

#include <curl/curl.h>

#include <memory>

#include "headrace/result.h"

namespace headrace {

/// One member a function of libcurl, under its name without "curl_".
struct CurlLibrary {
  decltype(&curl_free) free;
  decltype(&curl_url) url;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_url_set) url_set;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_strerror) url_strerror;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_multi_init) multi_init;
  decltype(&curl_multi_cleanup) multi_cleanup;
  decltype(&curl_multi_setopt) multi_setopt;
  decltype(&curl_multi_add_handle) multi_add_handle;
  decltype(&curl_multi_remove_handle) multi_remove_handle;
  decltype(&curl_multi_socket_action) multi_socket_action;
  decltype(&curl_multi_info_read) multi_info_read;
  decltype(&curl_getdate) getdate;
};

/// Loads the library; an error if it cannot be. Call before curl() where that is not certain.
Status load_curl();

/// Loads the library the first time. Throws std::runtime_error if it cannot be.
const CurlLibrary& curl();

struct CurlFree {
  void operator()(CURLU* url) const { curl().url_cleanup(url); }
  void operator()(CURL* easy) const { curl().easy_cleanup(easy); }
  void operator()(curl_slist* list) const { curl().slist_free_all(list); }
};
struct CurlFreeMulti {
  void operator()(CURLM* multi) const { curl().multi_cleanup(multi); }
};
using CurlUrl = std::unique_ptr<CURLU, CurlFree>;
using CurlEasy = std::unique_ptr<CURL, CurlFree>;
using CurlHeaders = std::unique_ptr<curl_slist, CurlFree>;
using CurlMulti = std::unique_ptr<CURLM, CurlFreeMulti>;

inline CurlUrl make_curl_url() { return CurlUrl(curl().url()); }

}  // namespace headrace
