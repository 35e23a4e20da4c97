/* SPDX-License-Identifier: MIT */
#include "cmd/net/engine_client.h"

#include <strings.h>

#include "lib/fleet/engine.h"
#include "lib/fleet/grpc.h"

#define STATUS_OK 200
#define TYPE "content-type:"
#define DATABASE_TYPE "application/octet-stream"

/* Head of an answer. */
struct head {
	struct grpc_answer grpc;
	char type[64]; /* media type, without parameters; "": not given */
};

/* Copies the media type of a line that may be such a header. */
static void take_type(const char *line, size_t size, char *type, size_t max)
{
	const char *at = line + strlen(TYPE), *end = line + size;
	size_t length = 0;

	if (size < strlen(TYPE) || strncasecmp(line, TYPE, strlen(TYPE)) != 0)
		return;
	while (at < end && *at == ' ')
		at++;
	while (at + length < end && length + 1 < max && !strchr("; \r\n", at[length]))
		length++;
	memcpy(type, at, length);
	type[length] = '\0';
	text_to_line(type);
}

static void take_header(void *ctx, const char *line, size_t size)
{
	struct head *head = ctx;

	grpc_answer_take(&head->grpc, line, size);
	take_type(line, size, head->type, sizeof(head->type));
}

/*
 * Portals and proxies answer with a page, as do engines for an unknown path. Collectors answer with
 * the type of the request, and some with nothing; databases with any type.
 */
static int check_type(const struct client_request *r, const char *type, bool is_empty,
		      struct error *err)
{
	char wanted[64] = "";
	bool is_page = strcasecmp(type, "text/html") == 0;

	for (const char *const *header = r->headers; *header; header++)
		take_type(*header, strlen(*header), wanted, sizeof(wanted));
	if (strcmp(wanted, DATABASE_TYPE) == 0 ? !is_page
	    : is_empty			       ? !is_page
	    : r->is_http2		       ? strncasecmp(type, wanted, strlen(wanted)) == 0
					       : strcasecmp(type, wanted) == 0)
		return 0;
	return error_text(err, -EPROTO,
			  "%.*s answered with %s: a proxy or another server, not such an engine",
			  (int)strcspn(r->url, "?"), r->url, *type ? type : "data of no type");
}

int engine_client_send(const struct client_request *request, struct strbuf *answer,
		       uint64_t *retry_after_s, struct error *err)
{
	struct client_request whole = *request;
	struct head head = {0};
	uint64_t asked_s = 0;
	int ret;

	whole.method = "POST";
	whole.answer_max = ENGINE_ANSWER_MAX;
	whole.retry_after_s = &asked_s;
	whole.on_header = take_header;
	whole.header_ctx = &head;
	ret = client_send(&whole, answer, err);
	/* Servers may refuse a call, and end its stream, before they have all of it. */
	if (ret < 0 && head.grpc.has_status && head.grpc.status) {
		*err = (struct error){0};
		ret = STATUS_OK;
	}
	if (ret == STATUS_OK && !head.grpc.has_status)
		ret = check_type(request, head.type, !answer->size, err) ?: ret;
	if (ret > 0 && request->is_http2)
		ret = grpc_answer_judge(&head.grpc, ret, answer, &asked_s, err);
	grpc_answer_release(&head.grpc);
	if (retry_after_s)
		*retry_after_s = asked_s;
	return ret;
}
