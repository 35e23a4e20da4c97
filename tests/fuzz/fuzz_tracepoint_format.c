/* SPDX-License-Identifier: MIT */
/* A tracepoint's format and what it records, separated by a byte of zero. */
#include <stdbool.h>
#include <string.h>

#include "lib/stream/text/tracepoint_format.h"
#include "tests/fuzz/input.h"

static void check_layout(const struct tracepoint_format *format)
{
	require(format->count <= TRACEPOINT_FIELDS_MAX);
	require(format->layout.size <= TRACEPOINT_BYTES_MAX);
	require(format->layout.dynamic_count <= TRACEPOINT_DYNAMIC_MAX);
	for (uint32_t i = 0; i < format->layout.dynamic_count; i++)
		require(format->layout.dynamic[i] + 4 <= format->layout.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t text_size = zero ? (size_t)(zero - data) : size;
	size_t left = zero ? size - text_size - 1 : 0;
	char *text = malloc(text_size + 1);
	uint8_t *bytes = malloc(left + 1);
	struct tracepoint_format format;
	struct error err = {0};

	/* Memory that ends with them. */
	if (text_size)
		memcpy(text, data, text_size);
	if (left)
		memcpy(bytes, zero + 1, left);
	if (!tracepoint_format_parse(&format, "a:b", text, text_size, &err)) {
		check_layout(&format);
		for (uint32_t i = 0; i < format.count; i++) {
			struct tracepoint_value value;

			if (!tracepoint_field_read(&format.fields[i], bytes, left, &value) ||
			    !value.text)
				continue;
			require(value.text >= (char *)bytes);
			require(value.text + value.size <= (char *)bytes + left);
		}
	}
	free(text);
	free(bytes);
	return 0;
}
