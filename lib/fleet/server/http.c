/* SPDX-License-Identifier: MIT */
#include "lib/fleet/server/http.h"

void http_response_release(struct http_response *r)
{
	vec_for_each(&r->headers, struct http_header *, header) {
		free(header->name);
		free(header->value);
	}
	vec_release(&r->headers);
	free(r->body);
	*r = (struct http_response){0};
}

void http_response_add(struct http_response *r, const char *name, const char *value)
{
	for (const char *c = value; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return;
	}
	vec_push(&r->headers, (struct http_header){xstrdup(name), xstrdup(value)});
}

void http_response_take(struct http_response *r, unsigned int status, const char *type, char *body,
			size_t size)
{
	free(r->body);
	r->status = status;
	r->body = body;
	r->size = size;
	if (type)
		http_response_add(r, "Content-Type", type);
}

unsigned int http_range(const char *header, uint64_t size, uint64_t *offset, uint64_t *length)
{
	static const char unit[] = "bytes=";
	const char *at, *end;
	uint64_t first = 0, last = size ? size - 1 : 0;
	bool has_first, has_last;

	*offset = 0;
	*length = size;
	if (!header || !text_starts_with(header, unit))
		return 200;
	at = header + strlen(unit);
	end = at + strlen(at);
	has_first = text_scan_decimal(&at, end, &first);
	if (*at++ != '-')
		return 200;
	has_last = text_scan_decimal(&at, end, &last);
	/* Several ranges, or an invalid one. */
	if (*at || (!has_first && !has_last) || (has_first && has_last && last < first))
		return 200;
	if (!has_first) {
		first = last < size ? size - last : 0;
		if (!last)
			return 416;
		last = size - 1;
	}
	if (first >= size)
		return 416;
	if (last >= size)
		last = size - 1;
	*offset = first;
	*length = last - first + 1;
	return 206;
}
