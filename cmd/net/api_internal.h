/* SPDX-License-Identifier: MIT */
/* Shared by the files that answer front-ends' requests. */
#pragma once

#include <jansson.h>

#include "cmd/net/api.h"

/* Make values; the text becomes valid UTF-8. */
json_t *api_text(const char *text, size_t size);
json_t *api_hex(uint64_t value);
/* Parses "0x1f". */
bool api_get_hex(const json_t *object, const char *key, uint64_t *value);
/*
 * Returns the profile that has the lib, and its module; NULL if none has it. The names may be NULL.
 */
struct viewed_profile *api_find(const struct api *api, const char *debug_name,
				const char *breakpad_id, module_id *module);
/*
 * Finds the lib named in a request: by "debugName" and "debugId", or, for pages, by "lib", the name
 * that prof shows, and "buildId" if that is ambiguous. Returns NULL with err set if there is none.
 */
struct viewed_profile *api_find_asked(const struct api *api, const json_t *request,
				      module_id *module, struct error *err);

/* Appends the value and takes its reference. Returns -EINVAL for NULL. */
int api_add_value(struct strbuf *out, json_t *value);

/* Append the answer. After a negative errno with err, discard the appended text. */
int api_symbolicate(const struct api *api, const json_t *request, struct strbuf *out,
		    struct error *err);
int api_assembly(const struct api *api, const json_t *request, struct strbuf *out,
		 struct error *err);
