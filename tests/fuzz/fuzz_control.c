/* SPDX-License-Identifier: MIT */
/* Answers whatever is sent to a control socket. */
#include <string.h>

#include "cmd/elevate/control_socket.h"
#include "tests/fuzz/input.h"

static json_t *answer(void *ctx, const char *command, const json_t *request)
{
	return json_pack("{s:s}", *command == 'x' ? "error" : "state", "some text");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (size > CONTROL_LINE_MAX)
		return 0;
	text = control_answer_line((const char *)data, size, answer, NULL);
	/* An answer is one line. */
	if (!text || !strstr(text, "\"ok\":") || strchr(text, '\n'))
		abort();
	free(text);
	return 0;
}
