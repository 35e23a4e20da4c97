/* SPDX-License-Identifier: MIT */
/*
 * Allocations of memory. A command and its descendants load prof-alloc.so, which tells of a sample
 * of them by probes; other allocators that have such probes are heard, too. Of processes that run
 * already, the functions of the allocator are probed.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/live_record.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/neighbour.h"
#include "lib/live/feature_probe.h"
#include "lib/live/instruments/allocs/alloc_functions.h"
#include "lib/live/instruments/allocs/alloc_settings.h"
#include "lib/live/instruments/allocs/call_cost.h"
#include "lib/live/instruments/allocs/unheard_programs.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/recorder.h"
#include "allocs.skel.h"

#define COST_TEXT \
	"--alloc: the processes allocate and free %.0f times a second, which takes %.0f %% of a " \
	"CPU while they are recorded"
#define RATE_MAX 200000
#define RATE_NS 100000000ull

struct allocs {
	struct live *live;
	const struct alloc_settings *settings;
	struct usdt_settings probes; /* those that programs have to declare */
	struct allocs_bpf *skeleton;
	struct probed_processes declared, called, returning;
	struct unheard_programs unheard;
	struct uprobe_links shim, measured;
	struct call_cost cost;
	bool is_multi;
	bool has_functions; /* processes that run already are recorded */
	uint64_t lost; /* reported so far */
};

static void *create(struct live *live, const void *settings)
{
	struct allocs *a = xcalloc(1, sizeof(*a));

	a->live = live;
	a->settings = settings;
	usdt_pattern_parse(&a->probes.patterns[0], "otel_memory:alloc", NULL);
	usdt_pattern_parse(&a->probes.patterns[1], "otel_memory:free", NULL);
	a->probes.count = 2;
	a->declared.probes.settings = &a->probes;
	a->called.probes.read = alloc_functions_read;
	a->returning.probes.read = alloc_functions_read_returning;
	return a;
}

static void stop(struct allocs *a)
{
	probed_processes_stop(&a->declared);
	probed_processes_stop(&a->called);
	probed_processes_stop(&a->returning);
}

static void destroy(void *state)
{
	struct allocs *a = state;

	probed_processes_release(&a->declared);
	probed_processes_release(&a->called);
	probed_processes_release(&a->returning);
	unheard_programs_release(&a->unheard);
	uprobe_detach(&a->shim);
	uprobe_detach(&a->measured);
	free(a);
}

static bool is_wanted(const void *settings)
{
	const struct alloc_settings *s = settings;

	return s->is_wanted && !s->has_pages;
}

static void preload(const void *settings, struct preload *p)
{
	p->path = neighbour_path(ALLOC_SHIM_NAME);
	p->variable = xasprintf("PROF_ALLOC_MEAN=%" PRIu64,
				((const struct alloc_settings *)settings)->mean);
}

static void prepare(struct allocs *a)
{
	struct bpf_program *const programs[] = {a->skeleton->progs.on_alloc,
						a->skeleton->progs.on_alloc_call,
						a->skeleton->progs.on_alloc_return};

	for (size_t i = 0; a->is_multi && i < sizeof(programs) / sizeof(*programs); i++)
		bpf_program__set_expected_attach_type(programs[i],
						      (enum bpf_attach_type)UPROBE_MULTI);
	alloc_settings_sampling(a->settings, &a->skeleton->rodata->alloc_sampling);
	if (a->has_functions)
		return;
	bpf_map__set_max_entries(a->skeleton->maps.alloc_blocks, 1);
	bpf_map__set_max_entries(a->skeleton->maps.alloc_call_map, 1);
}

PROGRAMS_OBJECT(struct allocs, skeleton, allocs_bpf, prepare, stop)

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	_cleanup_free_ char *path = neighbour_path(ALLOC_SHIM_NAME);
	struct allocs *a = state;

	a->is_multi = uprobe_has_multi();
	a->has_functions = a->live->options->targets > 0;
	programs->config.return_probes = a->has_functions;
	if (a->has_functions)
		return 0;
	if (!path || strpbrk(path, ": \t"))
		return error_text(err, -EINVAL,
				  "--alloc: the folder of prof has a name that LD_PRELOAD cannot "
				  "have: %s",
				  path ? path : "it is unknown");
	if (access(path, R_OK) != 0)
		return error_set(err, -errno, "--alloc: read %s", path);
	return 0;
}

/* Attaches to the probes of prof's own library wherever it is loaded: only recordings do. */
static int attach_shim(struct allocs *a, struct error *err)
{
	_cleanup_free_ char *path = neighbour_path(ALLOC_SHIM_NAME);
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	const struct uprobe_target target = {
		.program = bpf_program__fd(a->skeleton->progs.on_alloc),
		.flags = a->is_multi ? UPROBE_IS_MULTI : 0,
	};
	int code = fd < 0 ? error_set(err, -ENOENT, "open it")
			  : probed_processes_attach_all(&a->declared, fd, &target, &a->shim, err);

	if (code)
		error_wrap(err, "--alloc: attach to %s", path ? path : ALLOC_SHIM_NAME);
	return code;
}

static int attach(void *state, struct error *err)
{
	struct allocs *a = state;
	uint32_t flags = a->is_multi ? UPROBE_IS_MULTI : 0;

	probed_processes_begin(&a->declared, bpf_program__fd(a->skeleton->progs.on_alloc), flags,
			       bpf_map__fd(a->skeleton->maps.alloc_layouts));
	if (!a->has_functions)
		return attach_shim(a, err);
	probed_processes_begin(&a->called, bpf_program__fd(a->skeleton->progs.on_alloc_call), flags,
			       -1);
	probed_processes_begin(&a->returning, bpf_program__fd(a->skeleton->progs.on_alloc_return),
			       flags | UPROBE_RETURNS, -1);
	if (call_cost_measure(&a->cost, bpf_program__fd(a->skeleton->progs.on_alloc_call),
			      bpf_program__fd(a->skeleton->progs.on_alloc_return), flags,
			      &a->measured, err))
		return error_wrap(err, "--alloc: measure what probes cost");
	return 0;
}

static void announce(void *state)
{
	struct allocs *a = state;

	probed_processes_watch(&a->declared, a->live->tracker);
	if (a->has_functions) {
		probed_processes_watch(&a->called, a->live->tracker);
		probed_processes_watch(&a->returning, a->live->tracker);
	} else {
		unheard_programs_watch(&a->unheard, &a->declared, a->live->tracker);
	}
	alloc_settings_announce(a->settings, a->live);
}

/* Leaves the functions of processes alone that declare probes, and tell all by themselves. */
static void prefer_declared(struct allocs *a)
{
	vec_for_each(&a->declared.attachments, const struct probe_attachment *, row) {
		probed_processes_forget(&a->called, row->pid);
		probed_processes_forget(&a->returning, row->pid);
	}
}

struct alloc_counts {
	uint64_t frees, others;
};

static struct alloc_counts counts_of(const struct allocs *a)
{
	return (struct alloc_counts){a->skeleton->bss->alloc_frees, a->skeleton->bss->alloc_others};
}

/* Refuses what slows the processes down too much. */
static int judge_rate(struct allocs *a, struct error *err)
{
	struct alloc_counts before = counts_of(a), after;
	uint64_t start = clock_monotonic_ns();
	struct timespec pause = {.tv_nsec = (long)RATE_NS};
	double seconds, frees, others, busy;

	nanosleep(&pause, NULL);
	after = counts_of(a);
	seconds = (double)(clock_monotonic_ns() - start) / 1e9;
	frees = (double)(after.frees - before.frees) / seconds;
	others = (double)(after.others - before.others) / seconds;
	busy = ((frees + others) * a->cost.call_ns + others * a->cost.return_ns) / 1e9;
	if (frees + others <= RATE_MAX) {
		log_info(COST_TEXT, frees + others, 100 * busy);
		return 0;
	}
	if (a->settings->anyway) {
		log_warn(COST_TEXT, frees + others, 100 * busy);
		return 0;
	}
	error_text(err, -EBUSY, COST_TEXT, frees + others, 100 * busy);
	error_hint(err, "record the program from its start, or give --alloc-anyway");
	return -EBUSY;
}

static int enable(void *state, bool enable, struct error *err)
{
	struct allocs *a = state;
	int code = 0;

	if (!enable) {
		a->skeleton->bss->markers.since = 0;
		stop(a);
		return 0;
	}
	uprobe_jobs_wait(a->declared.jobs);
	if (a->has_functions) {
		prefer_declared(a);
		uprobe_jobs_wait(a->returning.jobs);
		uprobe_jobs_wait(a->called.jobs);
		code = judge_rate(a, err);
	}
	if (!code)
		a->skeleton->bss->markers.since = clock_monotonic_ns();
	return code;
}

static void pause_allocs(void *state, bool pause)
{
	struct allocs *a = state;

	a->skeleton->bss->markers.since = pause ? 0 : clock_monotonic_ns();
}

static void take(void *state, const struct rec *rec)
{
	const struct rec_usdt_task *task = (const struct rec_usdt_task *)rec;
	struct allocs *a = state;

	probed_processes_task(&a->declared, task);
	if (!a->has_functions)
		return;
	probed_processes_task(&a->called, task);
	probed_processes_task(&a->returning, task);
}

static void count(void *state, uint64_t time)
{
	struct allocs *a = state;

	marker_count(a->live, a->skeleton->bss->markers.lost, &a->lost, time);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	_cleanup_(strbuf_release) struct strbuf unheard = {0};
	const struct allocs *a = state;
	struct uprobe_jobs_stats stats = {0};

	(void)tally;
	if (!a->skeleton || !a->declared.jobs)
		return;
	report_feature(r, "alloc");
	facts_count(&r->facts, FACT_ALLOCS_RECORDED, NULL, a->skeleton->bss->markers.sent);
	facts_count(&r->facts, FACT_ALLOCS_LOST, NULL, a->skeleton->bss->markers.lost);
	facts_count(&r->facts, FACT_ALLOC_MEAN, NULL, a->settings->mean);
	facts_count(&r->facts, FACT_ALLOC_OVERFLOW, NULL, a->skeleton->bss->alloc_overflow);
	unheard_programs_describe(&a->unheard, &unheard);
	if (unheard.size)
		report_line(r,
			    "no allocations are known of %s: static, set-user-id, or of another "
			    "libc",
			    strbuf_text(&unheard));
	uprobe_jobs_get_stats(a->has_functions ? a->called.jobs : a->declared.jobs, &stats);
	if (stats.failed || stats.left_out)
		report_warning(r,
			       "allocations of %" PRIu64 " files of processes are not recorded%s%s",
			       stats.failed + stats.left_out, stats.failed ? ": " : "",
			       stats.failed ? stats.failure.text : "");
}

static int set_kind(void *settings, const char *value, struct error *err)
{
	return alloc_settings_parse(settings, value, err);
}

static int set_anyway(void *settings, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct alloc_settings *)settings)->anyway = true;
	return 0;
}

static int set_held_only(void *settings, const char *value, struct error *err)
{
	(void)value;
	(void)err;
	((struct alloc_settings *)settings)->held_only = true;
	return 0;
}

static int judge(const void *settings, struct error *err)
{
	const struct alloc_settings *s = settings;

	if (!s->is_wanted && (s->anyway || s->held_only))
		return error_text(err, -EINVAL, "--%s needs --alloc",
				  s->anyway ? "alloc-anyway" : "leaks-only");
	return 0;
}

/* Tells whether programs of user code can be probed, for --usdt as well. */
static void check_uprobes(struct machine *m, struct feature *f)
{
	(void)m;
	if (uprobe_has_multi()) {
		feature_set(f, FEATURE_OK, "of whole files at once");
	} else if (uprobe_is_available()) {
		feature_set(f, FEATURE_OK, "one by one");
	} else {
		feature_set(f, FEATURE_NOTE,
			    "the kernel has none: --alloc and --usdt cannot be used");
		feature_hint(f, "use a kernel built with CONFIG_UPROBE_EVENTS");
	}
}

static const struct instrument_check checks[] = {
	{.name = "user probes", .after = "waits", .run = check_uprobes},
	{0},
};

static const struct instrument_option options[] = {
	{.name = "alloc",
	 .argument = "[=BYTES]",
	 .is_plain = true,
	 .help = "sample allocations of memory, one for BYTES on average (512K); or pages",
	 .after = "usdt",
	 .set = set_kind},
	{.name = "leaks-only",
	 .is_plain = true,
	 .help = "with --alloc: keep only what is held at the end",
	 .set = set_held_only},
	{.name = "alloc-anyway",
	 .is_plain = true,
	 .help = "with --alloc: attach even if that slows the processes down",
	 .set = set_anyway},
	{0},
};

const struct instrument instrument_allocs = {
	.name = "allocs",
	.options = options,
	.checks = checks,
	.settings_size = sizeof(struct alloc_settings),
	.takes = INSTRUMENT_TAKES(REC_ALLOC_TASK),
	.judge = judge,
	.is_wanted = is_wanted,
	.preload = preload,
	.create = create,
	.destroy = destroy,
	.configure = configure,
	.open_object = open_allocs_bpf,
	.close_object = close_allocs_bpf,
	.attach = attach,
	.announce = announce,
	.enable = enable,
	.pause = pause_allocs,
	.take = take,
	.count = count,
	.report = report,
};
