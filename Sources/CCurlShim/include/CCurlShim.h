#ifndef LARDER_CCURLSHIM_H
#define LARDER_CCURLSHIM_H

#include <curl/curl.h>

// The variadic calls of libcurl, which Swift cannot make. Nothing here keeps state.

/// What is the same for every transfer of a transport. The strings are copied by libcurl.
typedef struct larder_curl_setup {
    curl_write_callback header;
    curl_write_callback body;
    curl_opensocket_callback open_socket;
    curl_prereq_callback prerequest;
    long buffer_size;
    /// A PEM file of the authorities to trust, or NULL: those of the system.
    const char *ca_file;
    /// A proxy's URL, "" for none, or NULL: what the environment says.
    const char *proxy;
} larder_curl_setup;

/// What changes from transfer to transfer.
typedef struct larder_curl_request {
    /// Handed to every callback.
    void *context;
    const char *url;
    const char *method;
    /// Kept by the caller until the transfer has ended, as `body` is.
    struct curl_slist *fields;
    const void *body;
    curl_off_t body_length;
    long connect_milliseconds;
    /// 1: wait for a connection that may be shared (HTTP/2) rather than open another.
    long shares_connection;
    /// 1: no proxy, whatever the setup says.
    long is_direct;
} larder_curl_request;

/// A new easy handle with every option that never changes, or NULL. `error` has CURL_ERROR_SIZE bytes and lives
/// as long as the handle.
CURL *larder_curl_easy_make(const larder_curl_setup *setup, char *error);

/// Readies a handle that is in no multi handle for a request.
CURLcode larder_curl_easy_prepare(CURL *easy, const larder_curl_request *request);

/// The context of the request that the handle was last readied for.
void *larder_curl_easy_context(CURL *easy);

/// 0 for a limit means none.
CURLMcode larder_curl_multi_configure(CURLM *multi, long per_host, long cached);

/// The next transfer that has ended: its handle and its result, or NULL.
CURL *larder_curl_multi_next_ended(CURLM *multi, CURLcode *result);

/// Names the calling thread for debuggers and profilers: Foundation keeps a thread's name to itself on Linux.
void larder_curl_name_thread(const char *name);

/// Lets the calling thread's heap keep so many freed bytes until the result is freed (NULL does nothing).
///
/// glibc gives a freed block at the end of a heap back to the system, and the next transfer's buffers would fault
/// their pages in again. Here the end is a block that stays, and what is free before it is kept for reuse.
void *larder_curl_keep_heap(size_t bytes);

#endif
