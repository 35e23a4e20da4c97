/* SPDX-License-Identifier: MIT */
/* Reads whatever a store answers: a name that is found can be a part of a path. */
#include <string.h>

#include "cmd/net/store_answer.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char token[STORE_TOKEN_MAX + 1];

	if (store_answer_read((const char *)data, size, token) &&
	    (!store_token_is_valid(token) || strchr(token, '/')))
		abort();
	return 0;
}
