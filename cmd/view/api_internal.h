/* SPDX-License-Identifier: MIT */
/* Shared by the files that answer requests of front-ends. */
#ifndef PROF_CMD_VIEW_API_INTERNAL_H
#define PROF_CMD_VIEW_API_INTERNAL_H

#include <jansson.h>

#include "cmd/view/api.h"

/* New values; text becomes valid UTF-8. */
json_t *api_text(const char *text, size_t size);
json_t *api_hex(uint64_t value);
/* Reads "0x1f". */
bool api_get_hex(const json_t *object, const char *key, uint64_t *value);
/* The profile with that lib and its module; NULL: none has it. The names may be NULL. */
struct viewed_profile *api_find(const struct api *api, const char *debug_name,
				const char *breakpad_id, module_id *module);

/* Return a new value, or NULL with err. */
json_t *api_symbolicate(const struct api *api, const json_t *request, struct error *err);
json_t *api_assembly(const struct api *api, const json_t *request, struct error *err);

#endif
