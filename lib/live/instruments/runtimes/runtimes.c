/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/runtimes.h"

#include "bpf/config.h"
#include "bpf/live_record.h"
#include "bpf/record.h"
#include "lib/live/instrument.h"
#include "lib/live/process/late_reader.h"
#include "lib/live/instruments/runtimes/runtime_programs.h"
#include "lib/live/instruments/runtimes/runtime_sources.h"
#include "lib/live/instruments/runtimes/sampled_codes.h"
#include "lib/live/instruments/runtimes/thread_names.h"
#include "lib/live/instruments.h"
#include "lib/live/tracker.h"
#include "lib/live/unwind/runtime_files.h"
#include "lib/stream/record/records.h"

/* The summary of runtimes: which were seen, and how complete stacks and names are. */

struct runtime_totals {
	const struct runtime_counters *of_kinds; /* of all CPUs, by enum runtime_kind */
	const uint64_t *functions_of; /* described, by enum runtime_kind */
	struct runtime_counters kernel; /* of all runtimes whose functions are read */
	uint64_t unread; /* stacks without functions, of processes with an unread runtime */
	/*
	 * Stacks finished from copies made before the runtime was known, or before the tables were
	 * that its frames need.
	 */
	uint64_t early;
	uint64_t functions; /* described functions */
	uint64_t late; /* of these, read again from the process */
	uint64_t nameless; /* of these, without a name */
	uint64_t dropped; /* functions beyond the limit */
	uint64_t refused_reads;
	uint64_t compiled, inlined; /* pieces of code, and those with known inlined functions */
	uint64_t hiding; /* those without places of their inlined functions */
	uint64_t refused_files;
};

/* Lines [first, end) of the function, for units [start, stop). */
struct piece {
	size_t first, end;
	uint32_t start, stop;
};

/* Offsets of a function's name and file in the text. */
struct named {
	uint32_t name, file;
};

static struct named write_inlined(struct strbuf *text, const struct managed_function *function)
{
	struct named named = {.name = (uint32_t)text->size};

	if (function->tier)
		strbuf_addf(text, "%s/", function->tier);
	strbuf_addf(text, "%" PRIu32 ":", function->first_line);
	strbuf_add(text, strbuf_text(&function->name), function->name.size);
	strbuf_add(text, "", 1);
	named.file = (uint32_t)text->size;
	strbuf_add(text, strbuf_text(&function->file), function->file.size);
	strbuf_add(text, "", 1);
	return named;
}

/* Stores the names. Returns their offsets by number of function, to be freed. */
static struct named *write_text(struct strbuf *text, const struct runtime *runtime,
				const struct managed_code *code)
{
	struct named *named = xcalloc(code->inlined.count + 1, sizeof(*named));

	strbuf_addf(text, code->tier ? "%s/%s:" : "%s%s:", runtime->name,
		    code->tier ? code->tier : "");
	strbuf_add(text, code->name.text, code->name.size);
	strbuf_add(text, "", 1);
	named[0].file = (uint32_t)text->size;
	strbuf_add(text, code->file.text, code->file.size);
	strbuf_add(text, "", 1);
	for (size_t i = 0; i < code->inlined.count; i++)
		named[i + 1] = write_inlined(text, &code->inlined.items[i]);
	return named;
}

/* Makes the record of a piece, to be freed by the caller. */
static struct rec_code *make_record(const struct rec_function *function,
				    const struct managed_code *code, const struct strbuf *text,
				    const struct named *named, const struct piece *piece)
{
	uint32_t count = (uint32_t)(piece->end - piece->first) + 1;
	size_t size = rec_code_size(count, text->size);
	struct rec_code *rec = xcalloc(1, size);

	record_init(&rec->rec, REC_CODE, size, function->rec.time, function->rec.pid,
		    function->rec.tid);
	rec->rec.flags = CODE_MANAGED;
	rec->since = function->rec.time;
	rec->start = function->position + piece->start;
	rec->size = piece->stop - piece->start;
	rec->line_count = count;
	rec->text_size = (uint32_t)text->size;
	rec->lines[0] = (struct rec_code_line){.line = code->first_line, .file = named[0].file};
	for (uint32_t i = 1; i < count; i++) {
		const struct managed_line *line = &code->lines.items[piece->first + i - 1];

		rec->lines[i] = (struct rec_code_line){
			.offset = line->unit - piece->start,
			.line = line->line,
			.file = named[line->function].file,
			.inlined = named[line->function].name,
		};
	}
	memcpy(rec->lines + count, text->text, text->size);
	return rec;
}

void send_code_records(const struct runtime *runtime, const struct rec_function *function,
		       const struct managed_code *code, record_sink_fn *sink, void *ctx)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	_cleanup_free_ struct named *named = write_text(&text, runtime, code);
	size_t fixed = rec_code_size(1, text.size), total = code->lines.count;
	size_t room = (REC_MAX_WORDS * 8ul - fixed) / sizeof(struct rec_code_line);
	struct piece piece = {0};

	while (piece.start < function->units) {
		struct rec_code *rec;

		piece.end = total - piece.first > room ? piece.first + room : total;
		/* Keep chains of calls together. */
		while (piece.end < total && piece.end > piece.first + 1 &&
		       code->lines.items[piece.end].function)
			piece.end--;
		piece.stop = piece.end < total ? code->lines.items[piece.end].unit
					       : function->units;
		/* The table covers more than the code. */
		piece.stop = MIN(piece.stop, function->units);
		if (piece.stop > piece.start) {
			rec = make_record(function, code, &text, named, &piece);
			sink(ctx, &rec->rec);
			free(rec);
		}
		piece.first = piece.end;
		piece.start = piece.stop;
	}
}

static bool is_equal(const struct runtime_layout *a, const struct runtime_layout *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

void layouts_release(struct layouts *l)
{
	vec_release(&l->rows);
}

/* Finds the layout of a file. Layouts that look equal to the BPF programs share a row. */
static bool layouts_find(const struct layouts *l, const struct runtime_layout *file,
			 uint32_t *number)
{
	for (uint32_t i = 0; i < l->rows.count; i++) {
		if (is_equal(&l->rows.items[i].file, file)) {
			*number = i;
			return true;
		}
	}
	return false;
}

/* Returns true if there is no room for one more, and counts the refusal. */
static bool layouts_are_full(struct layouts *l)
{
	bool is_full = l->rows.count >= RUNTIME_LAYOUTS_MAX;

	l->refused += is_full;
	return is_full;
}

/*
 * Stores a layout in row `number`, an existing one or the next, and in the BPF programs. Returns
 * -ENOSPC if there is no room, or a negative errno of the programs.
 */
static int layouts_store(struct layouts *l, struct programs *programs, uint32_t number,
			 const struct runtime_layout *layout, struct error *err)
{
	struct found_layout *found;
	int code;

	if (number == l->rows.count && layouts_are_full(l))
		return error_text(err, -ENOSPC, "too many processes have layouts of their own");
	code = programs_set_layout(programs, number, layout, err);
	if (code)
		return code;
	if (number == l->rows.count)
		vec_push(&l->rows, ((struct found_layout){.file = *layout}));
	found = &l->rows.items[number];
	found->layout = *layout;
	runtime_write_version(layout, found->version, sizeof(found->version));
	return 0;
}

/*
 * Finds the row, *number, for the layout that a process reports for its file. The first process
 * completes the file's row; a process with a different, possibly forged layout gets a row of its
 * own. Errors as above.
 */
static int layouts_complete(struct layouts *l, struct programs *programs, uint32_t *number,
			    const struct runtime_layout *layout, struct error *err)
{
	const struct found_layout *found = &l->rows.items[*number];

	if (is_equal(&found->layout, layout))
		return 0;
	if (is_equal(&found->layout, &found->file))
		return layouts_store(l, programs, *number, layout, err);
	for (*number = 0; *number < l->rows.count; ++*number) {
		if (is_equal(&l->rows.items[*number].layout, layout))
			return 0;
	}
	return layouts_store(l, programs, *number, layout, err);
}

static bool have_functions(const struct layouts *l)
{
	return vec_find(&l->rows, found, found->has_functions);
}

/* Returns whether an earlier row has the version. With `seen`, only rows with functions count. */
static bool is_listed(const struct layouts *l, size_t row, bool seen)
{
	const struct found_layout *found = &l->rows.items[row];

	for (size_t i = 0; i < row; i++) {
		if ((!seen || l->rows.items[i].has_functions) &&
		    l->rows.items[i].layout.kind == found->layout.kind &&
		    strcmp(l->rows.items[i].version, found->version) == 0)
			return true;
	}
	return false;
}

void layouts_list_versions(const struct layouts *l, uint32_t kind, struct strbuf *out)
{
	bool seen = have_functions(l);

	for (size_t i = 0; i < l->rows.count; i++) {
		const struct found_layout *found = &l->rows.items[i];

		if (!runtime_adds_frames(found->layout.kind) || !*found->version ||
		    (kind != RUNTIME_NONE && found->layout.kind != kind) ||
		    (seen && !found->has_functions) || is_listed(l, i, seen))
			continue;
		strbuf_addf(out, "%s%s %s", out->size ? ", " : "",
			    runtimes[found->layout.kind]->name, found->version);
	}
}

/* Returns the number of stacks that should have functions of the runtime. */
static uint64_t stacks_of(const struct runtime_counters *c)
{
	return c->samples - c->idle - c->threadless - c->copied + c->missed;
}

/* Returns the number of those with all functions, including inlined ones. */
static uint64_t whole_of(const struct runtime_counters *c)
{
	return c->whole > c->unfound ? c->whole - c->unfound : 0;
}

static double share_of(uint64_t whole, uint64_t stacks)
{
	return stacks ? 100.0 * (double)whole / (double)stacks : 100;
}

static void report_stats(const struct runtime_totals *t, const char *versions,
			 struct report *report)
{
	const struct runtime_counters *c = &t->kernel;
	const struct {
		enum fact_id id;
		uint64_t value;
	} rows[] = {
		{FACT_RUNTIME_SAMPLES, c->samples},
		{FACT_RUNTIME_WHOLE, c->whole},
		{FACT_RUNTIME_IDLE, c->idle},
		{FACT_RUNTIME_THREADLESS, c->threadless},
		{FACT_RUNTIME_COPIED, c->copied},
		{FACT_RUNTIME_TORN, c->torn},
		{FACT_RUNTIME_RETRIED, c->retried},
		{FACT_RUNTIME_UNPLACED, c->unplaced},
		{FACT_RUNTIME_CUT, c->cut},
		{FACT_RUNTIME_GREENLETS, c->switched},
		{FACT_RUNTIME_MISSED, c->missed},
		{FACT_RUNTIME_UNREAD, t->unread},
		{FACT_RUNTIME_EARLY, t->early},
		{FACT_RUNTIME_FUNCTIONS, t->functions},
		{FACT_RUNTIME_LATE, t->late},
		{FACT_RUNTIME_NAMELESS, t->nameless},
		{FACT_RUNTIME_REFUSED_READS, t->refused_reads},
		{FACT_RUNTIME_COMPILED, t->compiled},
		{FACT_RUNTIME_WITH_INLINED, t->inlined},
		{FACT_RUNTIME_UNFOUND_CODE, c->unfound},
		{FACT_RUNTIME_LOST_FUNCTIONS, c->lost_functions + t->dropped},
		{FACT_RUNTIME_MISPLACED, c->clamped},
		{FACT_RUNTIME_REFUSED_FILES, t->refused_files},
		{FACT_RUNTIME_ABANDONED, c->abandoned},
	};

	facts_text(&report->facts, FACT_RUNTIMES, NULL, versions);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		facts_count(&report->facts, rows[i].id, NULL, rows[i].value);
}

/* Appends the reasons for missing functions: " (12 lack functions of compiled code, 3 …)". */
static void add_reasons(const struct runtime_totals *t, struct strbuf *out)
{
	const struct runtime_counters *c = &t->kernel;
	const struct {
		uint64_t count;
		const char *reason;
	} rows[] = {
		{t->unread, "are of an interpreter that cannot be read"},
		{c->torn, "end early or were taken while structures changed"},
		{c->unplaced, "have no place for their functions"},
		{c->unfound, "lack functions of compiled code"},
	};
	const char *before = " (";

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (!rows[i].count)
			continue;
		strbuf_addf(out, "%s%" PRIu64 " %s", before, rows[i].count, rows[i].reason);
		before = ", ";
	}
	if (*before == ',')
		strbuf_addch(out, ')');
}

static void report_share(const struct runtime_totals *t, const char *versions,
			 struct report *report)
{
	_cleanup_(strbuf_release) struct strbuf reasons = {0};
	uint64_t stacks = stacks_of(&t->kernel) - t->kernel.missed + t->unread;
	/* Most of them are of the start of a process, before it runs any function. */
	uint64_t early = t->kernel.missed + t->early;
	uint64_t lost = t->nameless + t->kernel.lost_functions + t->dropped;

	if (!*versions) {
		report_line(report,
			    "%" PRIu64
			    " stacks have no functions: their interpreter cannot be read",
			    t->unread);
		return;
	}
	if (!stacks && early) {
		report_line(report, "%s: all %" PRIu64 " %s taken too early to know the functions",
			    versions, early, text_counted(early, "stack was", "stacks were"));
		return;
	}
	add_reasons(t, &reasons);
	strbuf_addf(&reasons, "; %" PRIu64 " functions, %" PRIu64 " names lost", t->functions,
		    lost);
	if (t->hiding)
		strbuf_addf(&reasons, "; the time of %" PRIu64 " %s that of inlined ones",
			    t->hiding,
			    text_counted(t->hiding, "function includes", "functions includes"));
	if (early)
		strbuf_addf(&reasons, "; %" PRIu64 " %s taken before the interpreter was known",
			    early, text_counted(early, "stack was", "stacks were"));
	report_line(report, "%s: %.2f %% of %sstacks have all their functions%s", versions,
		    share_of(whole_of(&t->kernel), stacks), early > stacks / 10 ? "the other " : "",
		    reasons.text);
}

/* Runtimes may differ much, so report each kind. */
static void report_kinds(const struct runtime_totals *t, const struct layouts *layouts,
			 struct report *report)
{
	size_t count = 0;

	for (uint32_t kind = 0; kind < RUNTIME_KIND_COUNT; kind++)
		count += t->of_kinds[kind].samples > 0;
	for (uint32_t kind = 0; kind < RUNTIME_KIND_COUNT; kind++) {
		_cleanup_(strbuf_release) struct strbuf versions = {0};
		uint64_t stacks = stacks_of(&t->of_kinds[kind]);
		uint64_t whole = whole_of(&t->of_kinds[kind]);

		if (!t->of_kinds[kind].samples)
			continue;
		facts_count(&report->facts, FACT_RUNTIME_STACKS_OF, runtimes[kind]->name, stacks);
		facts_count(&report->facts, FACT_RUNTIME_WHOLE_OF, runtimes[kind]->name, whole);
		facts_count(&report->facts, FACT_RUNTIME_FUNCTIONS_OF, runtimes[kind]->name,
			    t->functions_of[kind]);
		layouts_list_versions(layouts, kind, &versions);
		if (count > 1 && versions.size)
			report_line(report,
				    "%s: %.2f %% of %" PRIu64 " stacks; %" PRIu64 " functions",
				    versions.text, share_of(whole, stacks), stacks,
				    t->functions_of[kind]);
	}
}

/* Reports nothing unless recorded stacks had a runtime. */
static void runtime_report(const struct runtime_totals *t, const struct layouts *layouts,
			   struct report *report)
{
	uint64_t switched = t->kernel.switched, abandoned = t->kernel.abandoned;
	_cleanup_(strbuf_release) struct strbuf versions = {0};

	layouts_list_versions(layouts, RUNTIME_NONE, &versions);
	/* It ran only in processes that are not recorded. */
	if (!t->unread &&
	    (!versions.size || (!t->kernel.samples && !t->kernel.missed && !t->early)))
		return;
	report_stats(t, strbuf_text(&versions), report);
	report_share(t, strbuf_text(&versions), report);
	report_kinds(t, layouts, report);
	if (switched)
		report_line(report,
			    "%" PRIu64 " stacks end where the functions of their greenlet begin: "
			    "the rest of the native stack belongs to other greenlets",
			    switched);
	if (abandoned)
		report_warning(report,
			       "the functions of %" PRIu64 " %s are no longer read: their "
			       "structures were inconsistent each time",
			       abandoned, text_counted(abandoned, "process", "processes"));
}

/* Runtimes whose complete layout is only available in processes. */

/*
 * Reads the layout in the process, completes that of its file, and passes the rest to the loaded
 * program. Returns the values of hooks.start.
 */
static int runtime_start(const struct runtime_program *program, struct late_reader *reader,
			 const struct starting_process *process, struct runtime_layout *layout,
			 struct error *err)
{
	const struct runtime *runtime = runtimes[layout->kind];
	union {
		struct runtime_process head;
		uint64_t words[RUNTIME_PROCESS_MAX / sizeof(uint64_t)];
	} told = {0};
	struct runtime_memory lasting = {0};
	int result;

	if (!runtime->start)
		return 1;
	late_reader_begin(reader, (pid_t)process->pid, clock_monotonic_ns());
	result = runtime->start(layout, process->bias, late_reader_read, reader, &told, &lasting,
				err);
	if (result > 0)
		late_reader_keep(reader, (pid_t)process->pid, lasting.start, lasting.end);
	told.head.execs = process->execs;
	if (result > 0 && runtime_adds_frames(layout->kind) &&
	    runtime_program_set_process(program, process->pid, &told, err))
		result = -EIO;
	return result;
}

/*
 * Runtimes in the recorded processes: loads the program that follows a runtime when the first file
 * with one is mapped, and makes code records of functions that the kernel sees for the first time.
 */

/* Limits, because programs may invent functions and files with interpreters. */
#define FUNCTIONS_MAX ((uint64_t)1 << 22)
#define REFUSED_MAX 8

struct runtimes_settings {
	bool is_unwanted, keeps_interpreter, has_go_labels, has_tasks, has_gil, wants_types;
};

struct runtimes {
	struct live *live;
	const struct runtimes_settings *settings;
	struct runtime_program loaded[RUNTIME_KIND_COUNT];
	struct layouts layouts;
	VEC(char *) refused; /* reasons, each once */
	uint64_t more_refused; /* reasons that did not fit into the list */
	/* Sums over all CPUs, as last read, by enum runtime_kind. */
	struct runtime_counters counters[RUNTIME_COUNT_KINDS];
	uint64_t functions; /* described functions */
	uint64_t functions_of[RUNTIME_KIND_COUNT]; /* the same by enum runtime_kind */
	uint64_t late; /* of these, read again from the process */
	uint64_t nameless; /* of these, without a name */
	uint64_t dropped; /* more than FUNCTIONS_MAX */
	struct late_reader reader;
	struct runtime_sources sources;
	struct known_functions known;
	struct thread_names *names;
	struct sampled_codes *sampled;
	uint64_t inlined; /* pieces of compiled code whose inlined functions are known */
	uint64_t hiding; /* pieces of compiled code without places of inlined functions */
	uint64_t compiled; /* pieces of compiled code */
};

static void begin(void *state, const void *settings)
{
	struct runtimes *r = state;

	r->settings = settings;
}

static void release(void *state)
{
	struct runtimes *r = state;

	vec_for_each(&r->refused, char **, why)
		free(*why);
	vec_release(&r->refused);
	layouts_release(&r->layouts);
	late_reader_release(&r->reader);
	runtime_sources_release(&r->sources);
	known_functions_release(&r->known);
	free(r->names);
	sampled_codes_free(r->sampled);
}

static bool is_wanted(const void *settings)
{
	return !((const struct runtimes_settings *)settings)->is_unwanted;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	const struct runtimes *r = state;

	programs->config.interpreter_frames = r->settings->keeps_interpreter;
	programs->config.locks = r->settings->has_gil;
	programs->config.tasks = r->settings->has_tasks;
	return 0;
}

static void refuse(struct runtimes *r, const char *why)
{
	if (vec_find(&r->refused, known, strcmp(*known, why) == 0))
		return;
	if (r->refused.count < REFUSED_MAX)
		vec_push(&r->refused, xstrdup(why));
	else
		r->more_refused++;
}

/*
 * Loads a part of the programs that follow the runtime. Returns false if the runtime cannot be
 * followed.
 */
static bool load_part(struct runtimes *r, uint32_t kind, enum runtime_part part)
{
	static const char *const stacks[RUNTIME_PART_COUNT] = {[RUNTIME_SAMPLES] = "",
							       [RUNTIME_WAITS] = " of waits",
#define PROBE_STACKS(name, NAME, SENT, sent, TYPE, of, ...) [RUNTIME_##NAME] = of,
							       RUNTIME_PROBES(PROBE_STACKS, )
#undef PROBE_STACKS
	};
	struct runtime_program *program = &r->loaded[kind];
	struct error err = {0};

	if (program->parts[RUNTIME_SAMPLES].has_failed)
		return false;
	if (runtime_program_load(program, kind, part, r->live->programs, &err)) {
		_cleanup_free_ char *why =
			runtime_adds_frames(kind)
				? xasprintf("no functions of %s in stacks%s: %s",
					    runtimes[kind]->name, stacks[part], err.text)
				: xasprintf("no labels of %s: %s", runtimes[kind]->name, err.text);

		refuse(r, why);
	}
	return !program->parts[RUNTIME_SAMPLES].has_failed;
}

/*
 * Loads the programs for waits and markers after those for samples, which are more frequent in a
 * new process.
 */
static void on_described(void *ctx)
{
	struct runtimes *r = ctx;

	for (size_t i = 0; i < r->layouts.rows.count; i++) {
		for (enum runtime_part part = RUNTIME_WAITS; part < RUNTIME_PART_COUNT; part++)
			load_part(r, r->layouts.rows.items[i].layout.kind, part);
	}
}

static bool on_found(void *ctx, const struct runtime_layout *layout, uint32_t *number)
{
	struct runtimes *r = ctx;
	struct error err = {0};

	if (layouts_find(&r->layouts, layout, number))
		return true;
	if (layouts_are_full(&r->layouts) || !load_part(r, layout->kind, RUNTIME_SAMPLES))
		return false;
	*number = (uint32_t)r->layouts.rows.count;
	if (layouts_store(&r->layouts, r->live->programs, *number, layout, &err)) {
		refuse(r, err.text);
		return false;
	}
	return true;
}

static int on_start(void *ctx, const struct starting_process *process, uint32_t *number)
{
	struct runtimes *r = ctx;
	struct runtime_layout layout;
	struct error err = {0};
	int result;

	if (*number >= r->layouts.rows.count)
		return -EINVAL;
	layout = r->layouts.rows.items[*number].file;
	result = runtime_start(&r->loaded[layout.kind], &r->reader, process, &layout, &err);
	if (result > 0 && layouts_complete(&r->layouts, r->live->programs, number, &layout, &err))
		result = -EIO;
	if (result < 0)
		refuse(r, err.text);
	if (result > 0 && runtimes[layout.kind]->read_threads)
		thread_names_follow(r->names, process->pid, process->bias, &layout);
	if (result > 0 && runtimes[layout.kind]->find_regexp)
		sampled_codes_follow(r->sampled, process->pid, &layout);
	return result;
}

static void on_refused(void *ctx, const char *why)
{
	_cleanup_free_ char *text = xasprintf("only native frames where it runs: %s", why);

	refuse(ctx, text);
}

static int attach(void *state, struct error *err)
{
	struct runtimes *r = state;
	bool has_go = r->settings->has_go_labels;
	const struct runtime_hooks hooks = {
		.probe =
			{
				.find = has_go ? runtime_probe_with_go : runtime_probe,
				.is_sane = runtime_layout_is_sane,
				.number = has_go ? 4 : 3,
			},
		.found = on_found,
		.start = on_start,
		.described = on_described,
		.refused = on_refused,
		.ctx = r,
	};

	r->names = thread_names_new(tracker_processes(r->live->tracker));
	r->sampled = sampled_codes_new(r->live->tracker, &r->reader, r->live->sink, r->live->ctx);
	tracker_set_runtimes(r->live->tracker, &hooks);
	return 0;
}

/*
 * Returns whether it has pieces that did not fit into the record or were not in memory just then.
 */
static bool lacks_pieces(const struct rec_function *function)
{
	return (function->name.flags | function->file.flags | function->lines.flags) &
	       (FUNCTION_CUT | FUNCTION_UNREADABLE);
}

/*
 * Reads the parts missing in the record from the process or, if that has ended, from the one that
 * forked it.
 */
static bool read_late(struct runtimes *r, const struct runtime_layout *layout,
		      const struct rec_function *function, struct managed_code *code)
{
	const struct runtime *runtime = runtimes[layout->kind];

	if (!runtime->late)
		return false;
	if (runtime->late(layout, function, late_reader_read, &r->reader, code))
		return true;
	if (!function->parent_pid)
		return false;
	late_reader_begin(&r->reader, (pid_t)function->parent_pid, function->rec.time);
	return runtime->late(layout, function, late_reader_read, &r->reader, code);
}

static void describe(struct runtimes *r, const struct runtime_layout *layout,
		     const struct rec_function *function, struct managed_code *code)
{
	const struct runtime *runtime = runtimes[layout->kind];

	late_reader_begin(&r->reader, (pid_t)function->rec.pid, function->rec.time);
	runtime->decode(layout, function, code);
	if ((code->lacks_text || lacks_pieces(function)) && read_late(r, layout, function, code))
		r->late++;
	if (runtime->read_inlined && code->is_compiled) {
		r->compiled++;
		r->inlined += runtime->read_inlined(layout, function, &r->known, late_reader_read,
						    &r->reader, code);
		r->hiding += code->hides_inlined;
	}
	runtime_sources_set_lines(&r->sources, layout, (pid_t)function->rec.pid, late_reader_read,
				  &r->reader, code);
	r->functions++;
	r->functions_of[layout->kind]++;
	r->nameless += !code->name.size;
}

static void take(void *state, const struct rec *rec)
{
	const struct rec_function *function = (const struct rec_function *)rec;
	struct runtimes *r = state;
	struct found_layout *found;
	struct managed_code code = {.wants_types = r->settings->wants_types};

	if (function->layout >= r->layouts.rows.count)
		return;
	found = &r->layouts.rows.items[function->layout];
	if (found->layout.kind == RUNTIME_NONE)
		return;
	found->has_functions = true;
	if (r->functions >= FUNCTIONS_MAX) {
		r->dropped++;
		return;
	}
	tracker_keep_root(r->live->tracker, function->rec.pid, function->rec.time);
	describe(r, &found->layout, function, &code);
	send_code_records(runtimes[found->layout.kind], function, &code, r->live->sink,
			  r->live->ctx);
	managed_code_release(&code);
}

static void observe(void *state, const struct rec *rec)
{
	const struct runtimes *r = state;

	sampled_codes_observe(r->sampled, rec);
}

_Static_assert(sizeof(struct runtime_counters) % sizeof(uint64_t) == 0, "all of it are counts");

static void add_counters(struct runtime_counters *sum, const struct runtime_counters *more)
{
	const __u64 *from = (const __u64 *)more;
	__u64 *to = (__u64 *)sum;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static void count(void *state, uint64_t time)
{
	struct runtimes *r = state;
	const struct cpu_list *possible = &r->live->counters->possible;
	struct runtime_counters *each = xcalloc(possible->count, sizeof(*each));
	struct runtime_counters sums[RUNTIME_COUNT_KINDS] = {0};
	/* Count nothing without runtimes. */
	int code = r->layouts.rows.count || r->refused.count ? 0 : -ENOENT;

	thread_names_read(r->names, &r->reader, time, r->live->sink, r->live->ctx);
	for (uint32_t row = 0; row < RUNTIME_COUNTS * RUNTIME_COUNT_KINDS && !code; row++) {
		code = programs_read_runtime_counters(r->live->programs, row, each);
		for (uint32_t i = 0; i < possible->count && !code; i++)
			add_counters(&sums[row % RUNTIME_COUNT_KINDS], &each[i]);
	}
	if (!code)
		memcpy(r->counters, sums, sizeof(sums));
	free(each);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void report_go(const struct runtimes *r, struct report *report)
{
	struct label_counts counts = runtime_program_labels(&r->loaded[RUNTIME_GO]);

	if (!r->settings->has_go_labels)
		return;
	report_feature(report, "go-labels");
	facts_count(&report->facts, FACT_GO_LABEL_SAMPLES, NULL, counts.samples);
	facts_count(&report->facts, FACT_GO_LABELLED, NULL, counts.labelled);
	facts_count(&report->facts, FACT_GO_LABELS_UNREADABLE, NULL, counts.unreadable);
	if (!counts.samples)
		report_line(report, "Go labels: no program sets any");
	else
		report_line(report, "Go labels: %" PRIu64 " of %" PRIu64 " samples have labels",
			    counts.labelled, counts.samples);
}

static void report_spans(const struct runtimes *r, struct report *report)
{
	struct label_counts counts = runtime_program_labels(&r->loaded[RUNTIME_OTEL]);

	if (!counts.samples)
		return;
	facts_count(&report->facts, FACT_SPAN_SAMPLES, NULL, counts.samples);
	facts_count(&report->facts, FACT_SPAN_LABELLED, NULL, counts.labelled);
	report_line(report, "spans: %" PRIu64 " of %" PRIu64 " samples have a trace and a span",
		    counts.labelled, counts.samples);
}

static void report_gil(const struct runtimes *r, struct report *report)
{
	const struct runtime_counters *python = &r->counters[RUNTIME_PYTHON];
	uint64_t held = python->locked, all = held + python->unlocked;

	if (!r->settings->has_gil)
		return;
	report_feature(report, "gil");
	facts_count(&report->facts, FACT_GIL_HELD, NULL, held);
	facts_count(&report->facts, FACT_GIL_FREE, NULL, all - held);
	if (!all)
		report_line(report, "GIL: no functions of Python in any stack");
	else
		report_line(report, "GIL: held in %.1f %% of %" PRIu64 " stacks of Python",
			    percent(held, all), all);
}

static void report(const void *state, const struct record_tally *tally, struct report *report)
{
	const struct runtimes *r = state;
	struct runtime_totals totals = {
		.of_kinds = r->counters,
		.functions_of = r->functions_of,
		.unread = r->counters[RUNTIME_UNREAD].missed,
		.functions = r->functions,
		.late = r->late,
		.nameless = r->nameless,
		.dropped = r->dropped,
		.refused_reads = r->reader.refused,
		.compiled = r->compiled,
		.inlined = r->inlined,
		.hiding = r->hiding,
		.refused_files = r->layouts.refused,
	};
	struct unwinder_stats unwinder;

	if (r->more_refused)
		report_warning(report, "%" PRIu64 " more %s cannot be followed", r->more_refused,
			       text_counted(r->more_refused, "interpreter", "interpreters"));
	vec_for_each(&r->refused, char *const *, why)
		report_warning(report, "%s", *why);
	if (r->layouts.refused)
		report_warning(report, "%" PRIu64 " %s not followed: at most %d different ones are",
			       r->layouts.refused,
			       text_counted(r->layouts.refused, "file with an interpreter is",
					    "files with an interpreter are"),
			       RUNTIME_LAYOUTS_MAX);
	report_go(r, report);
	report_spans(r, report);
	report_gil(r, report);
	for (uint32_t kind = 0; kind < RUNTIME_KIND_COUNT; kind++)
		add_counters(&totals.kernel, &r->counters[kind]);
	tracker_get_stats(r->live->tracker, &unwinder);
	totals.early = unwinder.early + totals.kernel.unready;
	runtime_report(&totals, &r->layouts, report);
}

#define FLAG(flag) \
	static int set_##flag(void *settings, const char *value, struct error *err) \
	{ \
		(void)value; \
		(void)err; \
		((struct runtimes_settings *)settings)->flag = true; \
		return 0; \
	}

FLAG(is_unwanted)
FLAG(keeps_interpreter)
FLAG(has_go_labels)
FLAG(has_tasks)
FLAG(has_gil)
FLAG(wants_types)

static int judge(const void *settings, struct error *err)
{
	const struct runtimes_settings *s = settings;
	const char *needing = s->has_go_labels ? "--go-labels"
			      : s->has_tasks   ? "--asyncio-tasks"
			      : s->has_gil     ? "--gil"
					       : "--java-signatures";

	if (s->is_unwanted && (s->has_go_labels || s->has_tasks || s->has_gil || s->wants_types))
		return error_text(err, -EINVAL, "%s cannot be given with --no-runtimes", needing);
	return 0;
}

static const struct instrument_option options[] = {
	{0, "no-runtimes", NULL, "do not look into interpreters; show their native frames only",
	 "unwind", set_is_unwanted, .is_plain = true},
	{0, "interpreter-frames", NULL,
	 "keep an interpreter's native frames next to the functions it runs", NULL,
	 set_keeps_interpreter, .is_plain = true},
	{0, "go-labels", NULL, "mark the labels that Go programs set with pprof.Do", NULL,
	 set_has_go_labels, .is_plain = true},
	{0, "asyncio-tasks", NULL, "mark the tasks that Python's asyncio runs", NULL, set_has_tasks,
	 .is_plain = true},
	{0, "gil", NULL, "distinguish Python functions that held the GIL", NULL, set_has_gil,
	 .is_plain = true},
	{0, "java-signatures", NULL, "name Java methods with the types of their parameters", NULL,
	 set_wants_types, .is_plain = true},
	{0},
};

const struct instrument instrument_runtimes = {
	.name = "runtimes",
	.options = options,
	.settings_size = sizeof(struct runtimes_settings),
	.takes = INSTRUMENT_TAKES(REC_FUNCTION),
	.judge = judge,
	.is_wanted = is_wanted,
	.state_size = sizeof(struct runtimes),
	.begin = begin,
	.release = release,
	.configure = configure,
	.attach = attach,
	.take = take,
	.observe = observe,
	.count = count,
	.report = report,
};
