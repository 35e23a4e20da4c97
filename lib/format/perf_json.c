/* SPDX-License-Identifier: MIT */
/* JSON of perf data convert --to-json: samples with stacks, without events and periods. */
#include "lib/format/format.h"

#include "lib/format/foreign.h"

struct json_reader {
	struct foreign f;
	struct json_cursor s; /* cursor over the whole text */
	VEC(frame_id) path; /* innermost frame first */
};

static int damaged(struct error *err, const char *what)
{
	return error_text(err, -EBADMSG, "perf's JSON is damaged: %s", what);
}

static void read_frame(struct json_reader *r, struct json_cursor s)
{
	static const char *const names[] = {"ip", "symbol", "dso", NULL};
	struct span spans[3] = {{0}};
	_cleanup_free_ char *ip = NULL, *symbol = NULL, *dso = NULL;
	struct foreign_frame frame = {.module = NO_MODULE};

	json_cursor_find(s, names, spans);
	ip = json_members_text_at(&r->s, spans[0]);
	symbol = json_members_text_at(&r->s, spans[1]);
	dso = json_members_text_at(&r->s, spans[2]);
	text_to_line(symbol);
	text_to_line(dso);
	frame.address = strtoull(ip, NULL, 16);
	frame.is_kernel = frame.address >> 63;
	frame.name = symbol;
	frame.module = foreign_module(&r->f, dso, "");
	/* The address is not in the file. */
	if (*symbol)
		frame.address = 0;
	else
		frame.module = NO_MODULE;
	vec_push(&r->path, foreign_frame(&r->f, &frame));
}

static uint32_t read_id(const struct json_reader *r, struct span span)
{
	double number = json_members_number_at(&r->s, span);

	return number >= 0 && number <= INT32_MAX ? (uint32_t)number : 0;
}

static uint64_t read_time(const struct json_reader *r, struct span span)
{
	struct json_cursor s = json_cursor_within(&r->s, span);
	int64_t time;

	if (!span.end || !json_cursor_i64(&s, &time) || time < 0)
		return CLOCK_NO_TIME;
	return clock_can_show((uint64_t)time) ? (uint64_t)time : CLOCK_NO_TIME;
}

static int read_sample(struct json_reader *r, struct json_cursor s, struct error *err)
{
	static const char *const names[] = {"timestamp", "pid", "tid", "comm",
					    "callchain", "cpu", NULL};
	struct span spans[6] = {{0}};
	struct sample sample = {.stack = NO_STACK, .cpu = NO_CPU};
	uint32_t pid, tid;
	_cleanup_free_ char *comm = NULL;
	double cpu;

	if (!json_cursor_find(s, names, spans))
		return damaged(err, "a sample");
	comm = json_members_text_at(&r->s, spans[3]);
	text_to_line(comm);
	sample.time = read_time(r, spans[0]);
	/* -1: the file has no CPUs of this event. */
	cpu = json_members_number_at(&r->s, spans[5]);
	if (spans[5].end && cpu >= 0 && cpu < NO_CPU)
		sample.cpu = (uint16_t)cpu;
	vec_clear(&r->path);
	if (spans[4].end) {
		s = json_cursor_within(&r->s, spans[4]);
		json_for_each_element_if_any(&s, i)
			read_frame(r, s);
	}
	while (r->path.count)
		sample.stack = stacks_intern(&r->f.profile->stacks, sample.stack,
					     r->path.items[--r->path.count]);
	pid = read_id(r, spans[1]);
	tid = read_id(r, spans[2]);
	foreign_add(&r->f, foreign_thread(&r->f, pid, tid, pid == tid ? comm : NULL, comm, false),
		    &sample, 1);
	return 0;
}

static int read_whole(struct json_reader *r, const char *text, size_t size, struct error *err)
{
	static const char *const names[] = {"samples", "headers", NULL};
	static const char *const headers[] = {"os-release", "cpu-desc", NULL};
	struct span spans[2] = {{0}}, of_headers[2] = {{0}};
	struct profile_meta *meta = &r->f.profile->meta;
	struct json_cursor s;
	int ret = foreign_json(&r->s, text, size, NULL, err);

	if (ret)
		return ret;
	if (!json_cursor_find(r->s, names, spans) || !spans[0].end)
		return damaged(err, "it has no samples");
	meta->product = xstrdup("perf");
	if (spans[1].end) {
		json_cursor_find(json_cursor_within(&r->s, spans[1]), headers, of_headers);
		meta->os = json_members_text_at(&r->s, of_headers[0]);
		meta->cpu_name = json_members_text_at(&r->s, of_headers[1]);
		text_to_line(meta->os);
		text_to_line(meta->cpu_name);
	}
	s = json_cursor_within(&r->s, spans[0]);
	for (size_t i = 0; !ret && json_cursor_element(&s, i); i++)
		ret = read_sample(r, s, err);
	if (!ret && s.failed)
		ret = damaged(err, "its samples");
	if (ret)
		return ret;
	foreign_guess_interval(&r->f);
	return foreign_finish(&r->f, true, err);
}

static int perf_json_read(struct profile **p, const char *text, size_t size,
			  struct import_counts *counts, struct error *err)
{
	struct json_reader r = {.path = {0}};
	int ret;

	foreign_init(&r.f, counts);
	ret = read_whole(&r, text, size, err);
	foreign_name_processes(&r.f);
	foreign_end(&r.f, ret, p);
	vec_release(&r.path);
	return ret;
}

static bool perf_json_matches(const char *text, size_t size)
{
	static const char *const wanted[] = {"linux-perf-json-version", NULL};
	static const char *const others[] = {"meta", "threads", "shared", "profiles", NULL};

	return json_members_begin(text, size, wanted, others);
}

const struct format format_perf_json = {
	.name = "perf-json",
	.suffixes = (const char *const[]){NULL},
	.is_timeline = true,
	.has_linker_names = true,
	.matches = perf_json_matches,
	.read = perf_json_read,
};
