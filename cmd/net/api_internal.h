/* SPDX-License-Identifier: MIT */
/* Shared by the files that answer requests of front-ends. */
#ifndef PROF_CMD_NET_API_INTERNAL_H
#define PROF_CMD_NET_API_INTERNAL_H

#include <jansson.h>

#include "cmd/net/api.h"
#include "lib/base/strbuf.h"

/* New values; text becomes valid UTF-8. */
json_t *api_text(const char *text, size_t size);
json_t *api_hex(uint64_t value);
/* Reads "0x1f". */
bool api_get_hex(const json_t *object, const char *key, uint64_t *value);
/* The profile with that lib and its module; NULL: none has it. The names may be NULL. */
struct viewed_profile *api_find(const struct api *api, const char *debug_name,
				const char *breakpad_id, module_id *module);
/*
 * The same of a request: "debugName" and "debugId", or, from pages, "lib": its name as prof shows
 * it, with "buildId" where there may be several. NULL with err.
 */
struct viewed_profile *api_find_asked(const struct api *api, const json_t *request,
				      module_id *module, struct error *err);

/* Appends the value, which it takes; -EINVAL for NULL. */
int api_add_value(struct strbuf *out, json_t *value);

/* Append the answer. A negative errno with err: what was appended is not to be sent. */
int api_symbolicate(const struct api *api, const json_t *request, struct strbuf *out,
		    struct error *err);
int api_assembly(const struct api *api, const json_t *request, struct strbuf *out,
		 struct error *err);

#endif
