/* SPDX-License-Identifier: MIT */
#include "cmd/net/store_answer.h"

#include <jansson.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool store_token_is_valid(const char *token)
{
	size_t size = strlen(token);

	return size && size <= STORE_TOKEN_MAX && strspn(token, digits) == size;
}

/* Decodes base64url without padding. Returns the size; `bytes` has room for 3/4 of the text. */
static size_t decode(const char *text, size_t size, char *bytes)
{
	uint32_t bits = 0;
	size_t count = 0;

	for (size_t i = 0; i < size; i++) {
		const char *digit = strchr(digits, text[i]);

		if (!text[i] || !digit)
			return 0;
		bits = bits << 6 | (uint32_t)(digit - digits);
		if (i % 4)
			bytes[count++] = (char)(bits >> (6 - 2 * (i % 4)));
	}
	return count;
}

static bool read_payload(const char *text, size_t size, char token[STORE_TOKEN_MAX + 1])
{
	_cleanup_free_ char *bytes = xmalloc(size + 1);
	json_t *payload = json_loadb(bytes, decode(text, size, bytes), 0, NULL);
	const char *name = json_string_value(json_object_get(payload, "profileToken"));
	bool found = name && store_token_is_valid(name);

	if (found)
		snprintf(token, STORE_TOKEN_MAX + 1, "%s", name);
	json_decref(payload);
	return found;
}

bool store_answer_read(const char *text, size_t size, char token[STORE_TOKEN_MAX + 1])
{
	_cleanup_free_ char *copy = xstrndup(text, size);
	char *payload, *end;

	copy[strcspn(copy, "\r\n")] = '\0';
	payload = strchr(copy, '.');
	end = payload ? strchr(payload + 1, '.') : NULL;
	if (end)
		return read_payload(payload + 1, (size_t)(end - payload - 1), token);
	if (!store_token_is_valid(copy))
		return false;
	snprintf(token, STORE_TOKEN_MAX + 1, "%s", copy);
	return true;
}
