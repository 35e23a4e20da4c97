/* SPDX-License-Identifier: MIT */
#include "lib/fleet/engine.h"

#include <endian.h>

#include "lib/base/open_file.h"
#include "lib/base/quote.h"
#include "lib/fleet/engine_kind.h"
#include "lib/fleet/grpc.h"

/* Request bodies, compressed by gzip. */

#define SMALL 1024

/* Leaves `packed` empty if compression is not worth it. */
static int packed_body(const void *body, size_t size, struct strbuf *packed, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	uint64_t packed_size;
	_cleanup_close_ int fd = -1;
	int ret;

	if (size < SMALL)
		return 0;
	fd = memory_file_pack("a request", body, size, &packed_size, err);
	if (fd < 0)
		return fd;
	ret = memory_file_read(fd, "a request", packed_size, &text, err);
	if (!ret)
		strbuf_add(packed, text, packed_size);
	return ret;
}

#define STATUS_OK 200
#define STATUS_BAD 400
#define STATUS_UNAUTHORIZED 401
#define STATUS_FORBIDDEN 403
#define STATUS_TOO_LARGE 413
/* Bytes of an engine's message to show. */
#define WORDS_MAX 300

/* The server buffers the whole answer, so that its status is final. */
static void add_url(const struct engine *e, bool is_outside, const char *query, struct strbuf *url)
{
	const struct fleet_url *to = e->url;

	strbuf_addf(url, "http%s://%s:%u/?wait_end_of_query=1", to->is_secure ? "s" : "", to->host,
		    to->port);
	if (!is_outside)
		strbuf_addf(url, "&database=%s", to->database);
	if (query) {
		/* Insert synchronously, also into the other servers of a cluster. */
		strbuf_adds(url, "&insert_distributed_sync=1&query=");
		quote_url(url, query);
	}
}

static int refused(const struct engine *e, int status, const struct strbuf *answer,
		   struct error *err)
{
	size_t size = answer->size < WORDS_MAX ? answer->size : WORDS_MAX;
	int code = status == STATUS_TOO_LARGE ? -EMSGSIZE
		   : status == STATUS_BAD     ? -EBADRQC
					      : -EREMOTEIO;
	_cleanup_free_ char *words = xstrndup(strbuf_text(answer), size);

	words[strcspn(words, "\r\n")] = '\0';
	text_to_line(words);
	if (e->url->kind->is_grpc)
		error_text(err, code, "%s:%u answered with %s", e->url->host, e->url->port, words);
	else
		error_text(err, code, "%s:%u answered with status %d%s%s", e->url->host,
			   e->url->port, status, *words ? ": " : "", words);
	if (status == STATUS_UNAUTHORIZED || status == STATUS_FORBIDDEN)
		error_hint(err, "put the user before the host, and the password in a file: "
				"?password-file=FILE");
	return code;
}

/* Headers of a request; `owned` are those allocated for it. */
struct headers {
	VEC(const char *) list; /* NULL-terminated in the end */
	char *owned[2];
};

static void headers_release(struct headers *h)
{
	free(h->owned[0]);
	free(h->owned[1]);
	vec_release(&h->list);
}

static char *basic_header(const char *user, const char *password)
{
	_cleanup_free_ char *pair = xasprintf("%s:%s", user, password);
	_cleanup_free_ char *packed = xcalloc(BASE64_SIZE(strlen(pair)) + 1, 1);

	base64_encode(pair, strlen(pair), packed);
	return xasprintf("Authorization: Basic %s", packed);
}

static void add_rights(struct headers *h, const struct engine *e)
{
	const char *user = e->url->user;
	bool is_collector = engine_kind_is_collector(e->url->kind);

	if (user && is_collector)
		h->owned[0] = basic_header(user, e->password ? e->password : "");
	else if (user)
		h->owned[0] = xasprintf("X-ClickHouse-User: %s", user);
	if (e->password && !(user && is_collector))
		h->owned[1] = xasprintf(
			"%s %s",
			is_collector ? "Authorization: Bearer" : "X-ClickHouse-Key:", e->password);
	for (int i = 0; i < 2; i++) {
		if (h->owned[i])
			vec_push(&h->list, h->owned[i]);
	}
	vec_for_each(&e->url->headers, char *const *, header)
		vec_push(&h->list, *header);
}

/*
 * Compresses a body and adds gRPC's prefix if needed; leaves `sent` empty if the body is sent
 * unchanged.
 */
static int wrap(const struct engine *e, const struct strbuf *body, bool *is_packed,
		struct strbuf *sent, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf packed = {0};
	const struct collector_form *form = e->url->kind->form;
	int ret = e->url->is_unpacked || (form && form->is_packed)
			  ? 0
			  : packed_body(strbuf_text(body), body->size, &packed, err);

	*is_packed = packed.size;
	if (ret)
		return ret;
	if (!e->url->kind->is_grpc) {
		*sent = packed;
		packed = (struct strbuf){0};
	} else if (!grpc_frame(*is_packed ? &packed : body, *is_packed, sent)) {
		return error_text(err, -EMSGSIZE, "the message is too large");
	}
	return 0;
}

static int post(const struct engine *e, const char *url, const struct strbuf *body,
		struct strbuf *answer, struct error *err)
{
	const struct engine_kind *kind = e->url->kind;
	_cleanup_free_ char *content = xasprintf("Content-Type: %s", kind->content_type);
	_cleanup_(strbuf_release) struct strbuf sent = {0};
	struct headers headers = {0};
	struct engine_request request = {.url = url, .to = e->url};
	bool is_packed;
	int status = wrap(e, body, &is_packed, &sent, err);

	if (status)
		return status;
	request.body = sent.size ? strbuf_text(&sent) : strbuf_text(body);
	request.size = sent.size ? sent.size : body->size;
	vec_push(&headers.list, content);
	/* Suppress "Expect: 100-continue": send the body at once. */
	vec_push(&headers.list, "Expect:");
	if (kind->is_grpc)
		vec_push(&headers.list, "TE: trailers");
	if (is_packed)
		vec_push(&headers.list,
			 kind->is_grpc ? "grpc-encoding: gzip" : "Content-Encoding: gzip");
	add_rights(&headers, e);
	vec_push(&headers.list, NULL);
	request.headers = headers.list.items;
	status = e->send(e->ctx, &request, answer, err);
	headers_release(&headers);
	if (status < 0)
		return status;
	return status == STATUS_OK ? 0 : refused(e, status, answer, err);
}

static int send_request(const struct engine *e, bool is_outside, const char *query,
			const struct strbuf *body, struct strbuf *answer, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf url = {0};

	add_url(e, is_outside, query, &url);
	return post(e, strbuf_text(&url), body, answer, err);
}

int engine_post(const struct engine *e, const struct strbuf *body, struct strbuf *answer,
		struct error *err)
{
	_cleanup_free_ char *url = xasprintf("http%s://%s:%u/%s", e->url->is_secure ? "s" : "",
					     e->url->host, e->url->port, e->url->database);

	return post(e, url, body, answer, err);
}

int engine_run(const struct engine *e, const char *sql, bool is_outside, struct strbuf *answer,
	       struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf body = {0};

	strbuf_adds(&body, sql);
	return send_request(e, is_outside, NULL, &body, answer, err);
}

int engine_insert(const struct engine *e, const char *table, const struct strbuf *rows,
		  struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf answer = {0};
	_cleanup_free_ char *sql = xasprintf("INSERT INTO %s FORMAT RowBinary", table);

	return rows->size ? send_request(e, false, sql, rows, &answer, err) : 0;
}

int engine_number(const struct engine *e, const char *sql, bool is_outside, uint64_t *number,
		  struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf answer = {0};
	struct bytes b;
	int ret = engine_run(e, sql, is_outside, &answer, err);

	if (ret)
		return ret;
	bytes_init(&b, strbuf_text(&answer), answer.size);
	*number = bytes_u64(&b);
	return b.failed || bytes_left(&b) ? engine_damaged(err) : 0;
}

int engine_damaged(struct error *err)
{
	return error_text(err, -EBADMSG, "the engine's answer is damaged or unexpected");
}

void rows_add_u8(struct strbuf *rows, uint8_t value)
{
	strbuf_addch(rows, (char)value);
}

void rows_add_u16(struct strbuf *rows, uint16_t value)
{
	value = htole16(value);
	strbuf_add(rows, &value, sizeof(value));
}

void rows_add_u32(struct strbuf *rows, uint32_t value)
{
	value = htole32(value);
	strbuf_add(rows, &value, sizeof(value));
}

void rows_add_u64(struct strbuf *rows, uint64_t value)
{
	value = htole64(value);
	strbuf_add(rows, &value, sizeof(value));
}

void rows_add_count(struct strbuf *rows, uint64_t count)
{
	for (; count >= 0x80; count >>= 7)
		strbuf_addch(rows, (char)(count | 0x80));
	strbuf_addch(rows, (char)count);
}

void rows_add_text(struct strbuf *rows, const char *text)
{
	size_t size = strlen(text);

	rows_add_count(rows, size);
	strbuf_add(rows, text, size);
}

char *rows_take_text(struct bytes *b)
{
	size_t size = bytes_uleb(b);
	const char *at = bytes_take(b, size);
	char *text;

	if (!at)
		return xstrdup("");
	text = xmalloc(size + 1);
	memcpy(text, at, size);
	text[size] = '\0';
	for (size_t i = 0; i < size; i++) {
		if (!text[i])
			text[i] = '?';
	}
	return text;
}

size_t rows_take_count(struct bytes *b, size_t element_size)
{
	uint64_t count = bytes_uleb(b);

	if (count > bytes_left(b) / element_size) {
		b->failed = true;
		return 0;
	}
	return (size_t)count;
}
