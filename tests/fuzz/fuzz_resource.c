/* SPDX-License-Identifier: MIT */
/* An environment, and what is made of it: what is written is read as the same, and is bounded. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/process/resource.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(strbuf_release) struct strbuf text = {0}, again = {0};
	struct resource r = {0}, read = {0}, whole = {0};

	resource_parse_environment(&r, (const char *)data, size);
	resource_parse_context(&r, data, size);
	require(r.rows.count <= RESOURCE_ATTRIBUTES_MAX);
	vec_for_each(&r.rows, const struct resource_attribute *, row) {
		require(*row->value && strlen(row->value) <= RESOURCE_TEXT_MAX);
		for (const char *at = row->value; *at; at++)
			require((unsigned char)*at >= ' ' && *at != 0x7f);
	}
	resource_write(&r, &text);
	require(text.size <= RESOURCE_TEXT_MAX);
	require(resource_parse(&read, strbuf_text(&text), text.size));
	resource_write(&read, &again);
	require(!strcmp(strbuf_text(&text), strbuf_text(&again)));
	/* A file may have any text. */
	resource_parse(&whole, (const char *)data, size);
	resource_release(&r);
	resource_release(&read);
	resource_release(&whole);
	return 0;
}
