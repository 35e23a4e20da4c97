/* SPDX-License-Identifier: MIT */
/*
 * Attributes that a process gives itself in its environment, by OpenTelemetry's conventions: which
 * service it is, of which version, where it was deployed. Of all attributes, only those whose names
 * begin with "service.", "deployment." or "k8s." are kept.
 */
#ifndef PROF_LIB_STREAM_PROCESS_RESOURCE_H
#define PROF_LIB_STREAM_PROCESS_RESOURCE_H

#include <stdbool.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

#define RESOURCE_SERVICE_NAME "service.name"
/* Attributes that are kept, and bytes of each value. */
#define RESOURCE_ATTRIBUTES_MAX 16
#define RESOURCE_VALUE_MAX 255
/* Longest text that resource_write() makes; each byte of a value may take three. */
#define RESOURCE_TEXT_MAX 4096

struct resource_attribute {
	char *key, *value; /* owned; printable */
};

struct resource {
	VEC(struct resource_attribute) rows; /* by key, each once */
};

/*
 * Adds the attributes of a text "key=value,…" in which special characters are %XX, as in
 * OTEL_RESOURCE_ATTRIBUTES; the last value of a key counts. False: the text is wrong, and nothing
 * is added.
 */
bool resource_parse(struct resource *r, const char *text, size_t size);
/* Takes them from an environment: NAME=VALUE, each terminated; a last one that is cut is ignored.
 */
void resource_parse_environment(struct resource *r, const char *text, size_t size);
/* Writes what resource_parse() reads: equal resources have equal texts. */
void resource_write(const struct resource *r, struct strbuf *out);
void resource_release(struct resource *r);

#endif
