/* SPDX-License-Identifier: MIT */
/*
 * speedscope's own format: a profile a thread with its samples in the order of time; samples of
 * each other event are a profile of their own. Weights of the clock are milliseconds.
 */
#include "lib/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/index.h"
#include "lib/base/text.h"
#include "lib/format/speedscope_read.h"
#include "lib/base/json/writer.h"

/* Functions with the same name and file are one. */
struct speedscope_frame {
	string_id name, file; /* of `strings` below */
	uint32_t line;
};

struct speedscope {
	const struct profile *profile;
	struct strings strings;
	VEC(struct speedscope_frame) frames;
	struct index index;
	uint32_t *of_frames; /* by frame_id */
	struct jsonw json;
};

static bool frame_equal(const void *table, uint32_t id, const void *key)
{
	const struct speedscope_frame *row = &((const struct speedscope *)table)->frames.items[id];
	const struct speedscope_frame *wanted = key;

	return row->name == wanted->name && row->file == wanted->file && row->line == wanted->line;
}

static uint32_t intern(struct speedscope *w, const struct speedscope_frame *frame)
{
	uint64_t hash = hash_pair(hash_pair(frame->name, frame->file), frame->line);
	uint32_t id = index_find(&w->index, hash, frame_equal, w, frame);

	if (id != INDEX_NONE)
		return id;
	id = (uint32_t)w->frames.count;
	vec_push(&w->frames, *frame);
	index_add(&w->index, hash, id);
	return id;
}

static string_id text_of(struct speedscope *w, string_id id)
{
	return strings_intern(&w->strings, strings_get(&w->profile->strings, id));
}

static struct speedscope_frame make_frame(struct speedscope *w, const struct frame *frame)
{
	const struct profile *p = w->profile;
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	struct speedscope_frame row = {.file = NO_STRING};
	char address[32];

	if (func) {
		row.name = text_of(w, func->name);
		row.line = func->line;
	} else {
		snprintf(address, sizeof(address), "0x%" PRIx64,
			 modules_address(&p->modules, frame->module, frame->offset));
		row.name = strings_intern(&w->strings, address);
	}
	if (func && func->file != NO_SOURCE_FILE)
		row.file = text_of(w, p->source_files.rows.items[func->file].path);
	else if (frame->module != NO_MODULE)
		row.file = text_of(w, p->modules.rows.items[frame->module].name);
	return row;
}

static void make_frames(struct speedscope *w)
{
	const struct profile *p = w->profile;

	w->of_frames = xcalloc(p->frames.rows.count + 1, sizeof(*w->of_frames));
	for (frame_id id = 0; id < p->frames.rows.count; id++) {
		struct speedscope_frame row = make_frame(w, &p->frames.rows.items[id]);

		w->of_frames[id] = intern(w, &row);
	}
}

static void write_string(struct jsonw *w, const char *key, const char *text)
{
	jsonw_key(w, key);
	jsonw_cstring(w, text);
}

static void write_raw(struct jsonw *w, const char *text)
{
	jsonw_raw_begin(w);
	jsonw_raw(w, text, strlen(text));
}

static void write_number(struct jsonw *w, double value)
{
	char text[40];

	snprintf(text, sizeof(text), "%.12g", value);
	write_raw(w, text);
}

static void write_frames(struct speedscope *w)
{
	struct jsonw *json = &w->json;

	jsonw_key(json, "shared");
	jsonw_object_begin(json);
	jsonw_key(json, "frames");
	jsonw_array_begin(json);
	vec_for_each(&w->frames, const struct speedscope_frame *, frame) {
		jsonw_object_begin(json);
		write_string(json, "name", strings_get(&w->strings, frame->name));
		if (frame->file != NO_STRING)
			write_string(json, "file", strings_get(&w->strings, frame->file));
		if (frame->line) {
			jsonw_key(json, "line");
			write_number(json, frame->line);
		}
		jsonw_object_end(json);
	}
	jsonw_array_end(json);
	jsonw_object_end(json);
}

static void write_stack(struct speedscope *w, stack_id stack)
{
	const struct stack *stacks = w->profile->stacks.rows.items;
	VEC(uint32_t) path = {0};

	for (; stack != NO_STACK; stack = stacks[stack].parent)
		vec_push(&path, w->of_frames[stacks[stack].frame]);
	jsonw_array_begin(&w->json);
	while (path.count) {
		char text[16];

		snprintf(text, sizeof(text), "%" PRIu32, path.items[--path.count]);
		write_raw(&w->json, text);
	}
	jsonw_array_end(&w->json);
	vec_release(&path);
}

/* The sum of weights in the profile's unit. */
static double write_samples(struct speedscope *w, const struct profile_thread *thread,
			    uint8_t event, double unit)
{
	uint64_t sum = 0;

	jsonw_key(&w->json, "samples");
	jsonw_array_begin(&w->json);
	samples_for_each(&thread->samples, sample) {
		if (sample->event == event)
			write_stack(w, sample->stack);
	}
	jsonw_array_end(&w->json);
	jsonw_key(&w->json, "weights");
	jsonw_array_begin(&w->json);
	samples_for_each(&thread->samples, sample) {
		if (sample->event != event)
			continue;
		write_number(&w->json, sample->weight * unit);
		sum += sample->weight;
	}
	jsonw_array_end(&w->json);
	return (double)sum * unit;
}

static void write_profile(struct speedscope *w, const struct profile_thread *thread, uint8_t event)
{
	const struct profile *p = w->profile;
	const char *event_name = event ? strings_get(&p->strings, p->events.rows.items[event].name)
				       : "";
	bool is_time = !event && p->meta.interval_ns;
	double unit = is_time ? (double)p->meta.interval_ns / 1e6 : 1, sum;
	_cleanup_free_ char *name = xasprintf("%s %" PRIu32 ": %s %" PRIu32 "%s%s",
					      strings_get(&p->strings, thread->process_name),
					      thread->pid, strings_get(&p->strings, thread->name),
					      thread->tid, event ? ", " : "", event_name);

	jsonw_object_begin(&w->json);
	write_string(&w->json, "type", "sampled");
	write_string(&w->json, "name", name);
	write_string(&w->json, "unit",
		     is_time				    ? "milliseconds"
		     : text_ends_with(event_name, "/bytes") ? "bytes"
							    : "none");
	sum = write_samples(w, thread, event, unit);
	jsonw_key(&w->json, "startValue");
	write_number(&w->json, 0);
	jsonw_key(&w->json, "endValue");
	write_number(&w->json, sum);
	jsonw_object_end(&w->json);
}

static void write_profiles(struct speedscope *w)
{
	jsonw_key(&w->json, "profiles");
	jsonw_array_begin(&w->json);
	vec_for_each(&w->profile->threads.rows, const struct profile_thread *, thread) {
		bool has[UINT8_MAX + 1] = {false};

		samples_for_each(&thread->samples, sample)
			has[sample->event] = true;
		for (size_t event = 0; event <= UINT8_MAX; event++) {
			if (has[event] && (!event || event < w->profile->events.rows.count))
				write_profile(w, thread, (uint8_t)event);
		}
	}
	jsonw_array_end(&w->json);
}

static int speedscope_write(const struct profile *p, const struct export_options *options,
			    struct outfile *out, struct export_counts *counts, struct error *err)
{
	struct speedscope w = {.profile = p};

	(void)options;
	(void)counts;
	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
	make_frames(&w);
	jsonw_init(&w.json, out);
	jsonw_object_begin(&w.json);
	write_string(&w.json, "$schema", "https://www.speedscope.app/file-format-schema.json");
	write_string(&w.json, "exporter", "prof");
	write_string(&w.json, "name", p->meta.product ? p->meta.product : "profile");
	write_frames(&w);
	write_profiles(&w);
	jsonw_object_end(&w.json);
	jsonw_release(&w.json);
	strings_release(&w.strings);
	vec_release(&w.frames);
	index_release(&w.index);
	free(w.of_frames);
	return 0;
}

const struct format format_speedscope = {
	.name = "speedscope",
	.suffixes = (const char *const[]){".speedscope.json", ".speedscope", NULL},
	.is_timeline = true,
	.is_plain = true,
	.matches = speedscope_matches,
	.read = speedscope_read,
	.write = speedscope_write,
};
