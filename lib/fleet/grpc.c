/* SPDX-License-Identifier: MIT */
#include "lib/fleet/grpc.h"

#include <endian.h>
#include <strings.h>

#include "lib/base/quote.h"
#include "lib/base/protobuf.h"

/* Fields of the messages of google.rpc. */
enum { STATUS_DETAILS = 3 };
enum { ANY_TYPE = 1, ANY_VALUE };
enum { RETRY_DELAY = 1 };
enum { DURATION_SECONDS = 1, DURATION_NANOS };

#define RETRY_TYPE "/google.rpc.RetryInfo"
#define PREFIX_SIZE 5
#define EXHAUSTED 8
/* Maximum size of details; longer ones do not fit in a header. */
#define DETAILS_MAX 65536
#define DELAY_MAX_S 86400
#define HTTP_OK 200
#define HTTP_BAD 400
#define HTTP_TOO_LARGE 413
#define HTTP_TOO_MANY 429

/* HTTP equivalents by status number. 503 and 504 are temporary. */
static const struct {
	const char *name;
	int http;
} statuses[] = {
	{"OK", HTTP_OK},
	{"CANCELLED", 503},
	{"UNKNOWN", HTTP_BAD},
	{"INVALID_ARGUMENT", HTTP_BAD},
	{"DEADLINE_EXCEEDED", 504},
	{"NOT_FOUND", HTTP_BAD},
	{"ALREADY_EXISTS", HTTP_BAD},
	{"PERMISSION_DENIED", 403},
	{"RESOURCE_EXHAUSTED", HTTP_BAD},
	{"FAILED_PRECONDITION", HTTP_BAD},
	{"ABORTED", 503},
	{"OUT_OF_RANGE", 503},
	{"UNIMPLEMENTED", HTTP_BAD},
	{"INTERNAL", HTTP_BAD},
	{"UNAVAILABLE", 503},
	{"DATA_LOSS", 503},
	{"UNAUTHENTICATED", 401},
};

bool grpc_frame(const struct strbuf *message, bool is_packed, struct strbuf *out)
{
	uint32_t size = htobe32((uint32_t)message->size);

	if (message->size > UINT32_MAX)
		return false;
	strbuf_addch(out, is_packed ? 1 : 0);
	strbuf_add(out, &size, sizeof(size));
	strbuf_add(out, strbuf_text(message), message->size);
	return true;
}

static void read_words(struct grpc_answer *a, const char *text, size_t size)
{
	free(a->words);
	a->words = unquote_url(text, size);
	if (!a->words)
		a->words = xstrndup(text, size);
	text_to_line(a->words);
}

static void read_delay(struct grpc_answer *a, struct protobuf_cursor retry)
{
	struct protobuf_field field, part;

	a->has_delay = true;
	while (protobuf_next(&retry, &field)) {
		if (field.number != RETRY_DELAY || !field.is_bytes)
			continue;
		while (protobuf_next(&field.bytes, &part)) {
			if (part.number == DURATION_SECONDS && !part.is_bytes)
				a->delay_s = part.value < DELAY_MAX_S ? part.value : DELAY_MAX_S;
			else if (part.number == DURATION_NANOS && part.value)
				a->delay_s++;
		}
	}
}

static void read_detail(struct grpc_answer *a, struct protobuf_cursor any)
{
	static const char type[] = RETRY_TYPE;
	struct protobuf_cursor value = {0};
	struct protobuf_field field;
	bool is_retry = false;

	while (protobuf_next(&any, &field)) {
		size_t size = field.is_bytes ? (size_t)(field.bytes.end - field.bytes.at) : 0;

		if (field.number == ANY_TYPE && size >= strlen(type))
			is_retry = memcmp(field.bytes.end - strlen(type), type, strlen(type)) == 0;
		else if (field.number == ANY_VALUE && field.is_bytes)
			value = field.bytes;
	}
	if (is_retry)
		read_delay(a, value);
}

/* Reads base64, which may lack its padding. */
static void read_details(struct grpc_answer *a, const char *text, size_t size)
{
	_cleanup_free_ char *padded = NULL;
	_cleanup_free_ unsigned char *data = NULL;
	struct protobuf_cursor s;
	struct protobuf_field field;

	if (size > DETAILS_MAX)
		return;
	padded = xasprintf("%.*s%.*s", (int)size, text, (int)(3 - (size + 3) % 4), "===");
	data = xmalloc(strlen(padded) + 1);
	if (!base64_decode(padded, strlen(padded), data, &size))
		return;
	s = protobuf_cursor_of(data, size);
	while (protobuf_next(&s, &field)) {
		if (field.number == STATUS_DETAILS && field.is_bytes)
			read_detail(a, field.bytes);
	}
}

static bool is_header(const char *line, size_t size, const char *name)
{
	return size == strlen(name) && strncasecmp(line, name, size) == 0;
}

void grpc_answer_take(void *ctx, const char *line, size_t size)
{
	struct grpc_answer *a = ctx;
	const char *colon = memchr(line, ':', size), *end = line + size, *value;
	size_t name;

	if (!colon)
		return;
	name = (size_t)(colon - line);
	for (value = colon + 1; value < end && *value == ' ';)
		value++;
	while (end > value && strchr("\r\n ", end[-1]))
		end--;
	if (is_header(line, name, "grpc-status"))
		a->has_status = text_scan_decimal(&value, end, &a->status) && value == end;
	else if (is_header(line, name, "grpc-message"))
		read_words(a, value, (size_t)(end - value));
	else if (is_header(line, name, "grpc-status-details-bin"))
		read_details(a, value, (size_t)(end - value));
}

/* Servers report an oversized message only in the text of the status. */
static bool is_too_large(const struct grpc_answer *a)
{
	return a->words &&
	       (strstr(a->words, "larger than max") || strstr(a->words, "exceeds maximum size"));
}

static int status_of(const struct grpc_answer *a)
{
	if (a->status == EXHAUSTED && a->has_delay)
		return HTTP_TOO_MANY;
	if (a->status == EXHAUSTED && is_too_large(a))
		return HTTP_TOO_LARGE;
	return a->status < sizeof(statuses) / sizeof(*statuses) ? statuses[a->status].http
								: HTTP_BAD;
}

/* Empties an answer that is truncated, or compressed although that was not requested. */
static void unframe(struct strbuf *text)
{
	uint32_t size = 0;

	if (text->size > PREFIX_SIZE && !text->text[0])
		memcpy(&size, text->text + 1, sizeof(size));
	size = be32toh(size);
	if (!size || size != text->size - PREFIX_SIZE) {
		strbuf_reset(text);
		return;
	}
	memmove(text->text, text->text + PREFIX_SIZE, size);
	text->size = size;
	text->text[size] = '\0';
}

int grpc_answer_judge(const struct grpc_answer *a, int http_status, struct strbuf *text,
		      uint64_t *retry_after_s, struct error *err)
{
	int status;

	if (http_status != HTTP_OK) {
		strbuf_reset(text);
		strbuf_addf(text, "status %d", http_status);
		return http_status < HTTP_BAD ? HTTP_BAD : http_status;
	}
	if (!a->has_status) {
		strbuf_reset(text);
		return error_text(err, -EPROTO, "the server does not speak gRPC");
	}
	status = status_of(a);
	if (a->has_delay)
		*retry_after_s = a->delay_s;
	if (status == HTTP_OK) {
		unframe(text);
		return status;
	}
	strbuf_reset(text);
	if (a->status < sizeof(statuses) / sizeof(*statuses))
		strbuf_adds(text, statuses[a->status].name);
	else
		strbuf_addf(text, "status %ju", (uintmax_t)a->status);
	if (a->words && *a->words)
		strbuf_addf(text, ": %s", a->words);
	return status;
}

void grpc_answer_release(struct grpc_answer *a)
{
	free(a->words);
}
