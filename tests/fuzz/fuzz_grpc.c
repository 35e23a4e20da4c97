/* SPDX-License-Identifier: MIT */
/* Reads whatever a server of gRPC answers: lines of its heads, an empty one, and the text. */
#include <string.h>

#include "lib/fleet/grpc.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data, *end = at + size;
	struct grpc_answer a = {0};
	struct strbuf text = {0};
	uint64_t delay_s = 0;
	struct error err = {0};
	int status;

	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		size_t length = line ? (size_t)(line - at) + 1 : (size_t)(end - at);

		if (length == 1 && line) {
			strbuf_add(&text, at + 1, (size_t)(end - at) - 1);
			break;
		}
		grpc_answer_take(&a, at, length);
		at += length;
	}
	status = grpc_answer_judge(&a, 200, &text, &delay_s, &err);
	require(status == 200 || status >= 400 || (status < 0 && *err.text));
	require(delay_s <= 86401 && (status == 200 || !strchr(strbuf_text(&text), '\n')));
	strbuf_release(&text);
	grpc_answer_release(&a);
	return 0;
}
