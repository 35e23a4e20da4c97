/* SPDX-License-Identifier: MIT */
/*
 * Resource attributes in a process's environment, by OpenTelemetry's conventions: service, version
 * and deployment. Keeps only attributes whose names begin with "service.", "deployment." or "k8s.".
 */
#pragma once

#include "lib/base/base.h"

#define RESOURCE_SERVICE_NAME "service.name"
/* Limits of kept attributes, and of the bytes of each value. */
#define RESOURCE_ATTRIBUTES_MAX 16
#define RESOURCE_VALUE_MAX 255
/* Maximum length of resource_write()'s text; each byte of a value may take three. */
#define RESOURCE_TEXT_MAX 4096

struct resource_attribute {
	char *key, *value; /* owned; printable */
};

struct resource {
	VEC(struct resource_attribute) rows; /* sorted by key, without duplicates */
};

/*
 * Adds the attributes of a text "key=value,…" with special characters as %XX, as in
 * OTEL_RESOURCE_ATTRIBUTES; the last value of a key wins. Returns false and adds nothing if the
 * text is malformed.
 */
bool resource_parse(struct resource *r, const char *text, size_t size);
/*
 * Parses the attributes in an environment: NAME=VALUE, each terminated; ignores a truncated last
 * variable.
 */
void resource_parse_environment(struct resource *r, const char *text, size_t size);
/* Writes attributes in the form that resource_parse() reads: equal resources have equal texts. */
void resource_write(const struct resource *r, struct strbuf *out);
void resource_release(struct resource *r);
