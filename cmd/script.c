/* SPDX-License-Identifier: MIT */
/* prof script: prints the samples of a profile as lines in the format of perf script. */
#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "cmd/run/profile_file.h"
#include "lib/query/summary.h"
#include "lib/query/copy_rows.h"

static const char name[] = "script";

enum field { COMM, PID, TID, CPU, TIME, PERIOD, EVENT, IP, SYM, DSO, SRCLINE, FIELD_COUNT };

static const char *const field_names[] = {"comm",  "pid", "tid", "cpu", "time",	   "period",
					  "event", "ip",  "sym", "dso", "srcline", NULL};

struct script {
	const char *path, *fields;
	struct query_filter filter;
	bool has[FIELD_COUNT];
	const struct profile *profile;
	struct strbuf *frames; /* lines by frame_id; empty until needed */
	struct strbuf line;
};

/* A sample and its position. */
struct place {
	thread_id thread;
	struct sample sample; /* copy of the sample, because rows move */
};

struct places {
	VEC(struct place) rows;
	VEC(struct radix_row) times;
};

static int set_fields(struct script *c, struct error *err)
{
	static const char by_default[] = "comm,pid,tid,cpu,time,period,event,ip,sym,dso";
	_cleanup_free_ char *list = xstrdup(c->fields ? c->fields : by_default);
	char *rest = list, *field;

	while ((field = strsep(&rest, ","))) {
		size_t i = 0;

		while (field_names[i] && strcmp(field, field_names[i]) != 0)
			i++;
		if (!field_names[i])
			return error_text(
				err, -EINVAL,
				"--fields %s: unknown field; use comm, pid, tid, cpu, time, period, "
				"event, ip, sym, dso or srcline",
				field);
		c->has[i] = true;
	}
	return 0;
}

#define AT(member) OPTION_AT(script, member)

static const struct option_row rows[] = {
	{'F', "fields", "LIST",
	 "what to print: comm,pid,tid,cpu,time,period,event,ip,sym,dso\n"
	 "(the default), srcline",
	 OPTION_WORD, AT(fields)},
	{0},
};

static void make_table(struct option_table *t, void *ctx)
{
	struct script *c = ctx;

	t->usage = "Usage: prof script [OPTION]... [FILE]\n"
		   "Print the samples of a profile one by one, as perf script does.\n"
		   "\n";
	t->take = command_take_file;
	t->file = &c->path;
	option_table_add(t, rows, c);
	option_table_add(t, option_common, NULL);
	option_table_add(t, query_options, &c->filter);
	t->after = "\n"
		   "FILE is a profile, compressed or not, or a capture; - is stdin.\n"
		   "Exit status: 0, 125 if the file cannot be used, 2 for a usage error.\n";
}

static void add_text(struct strbuf *out, const char *text)
{
	_cleanup_free_ char *safe = xstrdup(text);

	text_to_line(safe);
	strbuf_adds(out, safe);
}

/* Prints an inlined function with the module of the code that contains it. */
static void add_module(const struct script *c, const struct frame *frame, struct strbuf *out)
{
	const struct profile *p = c->profile;
	const struct module *module;

	strbuf_adds(out, " (");
	if (frame->inline_depth) {
		strbuf_adds(out, "inlined");
	} else if (frame->module == NO_MODULE) {
		strbuf_adds(out, "[unknown]");
	} else {
		module = &p->modules.rows.items[frame->module];
		add_text(out, strings_get(&p->strings, strings_size(&p->strings, module->path)
							       ? module->path
							       : module->name));
	}
	strbuf_addch(out, ')');
}

static const struct strbuf *frame_line(const struct script *c, frame_id id)
{
	const struct profile *p = c->profile;
	const struct frame *frame = &p->frames.rows.items[id];
	const struct func *func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	struct strbuf *out = &c->frames[id];

	if (out->size)
		return out;
	strbuf_addch(out, '\t');
	if (c->has[IP])
		strbuf_addf(out, "%16" PRIx64 " ",
			    modules_address(&p->modules, frame->module, frame->offset));
	if (c->has[SYM] && func && func->is_named && strings_size(&p->strings, func->name))
		add_text(out, strings_get(&p->strings, func->name));
	else if (c->has[SYM])
		strbuf_adds(out, "[unknown]");
	if (c->has[DSO])
		add_module(c, frame, out);
	strbuf_addch(out, '\n');
	if (c->has[SRCLINE] && func && func->file != NO_SOURCE_FILE) {
		strbuf_adds(out, "  ");
		add_text(out,
			 strings_get(&p->strings, p->source_files.rows.items[func->file].path));
		strbuf_addf(out, ":%u\n", frame->line ? frame->line : func->line);
	}
	return out;
}

static void add_head(const struct script *c, const struct profile_thread *thread,
		     const struct sample *sample, struct strbuf *out)
{
	const struct profile *p = c->profile;
	uint64_t micros = (sample->time + 500) / 1000;

	if (c->has[COMM]) {
		add_text(out, strings_get(&p->strings, thread->name));
		strbuf_addch(out, ' ');
	}
	if (c->has[PID])
		strbuf_addf(out, "%u%s", thread->pid, c->has[TID] ? "/" : " ");
	if (c->has[TID])
		strbuf_addf(out, "%u ", thread->tid);
	if (c->has[CPU] && sample->cpu != NO_CPU)
		strbuf_addf(out, "[%03u] ", sample->cpu);
	if (c->has[TIME])
		strbuf_addf(out, "%" PRIu64 ".%06" PRIu64 ": ", micros / 1000000, micros % 1000000);
	if (c->has[PERIOD])
		strbuf_addf(out, "%10" PRIu64 " ",
			    (uint64_t)sample->weight * (sample->event ? 1 : p->meta.interval_ns));
	if (c->has[EVENT]) {
		add_text(out, sample->event ? query_event_name(p, sample->event) : "cpu-clock");
		strbuf_adds(out, ": ");
	}
}

static void print_sample(struct script *c, const struct place *place)
{
	const struct profile *p = c->profile;
	bool has_stack = c->has[IP] || c->has[SYM] || c->has[DSO] || c->has[SRCLINE];

	strbuf_reset(&c->line);
	add_head(c, &p->threads.rows.items[place->thread], &place->sample, &c->line);
	strbuf_addch(&c->line, '\n');
	for (stack_id id = place->sample.stack; has_stack && id != NO_STACK;
	     id = p->stacks.rows.items[id].parent) {
		const struct strbuf *line = frame_line(c, p->stacks.rows.items[id].frame);

		strbuf_add(&c->line, line->text, line->size);
	}
	if (has_stack)
		strbuf_addch(&c->line, '\n');
	fwrite(c->line.text, 1, c->line.size, stdout);
}

static void find_places(const struct profile *p, struct places *places)
{
	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		samples_for_each(&p->threads.rows.items[id].samples, sample) {
			if (!sample->weight || places->rows.count == UINT32_MAX)
				continue;
			vec_push(&places->times,
				 (struct radix_row){sample->time, (uint32_t)places->rows.count});
			vec_push(&places->rows, (struct place){id, *sample});
		}
	}
	if (places->times.count)
		radix_sort(places->times.items, places->times.count);
}

static int print_all(struct script *c, struct error *err)
{
	const struct profile *p = c->profile;
	struct places places = {0};
	int ret = 0;

	find_places(p, &places);
	if (!places.rows.count)
		ret = error_text(err, -ENODATA, "no matching samples");
	c->frames = xcalloc(p->frames.rows.count + 1, sizeof(*c->frames));
	for (size_t i = 0; i < places.times.count && !ferror(stdout); i++)
		print_sample(c, &places.rows.items[places.times.items[i].value]);
	if (!ret && (fflush(stdout) || ferror(stdout)))
		ret = error_set(err, errno == EPIPE ? -EPIPE : -EIO,
				"cannot write standard output");
	for (size_t i = 0; i < p->frames.rows.count; i++)
		strbuf_release(&c->frames[i]);
	free(c->frames);
	strbuf_release(&c->line);
	vec_release(&places.rows);
	vec_release(&places.times);
	return ret;
}

static int script(struct script *c, struct error *err)
{
	struct narrow_counts counts = {0};
	struct profile_file file;
	struct profile *p = NULL;
	const struct profile *whole;
	int ret = profile_file_load(&file, c->path ? c->path : PROFILE_PATH, NULL, err);

	if (ret)
		return ret;
	whole = file.profile;
	c->filter.all_events = !c->filter.event;
	ret = narrow(&p, &whole, 1, &c->filter, &counts, err);
	c->profile = p;
	if (!ret)
		ret = print_all(c, err);
	if (ret == -ENODATA)
		heaviest_names_hint(err, whole, &c->filter);
	profile_free(p);
	profile_file_release(&file);
	/* The reader has closed the pipe early. */
	return ret == -EPIPE ? 0 : ret;
}

static int run(int argc, char **argv)
{
	struct script c = {.filter = QUERY_FILTER_ALL};
	struct error err = {0};
	int ret = command_parse(argc, argv, make_table, &c, &err) ?: set_fields(&c, &err);

	if (ret)
		return command_fail_usage(name, &err);
	return script(&c, &err) ? command_fail(name, EXIT_REFUSED, &err) : 0;
}

const struct command command_script = {
	.name = name,
	.summary = "print the samples of a profile as perf script does",
	.options = make_table,
	.run = run,
};
