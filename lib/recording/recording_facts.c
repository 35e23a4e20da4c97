/* SPDX-License-Identifier: MIT */
#include "lib/recording/recording_facts.h"

#include "lib/live/unwind_methods.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/stream/record/records.h"

/* Returns the main thread of the executed process: the first thread of that pid. */
static thread_id find_thread(const struct profile *p, uint32_t pid)
{
	thread_id found = NO_THREAD;

	for (thread_id id = 0; id < p->threads.rows.count; id++) {
		const struct profile_thread *thread = &p->threads.rows.items[id];

		if (thread->pid == pid && thread->is_main &&
		    (found == NO_THREAD ||
		     thread->incarnation < p->threads.rows.items[found].incarnation))
			found = id;
	}
	return found;
}

/* Sets the process's start to its exec: all runs were forked at once, and waited. */
static void begin_process(struct profile *p, thread_id main, uint64_t start)
{
	const struct profile_thread of = *threads_get(&p->threads, main);

	vec_for_each(&p->threads.rows, struct profile_thread *, thread) {
		if (thread->pid != of.pid || thread->incarnation != of.incarnation)
			continue;
		thread->process_start = MAX(thread->process_start, start);
		thread->start = MAX(thread->start, start);
	}
}

void run_fact_add_marker(const struct run_fact *run, struct profile *p)
{
	struct run_marker marker = {
		.start = run->start_ns,
		.end = run->end_ns,
		.iteration = run->iteration,
		.variant = NO_STRING,
		.variant_number = run->variant_number,
		.status = run->status,
		.cpu_ns = run->cpu_ns,
		.looks = run->looks,
		.seed = run->seed,
	};
	thread_id thread = find_thread(p, run->pid);

	if (thread == NO_THREAD)
		return;
	/* Prefer the kernel's end time to the recorder's. */
	if (p->threads.rows.items[thread].process_end > run->start_ns)
		marker.end = p->threads.rows.items[thread].process_end;
	if (run->variant)
		marker.variant = strings_intern(&p->strings, run->variant);
	begin_process(p, thread, run->start_ns);
	run_marker_add(p, thread, &marker);
}

#define NUMBERS 9

/* Prints the numbers, then the variant's name, if any. */
void run_fact_print(const struct run_fact *run, struct strbuf *out)
{
	const uint64_t numbers[NUMBERS] = {
		run->pid,  run->iteration, run->variant_number, run->status, run->looks,
		run->seed, run->start_ns,  run->end_ns,		run->cpu_ns,
	};

	for (size_t i = 0; i < NUMBERS; i++)
		strbuf_addf(out, "%s%" PRIu64, i ? " " : "", numbers[i]);
	if (run->variant)
		strbuf_addf(out, " %s", run->variant);
}

bool run_fact_parse(struct run_fact *run, const char *text)
{
	uint64_t numbers[NUMBERS];

	for (size_t i = 0; i < NUMBERS; i++) {
		char digits[24] = {0};
		size_t size = strcspn(text, " ");

		if (size >= sizeof(digits))
			return false;
		memcpy(digits, text, size);
		if (!text_to_u64(digits, 10, &numbers[i]))
			return false;
		text += size;
		if (*text)
			text++;
	}
	*run = (struct run_fact){
		.pid = (uint32_t)numbers[0],
		.iteration = (uint32_t)numbers[1],
		.variant = *text ? text : NULL,
		.variant_number = (uint32_t)numbers[2],
		.status = (uint32_t)numbers[3],
		.looks = (uint32_t)numbers[4],
		.seed = numbers[5],
		.start_ns = numbers[6],
		.end_ns = numbers[7],
		.cpu_ns = numbers[8],
	};
	return run->end_ns >= run->start_ns;
}

/* Maximum number of rows of one kind, against hostile captures. */
#define ROWS_MAX 4096
#define KERNEL_SYMBOLS_MAX (1u << 20)
/* Maximum size of a value, above any command line. */
#define VALUE_MAX ((size_t)256 << 10)
/* Maximum size of all values, above a million kernel symbols. */
#define BYTES_MAX ((uint64_t)128 << 20)

enum meta_type {
	META_TEXT, /* char * */
	META_U32,
	META_U64,
	META_BOOL,
};

struct meta_field {
	const char *key;
	enum meta_type type;
	size_t offset; /* offset in struct recording_facts */
};

/* clang-format off */
#define META(key, type, member) {key, type, offsetof(struct recording_facts, member)}
/* clang-format on */

static const struct meta_field begin_fields[] = {
	META("prof", META_TEXT, version),
	META("output", META_TEXT, output),
	META("product", META_TEXT, meta.product),
	META("command-line", META_TEXT, meta.command_line),
	META("os", META_TEXT, meta.os),
	META("distribution", META_TEXT, meta.distribution),
	META("abi", META_TEXT, meta.abi),
	META("cpu-name", META_TEXT, meta.cpu_name),
	META("root-pid", META_U32, meta.root_pid),
	META("physical-cpus", META_U32, meta.physical_cpus),
	META("logical-cpus", META_U32, meta.logical_cpus),
	META("memory-bytes", META_U64, meta.memory_bytes),
	META("start-ns", META_U64, meta.start_ns),
	META("start-realtime-ns", META_U64, meta.start_realtime_ns),
	META("interval-ns", META_U64, meta.interval_ns),
	META("duration-limit-ns", META_U64, meta.duration_limit_ns),
	META("buffer-bytes", META_U64, meta.buffer_bytes),
	META("subject", META_U32, subject),
	META("per-cpu", META_BOOL, per_cpu),
};

static const struct meta_field end_fields[] = {
	META("end.sampled-cpus", META_U32, info.cpu_count),
	META("end.interval-ns", META_U64, info.interval_ns),
	META("end.ring-bytes", META_U64, info.ring_bytes),
	META("end.start-ns", META_U64, info.start_ns),
	META("end.start-realtime-ns", META_U64, info.start_realtime_ns),
	META("end.end-ns", META_U64, info.end_ns),
	META("end.written-bytes", META_U64, info.written_bytes),
	META("end.dropped-files", META_U32, info.dropped_files),
	META("end.backlog-bytes", META_U64, info.backlog_bytes),
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

void recording_facts_release(struct recording_facts *f)
{
	for (size_t i = 0; i < COUNT_OF(begin_fields); i++) {
		if (begin_fields[i].type == META_TEXT)
			free(*(char **)((char *)f + begin_fields[i].offset));
	}
	vec_for_each(&f->meta.features, char **, text)
		free(*text);
	vec_for_each(&f->meta.filters, char **, text)
		free(*text);
	vec_release(&f->meta.features);
	vec_release(&f->meta.filters);
	kernel_table_free(f->kernel);
	report_release(&f->report);
	vec_release(&f->runs);
	vec_for_each(&f->texts, char **, text)
		free(*text);
	vec_release(&f->texts);
	*f = (struct recording_facts){0};
}

/* Sending. */

struct sender {
	record_sink_fn *sink;
	void *ctx;
	uint64_t time;
};

static void send(const struct sender *s, const char *key, const void *value, size_t size)
{
	size_t key_size = strlen(key);
	size_t bytes;
	_cleanup_free_ struct rec_meta *rec = NULL;

	size = MIN(size, VALUE_MAX);
	bytes = rec_meta_size(key_size, size);
	rec = xcalloc(1, bytes);
	record_init(&rec->rec, REC_META, bytes, s->time, 0, 0);
	rec->key_size = (uint32_t)key_size;
	rec->value_size = (uint32_t)size;
	memcpy(rec->text, key, key_size);
	memcpy(rec->text + key_size, value, size);
	s->sink(s->ctx, &rec->rec);
}

static void send_text(const struct sender *s, const char *key, const char *text)
{
	if (text)
		send(s, key, text, strlen(text));
}

static void send_number(const struct sender *s, const char *key, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	send_text(s, key, text);
}

static void send_fields(const struct sender *s, const struct recording_facts *f,
			const struct meta_field *fields, size_t count)
{
	for (const struct meta_field *field = fields; field < fields + count; field++) {
		const void *member = (const char *)f + field->offset;

		switch (field->type) {
		case META_TEXT:
			send_text(s, field->key, *(char *const *)member);
			break;
		case META_U32:
			send_number(s, field->key, *(const uint32_t *)member);
			break;
		case META_U64:
			send_number(s, field->key, *(const uint64_t *)member);
			break;
		case META_BOOL:
			send_number(s, field->key, *(const bool *)member);
			break;
		}
	}
}

void recording_facts_send_begin(const struct recording_facts *f, record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, f->meta.start_ns};

	send_fields(&s, f, begin_fields, COUNT_OF(begin_fields));
	send_text(&s, "unwind", unwind_method_name(f->unwind));
	vec_for_each(&f->meta.features, char *const *, text)
		send_text(&s, "feature", *text);
	vec_for_each(&f->meta.filters, char *const *, text)
		send_text(&s, "filter", *text);
}

/* Prints "ffffffff81000000 1f0 name module". Module names have no spaces, and may be missing. */
void recording_facts_send_kernel_symbol(uint64_t time, const struct kernel_symbol_text *symbol,
					record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, time};
	_cleanup_(strbuf_release) struct strbuf text = {0};

	strbuf_addf(&text, "%" PRIx64 " %" PRIx64 " %.*s", symbol->start, symbol->size,
		    (int)symbol->name_size, symbol->name);
	if (symbol->module)
		strbuf_addf(&text, " %s", symbol->module);
	send(&s, "kernel-symbol", strbuf_text(&text), text.size);
}

void recording_facts_send_run(uint64_t time, const struct run_fact *run, record_sink_fn *sink,
			      void *ctx)
{
	const struct sender s = {sink, ctx, time};
	_cleanup_(strbuf_release) struct strbuf text = {0};

	run_fact_print(run, &text);
	send(&s, "run", strbuf_text(&text), text.size);
}

void recording_facts_send_root(uint64_t time, uint32_t pid, record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, time};

	send_number(&s, "root-pid", pid);
}

/* Terminates each field; the field begins with "+", or with "-" if absent. */
static void add_field(struct strbuf *row, const char *text)
{
	strbuf_addch(row, text ? '+' : '-');
	strbuf_add(row, text ? text : "", (text ? strlen(text) : 0) + 1);
}

/* Sends a fact of the recorder; other facts are derived from the records again. */
static void send_fact(const struct sender *s, const struct fact *fact)
{
	_cleanup_(strbuf_release) struct strbuf row = {0};
	_cleanup_free_ char *count = xasprintf("%" PRIu64, fact->count);
	_cleanup_free_ char *real = xasprintf("%a", fact->real);

	if (fact_kind(fact->id)->origin != FACT_LIVE)
		return;
	add_field(&row, fact_kind(fact->id)->name);
	add_field(&row, fact->of);
	add_field(&row, count);
	add_field(&row, real);
	add_field(&row, fact->text);
	add_field(&row, fact->is_hidden ? "hidden" : NULL);
	send(s, "end.fact", row.text, row.size);
}

void recording_facts_send_end(const struct recorder_info *info, const struct report *report,
			      record_sink_fn *sink, void *ctx)
{
	const struct sender s = {sink, ctx, info->end_ns};
	const struct recording_facts facts = {.info = *info};

	vec_for_each(&report->features, char *const *, text)
		send_text(&s, "end.feature", *text);
	vec_for_each(&report->lines, char *const *, text)
		send_text(&s, "end.line", *text);
	vec_for_each(&report->warnings, char *const *, text)
		send_text(&s, "end.warning", *text);
	vec_for_each(&report->facts.rows, const struct fact *, fact)
		send_fact(&s, fact);
	send_fields(&s, &facts, end_fields, COUNT_OF(end_fields));
}

/* Taking. */

/* Returns 0 if the text is not a number. */
static uint64_t number_of(const char *text)
{
	uint64_t value = 0;

	return text_to_u64(text, 10, &value) ? value : 0;
}

static bool take_field(struct recording_facts *f, const struct meta_field *fields, size_t count,
		       const char *key, const char *value)
{
	for (const struct meta_field *field = fields; field < fields + count; field++) {
		char *member = (char *)f + field->offset;
		uint64_t number = number_of(value);

		if (strcmp(field->key, key) != 0)
			continue;
		if (field->type == META_TEXT) {
			free(*(char **)member);
			*(char **)member = xstrdup(value);
		} else if (field->type == META_U64) {
			*(uint64_t *)member = number;
		} else if (field->type == META_BOOL) {
			*(bool *)member = number;
		} else {
			*(uint32_t *)member = number > UINT32_MAX ? 0 : (uint32_t)number;
		}
		return true;
	}
	return false;
}

/* Splits a row in place. False if damaged. */
static bool split_row(char *text, size_t size, char **fields, size_t count)
{
	char *end = text + size;

	if (!size || text[size - 1])
		return false;
	for (size_t i = 0; i < count; i++) {
		if (text == end || (*text != '+' && *text != '-'))
			return false;
		fields[i] = *text == '+' ? text + 1 : NULL;
		text += strlen(text) + 1;
	}
	return text == end;
}

/* Takes a recorder's fact; ignores others. */
static void take_value(struct recording_facts *f, enum fact_id id, const char *of,
		       const char *count, const char *real, const char *text)
{
	struct facts *facts = &f->report.facts;

	if (id == FACT_NONE || fact_kind(id)->origin != FACT_LIVE || facts->rows.count >= ROWS_MAX)
		return;
	switch (fact_kind(id)->format) {
	case FACT_FORMAT_REAL:
	case FACT_FORMAT_SHARE:
		facts_real(facts, id, of, strtod(real, NULL));
		break;
	case FACT_FORMAT_TEXT:
		if (text)
			facts_text(facts, id, of, text);
		break;
	case FACT_FORMAT_OBJECT:
		facts_object(facts, id);
		break;
	default:
		facts_count(facts, id, of, number_of(count));
		break;
	}
}

static void take_fact(struct recording_facts *f, char *value, size_t size)
{
	char *field[6];
	enum fact_id id;

	if (!split_row(value, size, field, 6) || !field[0] || !field[2] || !field[3])
		return;
	id = fact_by_name(field[0]);
	take_value(f, id, field[1], field[2], field[3], field[4]);
	if (field[5])
		facts_hide_one(&f->report.facts, id, field[1], true);
}

/* Older captures contain each fact twice: by its key in --stats, and by its row in the panel. */
static void take_stat(struct recording_facts *f, char *value, size_t size)
{
	char *field[8];
	const char *of;
	enum fact_id id;

	if (!split_row(value, size, field, 8) || !field[3] || !field[4] || !field[5] || !field[6])
		return;
	id = fact_by_key(field[1], field[2], field[3], &of);
	take_value(f, id, of, field[5], field[6], field[7]);
	facts_hide_one(&f->report.facts, id, of, true);
}

static void take_extra(struct recording_facts *f, char *value, size_t size)
{
	char *field[5];
	const char *of;
	enum fact_id id;

	if (!split_row(value, size, field, 5) || !field[1] || !field[2] || !field[4])
		return;
	id = fact_by_row(field[1], field[2], &of);
	take_value(f, id, of, field[4], field[4], field[4]);
	facts_hide_one(&f->report.facts, id, of, false);
}

static void take_kernel_symbol(struct recording_facts *f, char *text)
{
	char *name, *module;
	uint64_t start = strtoull(text, &name, 16), size;

	if (!f->kernel)
		f->kernel = kernel_table_new();
	if (*name++ != ' ' || f->kernel->rows.count >= KERNEL_SYMBOLS_MAX)
		return;
	size = strtoull(name, &name, 16);
	if (*name++ != ' ' || !*name || *name == ' ')
		return;
	module = strchr(name, ' ');
	if (module)
		*module++ = '\0';
	kernel_table_add(f->kernel, start, size, name, strlen(name), module);
}

static void take_run(struct recording_facts *f, const char *value)
{
	char *text;
	struct run_fact run;

	if (f->runs.count >= ROWS_MAX)
		return;
	text = xstrdup(value);
	vec_push(&f->texts, text);
	if (run_fact_parse(&run, text))
		vec_push(&f->runs, run);
}

#define TAKE_TEXT(list_key, list) \
	if (strcmp(key, list_key) == 0) { \
		if ((list).count < ROWS_MAX) \
			vec_push(&(list), xstrdup(value)); \
		return true; \
	}

/* Adds a value to a list. Returns false if the key does not belong to a list. */
static bool take_text(struct recording_facts *f, const char *key, const char *value)
{
	TAKE_TEXT("feature", f->meta.features)
	TAKE_TEXT("filter", f->meta.filters)
	TAKE_TEXT("end.feature", f->report.features)
	TAKE_TEXT("end.line", f->report.lines)
	TAKE_TEXT("end.warning", f->report.warnings)
	return false;
}

static void take(struct recording_facts *f, const char *key, char *value, size_t size)
{
	if (take_text(f, key, value))
		return;
	if (strcmp(key, "kernel-symbol") == 0) {
		take_kernel_symbol(f, value);
	} else if (strcmp(key, "run") == 0) {
		take_run(f, value);
	} else if (strcmp(key, "unwind") == 0) {
		unwind_method_parse(value, &f->unwind);
	} else if (strcmp(key, "end.fact") == 0) {
		take_fact(f, value, size);
	} else if (strcmp(key, "end.stat") == 0) {
		take_stat(f, value, size);
	} else if (strcmp(key, "end.extra") == 0) {
		take_extra(f, value, size);
	} else if (take_field(f, end_fields, COUNT_OF(end_fields), key, value)) {
		f->has_ended = true;
	} else {
		take_field(f, begin_fields, COUNT_OF(begin_fields), key, value);
	}
	if (f->subject > RECORDING_OF_FILTERS)
		f->subject = RECORDING_OF_COMMAND;
}

void recording_facts_take(struct recording_facts *f, const struct rec_meta *rec)
{
	_cleanup_free_ char *key = xstrndup(rec->text, rec->key_size), *value = NULL;

	if (rec->value_size > VALUE_MAX || f->bytes > BYTES_MAX)
		return;
	f->bytes += rec->value_size;
	value = xmalloc((size_t)rec->value_size + 1);
	memcpy(value, rec->text + rec->key_size, rec->value_size);
	value[rec->value_size] = '\0';
	take(f, key, value, rec->value_size);
}
