/* SPDX-License-Identifier: MIT */
/* Names of processes, and the attributes of their services. */
#pragma once

#include "lib/base/base.h"

/*
 * Names of processes. A process is named after its first thread, which exec names after the
 * program. If a program renames all its threads, including the first one ("MainThread"), the
 * process keeps the program's name. A name is meant for the process if it is a title, which also
 * replaces the arguments, or if it begins with the program's name ("tmux: server"). A process
 * forked without an exec may also be renamed, because nothing else distinguishes it from its
 * parent.
 */

/* Kernel task flag: forked, without an exec since. */
#define TASK_FORKED_NO_EXEC 0x40

/*
 * True if `name`, given to a program's first thread, also names the process. `program` is the
 * previous name, or that of the executed file; "": unknown, any name fits. `arguments` are `size`
 * bytes of terminated strings; 0: unknown. The kernel may have truncated both names.
 */
bool process_name_fits(const char *name, const char *program, const char *arguments, size_t size);

/*
 * Resource attributes of a process, by OpenTelemetry's conventions: service, version and
 * deployment. Keeps only attributes whose names begin with "service.", "deployment." or "k8s.".
 */

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
/* Adds the strings of a ProcessContext, a message that the process has published: untrusted. */
void resource_parse_context(struct resource *r, const void *data, size_t size);
/* Adds copies of all attributes; they replace those of the same key. */
void resource_add_all(struct resource *r, const struct resource *more);
/* Writes attributes in the form that resource_parse() reads: equal resources have equal texts. */
void resource_write(const struct resource *r, struct strbuf *out);
void resource_release(struct resource *r);
