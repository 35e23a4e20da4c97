/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "lib/base/json/writer.h"
#include "lib/format/format.h"
#include "lib/format/v8_tree.h"

/*
 * V8's own format, used by node, deno and Chrome (--cpu-prof): a tree of functions, and a node of
 * it for each sample. Before version 8 of V8, nodes contain their children, and samples have times
 * instead of the time between them.
 */

/* Bytes of a file that distinguish CPU profiles from heap profiles. */
#define HEAD_SIZE 4096

struct v8_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	struct json_ends *ends;
	struct v8_tree tree;
	/* The times of samples, or between them, which are read along with the samples. */
	struct json_cursor times; /* failed: no more */
	size_t time_count;
	bool are_deltas;
	double last, passed; /* last time; sum of the times between samples that are positive */
	struct v8_samples samples;
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "the CPU profile is damaged: %s", what);
}

/* Finds the time between the next sample and the one before. Returns false if it is unknown. */
static bool next_delta(struct v8_reader *r, double *delta)
{
	struct json_cursor *s = &r->times;
	double time;

	if ((!r->time_count && json_cursor_peek(s) != '[') ||
	    !json_cursor_element(s, r->time_count)) {
		s->failed = true;
		return false;
	}
	time = json_members_number(s);
	*delta = r->are_deltas ? time : r->time_count ? fabs(time - r->last) : 0;
	if (clock_time_from(fabs(*delta) * 1000) == CLOCK_NO_TIME)
		*delta = 0;
	r->last = time;
	r->passed += *delta > 0 ? *delta : 0;
	r->time_count++;
	return true;
}

/* Collects the stacks of samples and their ascending times. */
static int read_samples(struct v8_reader *r, struct span span, struct error *err)
{
	struct json_cursor s = json_cursor_within(&r->s, span);
	struct sample sample = {0};
	double now = 0, delta;
	uint64_t time;

	json_for_each_element(&s, i) {
		uint32_t node = v8_tree_find(&r->tree, (int64_t)json_members_number(&s));

		if (node == INDEX_NONE)
			return damaged(err, "a sample has an index out of range");
		now += next_delta(r, &delta) ? delta : 0;
		time = clock_time_from(now * 1000);
		if (time != CLOCK_NO_TIME && time > sample.time)
			sample.time = time;
		sample.stack = v8_tree_stack(&r->tree, &r->f, node);
		samples_add(&r->samples.rows, &sample);
	}
	while (next_delta(r, &delta))
		;
	return s.failed ? damaged(err, "its samples") : 0;
}

static uint64_t mean_delta(const struct v8_reader *r)
{
	uint64_t mean = 0;

	if (r->time_count)
		mean = clock_time_from(r->passed / (double)r->time_count * 1000);
	return mean ? mean : 1000000;
}

static void add_samples(struct v8_reader *r, thread_id thread)
{
	struct profile_meta *meta = &r->f.profile->meta;
	uint64_t mean = mean_delta(r);

	r->samples.mean = mean;
	r->samples.end = r->f.stated.end;
	meta->interval_ns = r->time_count ? v8_samples_interval(&r->samples) : mean;
	if (meta->interval_ns < mean)
		meta->sample_ticks = (mean + meta->interval_ns / 2) / meta->interval_ns;
	v8_samples_add(&r->samples, &r->f, thread, r->time_count > 0);
}

static void read_end(struct v8_reader *r, struct span start, struct span end)
{
	double length = json_members_number_at(&r->s, end) - json_members_number_at(&r->s, start);
	uint64_t time = clock_time_from(length * 1000);

	if (end.end && time != CLOCK_NO_TIME)
		r->f.stated.end = time;
}

static int read_file(struct v8_reader *r, const char *text, size_t size, struct error *err)
{
	static const char *const names[] = {"nodes",   "samples",    "timeDeltas", "startTime",
					    "endTime", "timestamps", "head",	   NULL};
	struct span spans[7] = {{0}};
	thread_id thread;
	uint64_t last;
	int ret;

	ret = foreign_json(&r->s, text, size, r->ends, err);
	if (ret)
		return ret;
	if (!json_cursor_find(r->s, names, spans) || !spans[1].end)
		return error_text(err, -EBADMSG, "not a V8 CPU profile");
	if (!spans[0].end)
		spans[0] = spans[6];
	if (!spans[0].end)
		return error_text(err, -EBADMSG, "not a V8 CPU profile");
	if (!v8_tree_add(&r->tree, &r->f, json_cursor_within(&r->s, spans[0])))
		return damaged(err, "its nodes");
	r->f.profile->meta.product = xstrdup("V8");
	r->are_deltas = spans[2].end || !spans[5].end;
	r->times = json_cursor_within(&r->s, spans[r->are_deltas ? 2 : 5]);
	thread = foreign_thread(&r->f, 0, 0, "V8", "main", false);
	ret = read_samples(r, spans[1], err);
	if (r->are_deltas)
		read_end(r, spans[3], spans[4]);
	else if (clock_time_from(r->passed * 1000) != CLOCK_NO_TIME)
		r->f.stated.end = clock_time_from(r->passed * 1000);
	last = samples_last_time(&r->samples.rows);
	if (!ret)
		add_samples(r, thread);
	if (r->f.stated.end)
		r->f.stated.end = MAX(r->f.stated.end, last);
	return ret ? ret : foreign_finish(&r->f, r->time_count > 0, err);
}

static int cpuprofile_read(struct profile **p, const char *text, size_t size,
			   struct import_counts *counts, struct error *err)
{
	_cleanup_free_ struct json_ends *ends = xcalloc(1, sizeof(*ends));
	struct v8_reader r = {.ends = ends};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_file(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	v8_tree_release(&r.tree);
	samples_release(&r.samples.rows);
	return ret;
}

static bool cpuprofile_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"nodes", "timeDeltas", NULL};
	static const char *const old[] = {"head", NULL};
	static const char *const others[] = {"meta",	 "threads",  "shared",
					     "profiles", "snapshot", NULL};
	static const char of_heap[] = "\"selfSize\"";

	return json_members_begin(text, size, wanted, others) ||
	       (json_members_begin(text, size, old, others) &&
		!memmem(text, size < HEAD_SIZE ? size : HEAD_SIZE, of_heap, strlen(of_heap)));
}

/* Writing. The nodes are the stacks, below the root. */

enum { NODE_ROOT = 1, NODE_IDLE, NODE_PROGRAM, NODE_STACKS };

struct v8_writer {
	const struct profile *profile;
	struct jsonw json;
	/*
	 * By stack: ticks, as Chrome takes hits for time; the first of the callees, and the next
	 * one of the caller, or NO_STACK.
	 */
	uint64_t *hits;
	stack_id *callees, *siblings;
	bool *is_used;
	stack_id outermost; /* the first one */
};

/* Positions begin with 0 in these files, and with 1 in profiles, where 0 is unknown. */
static void write_place(struct jsonw *json, const char *key, uint32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRId64, (int64_t)number - 1);
	jsonw_key(json, key);
	jsonw_raw_value(json, text, strlen(text));
}

static void begin_node(struct v8_writer *w, uint64_t id, uint64_t hits, const char *name,
		       const char *url, const struct func *func)
{
	struct jsonw *json = &w->json;

	jsonw_object_begin(json);
	jsonw_member(json, "id", u64, id);
	jsonw_member(json, "callFrame", object_begin);
	jsonw_member(json, "functionName", cstring, name);
	jsonw_member(json, "scriptId", cstring, "0");
	jsonw_member(json, "url", cstring, url);
	write_place(json, "lineNumber", func ? func->line : 0);
	write_place(json, "columnNumber", func ? func->column : 0);
	jsonw_object_end(json);
	jsonw_member(json, "hitCount", u64, hits);
	jsonw_member(json, "children", array_begin);
}

static void end_node(struct v8_writer *w, stack_id callee)
{
	for (; callee != NO_STACK; callee = w->siblings[callee])
		jsonw_u64(&w->json, NODE_STACKS + callee);
	jsonw_array_end(&w->json);
	jsonw_object_end(&w->json);
}

static void write_node(struct v8_writer *w, stack_id stack)
{
	const struct profile *p = w->profile;
	const struct frame *frame = profile_frame_of(p, stack);
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	const char *name = func ? strings_get(&p->strings, func->name) : NULL, *url = "";
	char address[32];

	snprintf(address, sizeof(address), "0x%" PRIx64,
		 modules_address(&p->modules, frame->module, frame->offset));
	if (func && func->file != NO_SOURCE_FILE)
		url = strings_get(&p->strings, p->source_files.rows.items[func->file].path);
	else if (frame->module != NO_MODULE)
		url = strings_get(&p->strings, p->modules.rows.items[frame->module].name);
	begin_node(w, NODE_STACKS + stack, w->hits[stack], name ? name : address, url, func);
	end_node(w, w->callees[stack]);
}

static void write_nodes(struct v8_writer *w, uint64_t idle, uint64_t program)
{
	jsonw_member(&w->json, "nodes", array_begin);
	begin_node(w, NODE_ROOT, 0, "(root)", "", NULL);
	jsonw_u64(&w->json, NODE_IDLE);
	jsonw_u64(&w->json, NODE_PROGRAM);
	end_node(w, w->outermost);
	begin_node(w, NODE_IDLE, idle, "(idle)", "", NULL);
	end_node(w, NO_STACK);
	begin_node(w, NODE_PROGRAM, program, "(program)", "", NULL);
	end_node(w, NO_STACK);
	for (stack_id id = 0; id < w->profile->stacks.rows.count; id++) {
		if (w->is_used[id])
			write_node(w, id);
	}
	jsonw_array_end(&w->json);
}

static void use_stack(struct v8_writer *w, stack_id stack)
{
	while (stack != NO_STACK && !w->is_used[stack]) {
		stack_id caller = w->profile->stacks.rows.items[stack].parent;
		stack_id *first = caller == NO_STACK ? &w->outermost : &w->callees[caller];

		w->is_used[stack] = true;
		w->siblings[stack] = *first;
		*first = stack;
		stack = caller;
	}
}

static void write_rows(struct v8_writer *w, const struct scope_rows *rows)
{
	double us = (double)w->profile->meta.interval_ns / 1000;
	uint64_t passed = 0, before = 0;

	jsonw_member(&w->json, "samples", array_begin);
	vec_for_each(&rows->list, const struct scope_row *, row)
		jsonw_u64(&w->json, row->is_gap		     ? NODE_IDLE
				    : row->stack == NO_STACK ? NODE_PROGRAM
							     : NODE_STACKS + row->stack);
	jsonw_array_end(&w->json);
	jsonw_member(&w->json, "timeDeltas", array_begin);
	vec_for_each(&rows->list, const struct scope_row *, row) {
		uint64_t at = (uint64_t)((double)passed * us);

		jsonw_u64(&w->json, at - before);
		before = at;
		passed += row->weight;
	}
	jsonw_array_end(&w->json);
	jsonw_member(&w->json, "startTime", u64, 0);
	jsonw_member(&w->json, "endTime", u64, (uint64_t)((double)passed * us));
}

/* Returns the thread with most samples of the clock; NULL: there is none. */
static const struct profile_thread *heaviest_thread(const struct profile *p)
{
	const struct profile_thread *heaviest = NULL;
	uint64_t most = 0;
	size_t others = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		uint64_t weight = 0;

		samples_for_each(&thread->samples, sample)
			weight += sample->event ? 0 : sample->weight;
		others += weight > 0;
		heaviest = weight > most || !heaviest ? thread : heaviest;
		most = MAX(weight, most);
	}
	if (others > 1)
		log_warn("the file has one thread, that with most samples; --thread chooses "
			 "another one");
	return heaviest;
}

static int cpuprofile_write(const struct profile *p, const struct export_options *options,
			    struct outfile *out, struct export_counts *counts, struct error *err)
{
	const struct profile_thread *thread = heaviest_thread(p);
	struct v8_writer w = {.profile = p, .outermost = NO_STACK};
	size_t count = p->stacks.rows.count + 1;
	uint64_t idle = 0, program = 0;
	struct scope_rows rows = {0};

	if (!thread)
		return error_text(err, -ENODATA, "the recording has no threads");
	w.hits = xcalloc(count, sizeof(*w.hits));
	w.is_used = xcalloc(count, sizeof(*w.is_used));
	w.callees = xcalloc(count, sizeof(*w.callees));
	w.siblings = xcalloc(count, sizeof(*w.siblings));
	for (size_t i = 0; i < count; i++)
		w.callees[i] = NO_STACK;
	scope_rows_collect(&rows, p, thread, 0, !profile_fact(p, FACT_NO_TIMES, NULL));
	vec_for_each(&rows.list, const struct scope_row *, row) {
		*(row->is_gap		   ? &idle
		  : row->stack == NO_STACK ? &program
					   : &w.hits[row->stack]) += row->weight;
		use_stack(&w, row->stack);
	}
	jsonw_init(&w.json, out);
	jsonw_object_begin(&w.json);
	write_nodes(&w, idle, program);
	write_rows(&w, &rows);
	jsonw_object_end(&w.json);
	jsonw_release(&w.json);
	free(w.hits);
	free(w.is_used);
	free(w.callees);
	free(w.siblings);
	vec_release(&rows.list);
	return 0;
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.suffixes = (const char *const[]){".cpuprofile", NULL},
	.is_plain = true,
	.matches = cpuprofile_matches,
	.read = cpuprofile_read,
	.write = cpuprofile_write,
};

/*
 * V8's heap profiles (--heap-prof): a tree of functions with the bytes held by each. The list of
 * samples, if present, contains less: only samples still held, unscaled.
 */

struct heap_node {
	struct span text;
	stack_id parent;
};

struct heap_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	struct json_ends *ends;
	VEC(struct heap_node) open;
	uint8_t event;
	thread_id thread;
};

static bool read_node(struct heap_reader *r, struct heap_node node)
{
	static const char *const names[] = {"callFrame", "selfSize", "children", NULL};
	struct span spans[3] = {{0}};
	struct json_cursor s = json_cursor_within(&r->s, node.text);
	size_t first = r->open.count;
	stack_id stack;
	double bytes;

	if (!json_cursor_find(s, names, spans))
		return false;
	stack = stacks_intern(&r->f.profile->stacks, node.parent, v8_frame(&r->f, &r->s, spans[0]));
	bytes = json_members_number_at(&r->s, spans[1]);
	if (bytes > 0 && bytes < 9e18) {
		foreign_sample(&r->f, r->thread, r->event, r->f.now, stack, (uint64_t)bytes);
		foreign_pass(&r->f, 1);
	}
	if (!spans[2].end)
		return true;
	s = json_cursor_within(&r->s, spans[2]);
	json_for_each_element_if_any(&s, i) {
		struct heap_node child = {.parent = stack};

		if (json_cursor_value(&s, &child.text))
			vec_push(&r->open, child);
	}
	/* The first child comes next. */
	for (size_t last = r->open.count; first + 1 < last; first++, last--) {
		struct heap_node child = r->open.items[first];

		r->open.items[first] = r->open.items[last - 1];
		r->open.items[last - 1] = child;
	}
	return !s.failed;
}

static int read_tree(struct heap_reader *r, const char *text, size_t size, struct error *err)
{
	static const char *const names[] = {"head", NULL};
	struct heap_node head = {.parent = NO_STACK};

	if (foreign_json(&r->s, text, size, r->ends, err))
		return -EBADMSG;
	if (!json_cursor_find(r->s, names, &head.text) || !head.text.end)
		return error_text(err, -EBADMSG, "not a V8 heap profile");
	r->f.profile->meta.product = xstrdup("V8");
	r->event = foreign_measure(&r->f, "heap", "bytes", EVENT_IS_EXACT);
	r->thread = foreign_thread(&r->f, 0, 0, "V8", "main", false);
	vec_push(&r->open, head);
	while (r->open.count) {
		head = vec_last(&r->open);
		r->open.count--;
		if (!read_node(r, head))
			return error_text(err, -EBADMSG,
					  "the heap profile is damaged: invalid nodes");
	}
	return foreign_finish(&r->f, false, err);
}

static int heapprofile_read(struct profile **p, const char *text, size_t size,
			    struct import_counts *counts, struct error *err)
{
	_cleanup_free_ struct json_ends *ends = xcalloc(1, sizeof(*ends));
	struct heap_reader r = {.ends = ends};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_tree(&r, text, size, err);
	foreign_end(&r.f, ret, p);
	vec_release(&r.open);
	return ret;
}

static bool heapprofile_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"head", NULL};
	static const char *const others[] = {"meta", "threads", "shared", "profiles", NULL};

	return json_members_begin(text, size, wanted, others);
}

const struct format format_heapprofile = {
	.name = "heapprofile",
	.suffixes = (const char *const[]){NULL},
	.matches = heapprofile_matches,
	.read = heapprofile_read,
};
