/* SPDX-License-Identifier: MIT */
/*
 * Probes that programs declare (USDT). A file is read when a process has mapped it, and its probes
 * are attached to that process: on all processes at once, each process of the machine that has the
 * file would trap. Files that are known are attached to new processes before they map them.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/live_record.h"
#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/cleanup.h"
#include "lib/base/open_regular.h"
#include "lib/base/strbuf.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/instruments/usdt/uprobe_jobs.h"
#include "lib/live/instruments/usdt/usdt_probes.h"
#include "lib/live/tracker.h"
#include "usdt.skel.h"

#define SHOWN (SHOWN_IN_CHART | SHOWN_IN_TABLE | SHOWN_IN_OVERVIEW)
/* A new process gets all known files only while so few are attached in all. */
#define FEW_ATTACHED 256

struct attachment {
	uint32_t pid, file;
	uprobe_job job;
};

/* Tells what a module has: files of the same build id are one. */
enum module_state {
	MODULE_NEW,
	MODULE_WITHOUT,
	MODULE_WITH_PROBES,
};

struct usdt {
	struct live *live;
	struct usdt_bpf *skeleton;
	struct usdt_probes probes;
	struct uprobe_jobs *jobs; /* NULL: not yet */
	bool is_multi;
	uint32_t stored; /* layouts that the kernel has */
	VEC(struct attachment) attachments;
	VEC(uint8_t) modules; /* enum module_state */
	uint64_t lost; /* reported so far */
};

static void *create(struct live *live, const void *settings)
{
	struct usdt *u = xcalloc(1, sizeof(*u));

	u->live = live;
	u->probes.settings = settings;
	return u;
}

static void destroy(void *state)
{
	struct usdt *u = state;

	uprobe_jobs_free(u->jobs);
	usdt_probes_release(&u->probes);
	vec_release(&u->attachments);
	vec_release(&u->modules);
	free(u);
}

static bool is_wanted(const void *settings)
{
	return ((const struct usdt_settings *)settings)->count;
}

static void prepare(struct usdt *u)
{
	if (u->is_multi)
		bpf_program__set_expected_attach_type(u->skeleton->progs.on_usdt,
						      (enum bpf_attach_type)UPROBE_MULTI);
}

static void finish(struct usdt *u)
{
	if (u->jobs)
		uprobe_jobs_stop(u->jobs);
}

PROGRAMS_OBJECT(struct usdt, skeleton, usdt_bpf, prepare, finish)

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct usdt *u = state;

	(void)programs;
	(void)err;
	u->is_multi = uprobe_has_multi();
	return 0;
}

static int attach(void *state, struct error *err)
{
	struct usdt *u = state;

	(void)err;
	u->jobs = uprobe_jobs_new(bpf_program__fd(u->skeleton->progs.on_usdt), u->is_multi);
	return 0;
}

/* Gives the kernel the layouts of a new file's probes. */
static void store_layouts(struct usdt *u)
{
	int map = bpf_map__fd(u->skeleton->maps.usdt_layouts);

	for (; u->stored < u->probes.layouts.count; u->stored++)
		bpf_map_update_elem(map, &u->stored, &u->probes.layouts.items[u->stored], BPF_ANY);
}

static uint32_t find_file(struct usdt *u, int fd)
{
	uint32_t file = usdt_probes_find(&u->probes, fd);

	store_layouts(u);
	return file;
}

static bool has_attached(const struct usdt *u, uint32_t pid, uint32_t file)
{
	vec_for_each(&u->attachments, const struct attachment *, row) {
		if (row->pid == pid && row->file == file)
			return true;
	}
	return false;
}

static void attach_file(struct usdt *u, uint32_t pid, uint32_t number)
{
	const struct usdt_file *file = u->probes.files.items[number];
	struct attachment row = {.pid = pid, .file = number};

	if (has_attached(u, pid, number))
		return;
	row.job = uprobe_jobs_attach(u->jobs, pid, file->fd, file->places.items,
				     file->places.count);
	if (row.job != NO_UPROBE_JOB)
		vec_push(&u->attachments, row);
}

/* Detaches everything from the process. */
static void forget(struct usdt *u, uint32_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->attachments.count; i++) {
		const struct attachment *row = &u->attachments.items[i];

		if (row->pid == pid)
			uprobe_jobs_detach(u->jobs, row->job);
		else
			u->attachments.items[kept++] = *row;
	}
	u->attachments.count = kept;
}

static void on_expected(void *ctx, int fd)
{
	find_file(ctx, fd);
}

static void on_await(void *ctx, uint32_t pid)
{
	struct usdt *u = ctx;

	for (uint32_t i = 0; i < u->probes.files.count; i++)
		attach_file(u, pid, i);
	uprobe_jobs_wait(u->jobs);
}

/* Opens the file that is mapped there, which a module of another process may be a copy of. */
static int open_mapped(const struct rec_map *map, int module_fd)
{
	char name[96];
	int fd;

	snprintf(name, sizeof(name), "/proc/%u/map_files/%" PRIx64 "-%" PRIx64, map->rec.pid,
		 (uint64_t)map->start, (uint64_t)map->end);
	fd = open_regular(name);
	return fd < 0 ? fcntl(module_fd, F_DUPFD_CLOEXEC, 0) : fd;
}

static enum module_state module_state(struct usdt *u, uint32_t module_id, int fd)
{
	uint8_t *state;

	if (module_id >= u->modules.count)
		vec_add_zeroed(&u->modules, module_id + 1 - u->modules.count);
	state = &u->modules.items[module_id];
	if (*state == MODULE_NEW)
		*state = find_file(u, fd) == NO_USDT_FILE ? MODULE_WITHOUT : MODULE_WITH_PROBES;
	return *state;
}

static void on_map(void *ctx, const struct rec_map *map, int fd)
{
	_cleanup_close_ int own = -1;
	struct usdt *u = ctx;
	uint32_t file;

	if (map->module_id == NO_REC_MODULE || fd < 0 ||
	    module_state(u, map->module_id, fd) != MODULE_WITH_PROBES)
		return;
	own = open_mapped(map, fd);
	file = own < 0 ? NO_USDT_FILE : find_file(u, own);
	if (file != NO_USDT_FILE)
		attach_file(u, map->rec.pid, file);
}

static void on_exit_of(void *ctx, struct live_process *process, uint64_t time)
{
	(void)time;
	forget(ctx, process->pid);
}

static void announce(void *state)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.exit = on_exit_of,
	};
	struct usdt *u = state;
	const struct mapping_watcher watcher = {
		.expect = on_expected,
		.await = on_await,
		.map = on_map,
		.ctx = u,
	};

	live_processes_listen(tracker_processes(u->live->tracker), &listener, u);
	tracker_watch_mappings(u->live->tracker, &watcher);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct usdt *u = state;

	(void)err;
	if (enable)
		uprobe_jobs_wait(u->jobs);
	u->skeleton->bss->markers.since = enable ? clock_monotonic_ns() : 0;
	if (!enable)
		uprobe_jobs_stop(u->jobs);
	return 0;
}

static void pause_probes(void *state, bool pause)
{
	struct usdt *u = state;

	u->skeleton->bss->markers.since = pause ? 0 : clock_monotonic_ns();
}

/* A process has been forked, or one has lost what was attached. */
static void take_task(struct usdt *u, const struct rec_usdt_task *task)
{
	uint32_t pid = task->rec.pid, source = task->parent_pid ? task->parent_pid : pid;
	bool has_room = u->attachments.count < FEW_ATTACHED;
	uint64_t wanted = 0;

	_Static_assert(USDT_FILES_MAX <= 64, "a bit for each file");
	for (uint32_t i = 0; i < u->probes.files.count; i++) {
		if (has_room || has_attached(u, source, i))
			wanted |= 1ull << i;
	}
	forget(u, pid);
	for (uint32_t i = 0; i < u->probes.files.count; i++) {
		if (wanted >> i & 1)
			attach_file(u, pid, i);
	}
}

/* Names of schemas are unique. */
static bool is_schema_name(const struct usdt *u, const char *name)
{
	_cleanup_free_ char *wanted = NULL;

	vec_for_each(&u->probes.probes, const struct usdt_probe *, probe) {
		free(wanted);
		wanted = xasprintf("usdt %s:%s", probe->provider, probe->name);
		if (probe->has_schema && strcmp(wanted, name) == 0)
			return true;
	}
	return false;
}

static void send_schema(struct usdt *u, struct usdt_probe *probe)
{
	_cleanup_free_ char *name = xasprintf("usdt %s:%s", probe->provider, probe->name);
	_cleanup_(strbuf_release) struct strbuf label = {0};
	char keys[USDT_ARGUMENTS_MAX][8], labels[USDT_ARGUMENTS_MAX][16];
	struct marker_schema schema = {.shown = SHOWN};

	probe->schema = instrument_new_schema(u->live);
	if (is_schema_name(u, name)) {
		free(name);
		name = xasprintf("usdt %s:%s (%u)", probe->provider, probe->name, probe->schema);
	}
	probe->has_schema = true;
	usdt_pattern_print_label(probe->pattern, probe->argument_count, &label);
	schema.name = name;
	schema.label = strbuf_text(&label);
	for (uint32_t i = 0; i < probe->argument_count; i++) {
		bool is_text = (probe->pattern->texts | probe->pattern->hexadecimals) >> i & 1;

		snprintf(keys[i], sizeof(keys[i]), "arg%u", i + 1);
		snprintf(labels[i], sizeof(labels[i]), "Argument %u", i + 1);
		schema.fields[i].type = is_text ? FIELD_STRING : FIELD_INTEGER;
		schema.fields[i].key = keys[i];
		schema.fields[i].label = labels[i];
	}
	marker_announce(u->live, &schema, probe->schema);
}

_Static_assert(USDT_ARGUMENTS_MAX <= MARKER_SCHEMA_FIELDS_MAX &&
		       USDT_ARGUMENTS_MAX <= MARKER_RECORD_VALUES_MAX,
	       "all arguments have room");

/* Numbers in hexadecimal have room in `texts`. */
static void set_values(struct marker_record *marker, const struct usdt_probe *probe,
		       const struct rec_usdt *rec, char texts[USDT_ARGUMENTS_MAX][20])
{
	for (uint32_t i = 0; i < probe->argument_count; i++) {
		uint64_t value = rec->values[i];
		uint32_t at = (uint32_t)value, size = (uint32_t)(value >> 32);

		if (!(rec->readable >> i & 1))
			continue;
		if (rec->texts >> i & 1) {
			if (at <= rec->text_size && size <= rec->text_size - at)
				marker_set_text(marker, i,
						(struct marker_text){rec->text + at, size});
		} else if (probe->pattern->hexadecimals >> i & 1) {
			snprintf(texts[i], sizeof(texts[i]), "0x%" PRIx64, value);
			marker_set_text(marker, i, marker_text(texts[i]));
		} else {
			marker_set_number(marker, i, FIELD_INTEGER, value);
		}
	}
}

static void take_hit(struct usdt *u, const struct rec_usdt *rec)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	char texts[USDT_ARGUMENTS_MAX][20];
	struct marker_record marker;
	struct usdt_probe *probe;

	if (rec->probe >= u->probes.probes.count)
		return;
	probe = &u->probes.probes.items[rec->probe];
	if (!probe->has_schema)
		send_schema(u, probe);
	usdt_pattern_print_name(probe->pattern, probe->provider, probe->name, &name);
	marker = marker_begin(probe->schema, &rec->rec, &rec->stack);
	marker.name = marker_text(strbuf_text(&name));
	set_values(&marker, probe, rec, texts);
	marker_send(u->live, &marker);
}

static void take(void *state, const struct rec *rec)
{
	if (rec->kind == REC_USDT_TASK)
		take_task(state, (const struct rec_usdt_task *)rec);
	else
		take_hit(state, (const struct rec_usdt *)rec);
}

static void count(void *state, uint64_t time)
{
	struct usdt *u = state;

	marker_count(u->live, u->skeleton->bss->markers.lost, &u->lost, time);
}

static void warn(const struct usdt *u, const struct uprobe_jobs_stats *stats, struct report *r)
{
	for (uint32_t i = 0; i < u->probes.settings->count; i++) {
		const struct usdt_pattern *pattern = &u->probes.settings->patterns[i];

		if (!(u->probes.met >> i & 1))
			report_warning(r,
				       "no probe %s:%s was found in the files that the recorded "
				       "processes mapped",
				       pattern->provider, pattern->name);
	}
	if (stats->failed)
		report_warning(r, "%" PRIu64 " probes (USDT) are not recorded: %s", stats->failed,
			       stats->failure.text);
	if (stats->left_out || u->probes.left_out)
		report_warning(r,
			       "probes (USDT) are missing: there were too many, in %" PRIu64
			       " files of processes",
			       stats->left_out + u->probes.left_out);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	static const struct marker_facts facts = {FACT_USDT_RECORDED, FACT_USDT_LOST};
	const struct usdt *u = state;
	struct uprobe_jobs_stats stats = {0};
	uint64_t places = 0;

	(void)tally;
	if (!u->skeleton || !u->jobs)
		return;
	uprobe_jobs_get_stats(u->jobs, &stats);
	vec_for_each(&u->probes.files, struct usdt_file *const *, file)
		places += (*file)->places.count;
	marker_report(r, "usdt", &facts, u->skeleton->bss->markers.sent,
		      u->skeleton->bss->markers.lost);
	facts_count(&r->facts, FACT_USDT_PLACES, NULL, places);
	facts_count(&r->facts, FACT_USDT_ATTACHED, NULL, stats.attached);
	facts_count(&r->facts, FACT_USDT_FAILED, NULL, stats.failed);
	facts_count(&r->facts, FACT_USDT_LEFT_OUT, NULL, stats.left_out + u->probes.left_out);
	warn(u, &stats, r);
}

static int add_pattern(void *settings, const char *value, struct error *err)
{
	struct usdt_settings *s = settings;
	int code;

	if (s->count == USDT_PATTERNS_MAX)
		return error_text(err, -EINVAL, "--usdt can be given %d times", USDT_PATTERNS_MAX);
	code = usdt_pattern_parse(&s->patterns[s->count], value, err);
	if (!code)
		s->count++;
	return code;
}

static const struct instrument_option options[] = {
	{.name = "usdt",
	 .argument = "PROBE[=LABEL]",
	 .help = "mark each hit of a program's USDT probe, with its arguments",
	 .after = "jank",
	 .set = add_pattern},
	{0},
};

const struct instrument instrument_usdt = {
	.name = "usdt",
	.options = options,
	.settings_size = sizeof(struct usdt_settings),
	.takes = INSTRUMENT_TAKES(REC_USDT) | INSTRUMENT_TAKES(REC_USDT_TASK),
	.is_wanted = is_wanted,
	.create = create,
	.destroy = destroy,
	.configure = configure,
	.open_object = open_usdt_bpf,
	.close_object = close_usdt_bpf,
	.attach = attach,
	.announce = announce,
	.enable = enable,
	.pause = pause_probes,
	.take = take,
	.count = count,
	.report = report,
};
