/* SPDX-License-Identifier: MIT */
#include "lib/fleet/server/client.h"

#include <curl/curl.h>

#define ANSWER_MAX ((size_t)64 << 10)
#define CONNECT_S 20L
/* Uploads slower than SLOW_BYTES in this time are cancelled. */
#define SLOW_BYTES 100L
#define SLOW_S 30L

struct taking {
	struct strbuf *answer;
	size_t max;
	bool is_whole; /* an answer over the limit is a failure */
};

static size_t take(char *data, size_t unit, size_t count, void *ctx)
{
	struct taking *taking = ctx;
	size_t size = unit * count, room = taking->max - taking->answer->size;

	if (size > room && taking->is_whole)
		return 0;
	strbuf_add(taking->answer, data, size < room ? size : room);
	return size;
}

static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct client_request *r = ctx;

	(void)a, (void)b, (void)c, (void)d;
	return r->is_over(r->ctx);
}

static size_t on_header(char *line, size_t unit, size_t count, void *ctx)
{
	const struct client_request *r = ctx;

	r->on_header(r->header_ctx, line, unit * count);
	return unit * count;
}

static void set_limits(CURL *curl, const struct client_request *r)
{
	long stall_s = (long)((r->stall_ns + 999999999) / 1000000000);

	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT,
			 stall_s && stall_s < CONNECT_S ? stall_s : CONNECT_S);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, SLOW_BYTES);
	curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, stall_s ? stall_s : SLOW_S);
	if (r->timeout_ns)
		curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)(r->timeout_ns / 1000000 + 1));
	if (!r->is_over)
		return;
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, r);
}

static void set_file(CURL *curl, CURLoption option, const char *path)
{
	if (path && *path)
		curl_easy_setopt(curl, option, path);
}

static CURLcode perform(CURL *curl, const struct client_request *r, struct curl_slist *headers,
			struct strbuf *answer)
{
	struct taking taking = {answer, r->answer_max ? r->answer_max : ANSWER_MAX,
				r->answer_max > 0};

	curl_easy_setopt(curl, CURLOPT_URL, r->url);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, r->method);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	if (r->is_http2)
		curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
				 strncmp(r->url, "https:", 6) == 0
					 ? CURL_HTTP_VERSION_2TLS
					 : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	if (r->on_header) {
		curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
		curl_easy_setopt(curl, CURLOPT_HEADERDATA, r);
	}
	set_limits(curl, r);
	set_file(curl, CURLOPT_CAINFO, r->ca_file);
	set_file(curl, CURLOPT_SSLCERT, r->certificate_file);
	set_file(curl, CURLOPT_SSLKEY, r->key_file);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &taking);
	if (r->body) {
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, r->body);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->size);
	}
	return curl_easy_perform(curl);
}

int client_send(const struct client_request *request, struct strbuf *answer, struct error *err)
{
	CURL *curl = curl_easy_init();
	struct curl_slist *headers = NULL;
	CURLcode code = CURLE_FAILED_INIT;
	curl_off_t retry_after = 0;
	long status = 0;

	for (const char *const *header = request->headers; *header; header++)
		headers = curl_slist_append(headers, *header);
	if (curl)
		code = perform(curl, request, headers, answer);
	if (code == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK && request->retry_after_s) {
		curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &retry_after);
		*request->retry_after_s = retry_after > 0 ? (uint64_t)retry_after : 0;
	}
	curl_slist_free_all(headers);
	curl_easy_cleanup(curl);
	if (code != CURLE_OK)
		return error_text(err, -EIO, "%.*s: %s", (int)strcspn(request->url, "?"),
				  request->url, curl_easy_strerror(code));
	return (int)status;
}

void client_prepare(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}
