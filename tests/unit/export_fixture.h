/* SPDX-License-Identifier: MIT */
/* A profile that a test fills, and the file that the format makes of it. */
#pragma once

#include <jansson.h>

#include "lib/format/format.h"
#include "lib/model/tables/profile.h"

/* meta.start_ns of the profile. */
#define EXPORT_START_NS 5000000000ull

struct exported {
	struct profile *p;
	json_t *root; /* of export_run(), freed with the fixture */
	struct export_options options; /* for export_run() */
	struct export_counts counts; /* of export_run() */
};

/* For cmocka; *state becomes a struct exported. */
int export_setup(void **state);
int export_teardown(void **state);

string_id export_intern(struct exported *f, const char *text);
func_id export_add_func(struct exported *f, module_id module, const char *name, const char *file);
frame_id export_add_frame(struct exported *f, module_id module, func_id func, uint64_t offset);
/* Adds a thread that lives from the start of the recording; a main thread if pid == tid. */
struct profile_thread *export_add_thread(struct exported *f, uint32_t pid, uint32_t tid,
					 const char *name);
/* `time` counts from the start of the recording. */
void export_add_sample(struct profile_thread *row, uint64_t time, stack_id stack, uint32_t cpu);

/* Exports the profile and parses the result. */
json_t *export_run(struct exported *f);
/* Returns the value at "a.b.0.c"; fails the test if there is none. */
json_t *export_at(json_t *value, const char *path);
/* Expects this JSON at the path. */
void export_expect(json_t *root, const char *path, const char *json);
/* Expects the string with this text in row `row` of the column. */
void export_expect_text(json_t *root, const char *column, size_t row, const char *text);
