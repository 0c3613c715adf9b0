// The functions of libcurl, for those who load this library.
#include "io/http/curl.h"

extern "C" __attribute__((visibility("default"))) const headrace::CurlLibrary*
headrace_curl_library() {
  static const headrace::CurlLibrary library = [] {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return headrace::CurlLibrary{
        .free = curl_free,
        .url = curl_url,
        .url_cleanup = curl_url_cleanup,
        .url_set = curl_url_set,
        .url_get = curl_url_get,
        .url_strerror = curl_url_strerror,
        .easy_init = curl_easy_init,
        .easy_cleanup = curl_easy_cleanup,
        .easy_reset = curl_easy_reset,
        .easy_setopt = curl_easy_setopt,
        .easy_getinfo = curl_easy_getinfo,
        .easy_strerror = curl_easy_strerror,
        .slist_append = curl_slist_append,
        .slist_free_all = curl_slist_free_all,
        .multi_init = curl_multi_init,
        .multi_cleanup = curl_multi_cleanup,
        .multi_setopt = curl_multi_setopt,
        .multi_add_handle = curl_multi_add_handle,
        .multi_remove_handle = curl_multi_remove_handle,
        .multi_socket_action = curl_multi_socket_action,
        .multi_info_read = curl_multi_info_read,
        .getdate = curl_getdate,
    };
  }();
  return &library;
}
