#define _GNU_SOURCE
#include "CCurlShim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

CURL *larder_curl_easy_make(const larder_curl_setup *setup, char *error) {
    CURL *easy = curl_easy_init();
    if (!easy) return NULL;
    CURLcode result = CURLE_OK;
#define SET(option, value) \
    if (!result) result = curl_easy_setopt(easy, option, value)
    SET(CURLOPT_ERRORBUFFER, error);
    SET(CURLOPT_HEADERFUNCTION, setup->header);
    SET(CURLOPT_WRITEFUNCTION, setup->body);
    SET(CURLOPT_OPENSOCKETFUNCTION, setup->open_socket);
    SET(CURLOPT_PREREQFUNCTION, setup->prerequest);
    SET(CURLOPT_BUFFERSIZE, setup->buffer_size);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_HTTP09_ALLOWED, 0L);
    SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
    SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    // The bytes on the wire are the bytes of the image: nothing is decoded on the way.
    SET(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(CURLOPT_PATH_AS_IS, 1L);
    SET(CURLOPT_TCP_KEEPALIVE, 1L);
    SET(CURLOPT_NOPROGRESS, 1L);
    SET(CURLOPT_NOSIGNAL, 1L);
    // Otherwise removing a transfer that waits for a name blocks until the resolver answers.
    SET(CURLOPT_QUICK_EXIT, 1L);
    if (setup->ca_file) SET(CURLOPT_CAINFO, setup->ca_file);
    if (setup->proxy) SET(CURLOPT_PROXY, setup->proxy);
#undef SET
    if (!result) return easy;
    curl_easy_cleanup(easy);
    return NULL;
}

CURLcode larder_curl_easy_prepare(CURL *easy, const larder_curl_request *request) {
    CURLcode result = CURLE_OK;
#define SET(option, value) \
    if (!result) result = curl_easy_setopt(easy, option, value)
    SET(CURLOPT_PRIVATE, request->context);
    SET(CURLOPT_HEADERDATA, request->context);
    SET(CURLOPT_WRITEDATA, request->context);
    SET(CURLOPT_OPENSOCKETDATA, request->context);
    SET(CURLOPT_PREREQDATA, request->context);
    SET(CURLOPT_URL, request->url);
    SET(CURLOPT_HTTPHEADER, request->fields);
    SET(CURLOPT_CONNECTTIMEOUT_MS, request->connect_milliseconds);
    SET(CURLOPT_PIPEWAIT, request->shares_connection);
    SET(CURLOPT_NOPROXY, request->is_direct ? "*" : NULL);
    // What an earlier request has set is taken back; POSTFIELDS, even NULL, also says POST, and HTTPGET says GET.
    SET(CURLOPT_CUSTOMREQUEST, NULL);
    SET(CURLOPT_POSTFIELDS, NULL);
    SET(CURLOPT_HTTPGET, 1L);
    int is_post = strcmp(request->method, "POST") == 0;
    if (is_post || request->body_length > 0) {
        SET(CURLOPT_POSTFIELDS, request->body_length > 0 ? request->body : "");
        SET(CURLOPT_POSTFIELDSIZE_LARGE, request->body_length);
        if (!is_post) SET(CURLOPT_CUSTOMREQUEST, request->method);
    } else if (strcmp(request->method, "HEAD") == 0) {
        SET(CURLOPT_NOBODY, 1L);
    } else if (strcmp(request->method, "GET") != 0) {
        SET(CURLOPT_CUSTOMREQUEST, request->method);
    }
#undef SET
    return result;
}

void *larder_curl_easy_context(CURL *easy) {
    void *context = NULL;
    return curl_easy_getinfo(easy, CURLINFO_PRIVATE, &context) == CURLE_OK ? context : NULL;
}

CURLMcode larder_curl_multi_configure(CURLM *multi, long per_host, long cached) {
    CURLMcode result = curl_multi_setopt(multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    if (!result) result = curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, per_host);
    if (!result) result = curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, cached);
    return result;
}

CURL *larder_curl_multi_next_ended(CURLM *multi, CURLcode *result) {
    int waiting = 0;
    for (CURLMsg *message; (message = curl_multi_info_read(multi, &waiting));) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

void larder_curl_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

void *larder_curl_keep_heap(size_t bytes) {
    // Below the least size for which glibc maps memory of its own; the blocks come one behind the other.
    const size_t size = 64 << 10;
    void **last = NULL;
    for (size_t kept = 0; kept <= bytes; kept += size) {
        void **block = malloc(size);
        if (!block) break;
        *block = last;
        last = block;
    }
    if (!last) return NULL;
    for (void **block = *last, **next; block; block = next) {
        next = *block;
        free(block);
    }
    return last;
}
