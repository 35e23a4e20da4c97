/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <link.h>
#include <math.h>
#include <time.h>

#include "bpf/alloc_record.h"
#include "bpf/config.h"
#include "bpf/live_record.h"
#include "lib/base/open_file.h"
#include "lib/base/program.h"
#include "lib/code/binary/binary.h"
#include "lib/live/bpf/uprobe.h"
#include "lib/live/features.h"
#include "lib/live/instruments/allocs/allocs.h"
#include "lib/live/instruments/allocs/emulated_entry.h"
#include "lib/live/instruments/marker_instrument.h"
#include "lib/live/instruments/usdt/probed_processes.h"
#include "lib/live/instruments/usdt/usdt_probes.h"
#include "allocs.skel.h"
#include "lib/live/recorder.h"
#include "bpf/record.h"
#include "lib/base/option_value.h"
#include "lib/stream/record/records.h"

/* Measures the time that a program spends in a probe: up to 10 us on some machines. */

struct call_cost {
	double call_ns; /* cost of a function probed at its entry */
	double return_ns; /* additional cost of a function also probed at its return */
};

/* Programs whose allocations are not reported: static, set-user-ID, or with another libc. */

struct unheard_programs {
	const struct probed_processes *probed; /* borrowed */
	struct live_processes *processes; /* borrowed */
	struct process_state state;
	VEC(char *) names; /* distinct program names */
};

/* The functions of an allocator without probes: libc's, or one that another file contains. */

static const struct {
	const char *name;
	enum alloc_function function;
} functions[] = {
	{"malloc", ALLOC_SIZE},
	{"free", ALLOC_FREE},
	{"calloc", ALLOC_COUNT_SIZE},
	{"realloc", ALLOC_REALLOC},
	{"reallocarray", ALLOC_REALLOCARRAY},
	{"memalign", ALLOC_OTHER_SIZE},
	{"aligned_alloc", ALLOC_OTHER_SIZE},
	{"posix_memalign", ALLOC_POSIX_MEMALIGN},
	{"valloc", ALLOC_SIZE},
	{"pvalloc", ALLOC_SIZE},
	/* operator new and delete of allocators with implementations of their own. */
	{"_Znwm", ALLOC_SIZE},
	{"_Znam", ALLOC_SIZE},
	{"_ZdlPv", ALLOC_FREE},
	{"_ZdaPv", ALLOC_FREE},
	{"_ZdlPvm", ALLOC_FREE},
	{"_ZdaPvm", ALLOC_FREE},
};

#define FUNCTION_COUNT (sizeof(functions) / sizeof(*functions))
#define MALLOC 0
#define FREE 1

/* Names may end in "@VERSION". */
static size_t find_function(const char *name)
{
	size_t size = strcspn(name, "@");

	for (size_t i = 0; i < FUNCTION_COUNT; i++) {
		if (strlen(functions[i].name) == size &&
		    strncmp(functions[i].name, name, size) == 0)
			return i;
	}
	return FUNCTION_COUNT;
}

static bool alloc_functions_find_offset(const struct binary_summary *summary, uint64_t vaddr,
					uint64_t *offset)
{
	for (size_t i = 0; i < summary->segment_count; i++) {
		const struct binary_segment *segment = &summary->segments[i];

		if (!segment->executable || vaddr < segment->vaddr ||
		    vaddr - segment->vaddr >= segment->file_size)
			continue;
		*offset = vaddr - segment->vaddr + segment->file_offset;
		return true;
	}
	return false;
}

/* Returns the offset of the instruction to probe, which every call executes. */
static uint64_t choose_place(const struct binary_summary *summary, int fd, uint64_t entry)
{
	uint8_t code[EMULATED_ENTRY_BYTES];
	ssize_t size;

	if (summary->machine != EM_X86_64)
		return entry;
	size = read_at(fd, code, sizeof(code), entry);
	return size < 0 ? entry : entry + emulated_entry_find(code, (size_t)size);
}

static bool has_place(const struct usdt_file *file, uint64_t offset)
{
	return vec_find(&file->places, place, place->offset == offset);
}

/*
 * Ignores files with only some of the functions, which are not allocators: libstdc++'s operator new
 * calls malloc().
 */
static void read_symbols(struct usdt_file *file, int fd, const struct binary *b,
			 const struct binary_summary *summary, bool returning)
{
	struct binary_symbols symbols = {0};
	bool found[FUNCTION_COUNT] = {false};

	binary_add_symbols(b, NULL, &symbols);
	vec_for_each(&symbols.rows, const struct binary_symbol *, symbol) {
		size_t i = symbol->is_func && symbol->binding != BINARY_LOCAL
				   ? find_function(symbol->name)
				   : FUNCTION_COUNT;
		struct uprobe_place place = {0};

		if (i == FUNCTION_COUNT)
			continue;
		found[i] = true;
		place.cookie = functions[i].function;
		if ((returning && functions[i].function == ALLOC_FREE) ||
		    !alloc_functions_find_offset(summary, symbol->vaddr, &place.offset))
			continue;
		place.offset = choose_place(summary, fd, place.offset);
		if (!has_place(file, place.offset))
			vec_push(&file->places, place);
	}
	if (!found[MALLOC] || !found[FREE])
		vec_clear(&file->places);
	vec_release(&symbols.rows);
}

static void read_functions(struct usdt_file *file, int fd, bool returning)
{
	struct binary_summary summary = {0};
	struct binary *b = NULL;

	if (binary_summarize(fd, &summary, NULL) == 0 && summary.is_64bit &&
	    binary_open(&b, fd, NULL) == 0)
		read_symbols(file, fd, b, &summary, returning);
	binary_free(b);
	binary_summary_release(&summary);
}

/* Readers of struct usdt_probes: all functions, and those that return a block. */
static void alloc_functions_read(struct usdt_file *file, int fd)
{
	read_functions(file, fd, false);
}

static void alloc_functions_read_returning(struct usdt_file *file, int fd)
{
	read_functions(file, fd, true);
}

/* Number of rounds, of which the fastest counts: other tasks may take the CPU. */
#define ROUNDS 10
#define CALLS 200

__attribute__((noinline)) static void probed_function(void)
{
	asm volatile("nop\n\tnop" ::: "memory");
}

/* Searches the program itself, which is the first object. */
static int call_cost_find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
	uint64_t *offset = ctx, vaddr = (uintptr_t)probed_function - info->dlpi_addr;

	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD && vaddr - segment->p_vaddr < segment->p_filesz)
			*offset = vaddr - segment->p_vaddr + segment->p_offset;
	}
	return 1;
}

static double time_call(void)
{
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t start = clock_thread_cpu_ns(), took;

		for (int i = 0; i < CALLS; i++)
			probed_function();
		took = clock_thread_cpu_ns() - start;
		least = MIN(least, took);
	}
	return (double)least / CALLS;
}

/*
 * Attaches the programs to a function of prof's own that is not called otherwise. The caller owns
 * the links and may leave them open, as closing takes long. Returns 0 or -errno with err.
 */
static int call_cost_measure(struct call_cost *cost, int program, int return_program,
			     uint32_t flags, struct uprobe_links *links, struct error *err)
{
	_cleanup_close_ int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct uprobe_place place = {.cookie = ALLOC_SIZE};
	struct uprobe_target target = {
		.program = program,
		.flags = flags,
		.file = file,
		.pid = (uint32_t)getpid(),
		.places = &place,
		.count = 1,
	};

	dl_iterate_phdr(call_cost_find_offset, &place.offset);
	if (file < 0 || !place.offset)
		return error_text(err, -ENOENT, "cannot find the program's own file");
#ifdef __x86_64__
	place.offset += emulated_entry_find((const uint8_t *)(uintptr_t)probed_function,
					    EMULATED_ENTRY_BYTES);
#endif
	if (uprobe_attach(&target, links, err) != 1)
		return -EIO;
	cost->call_ns = time_call();
	target.program = return_program;
	target.flags |= UPROBE_RETURNS;
	if (uprobe_attach(&target, links, err) != 1)
		return -EIO;
	cost->return_ns = time_call() - cost->call_ns;
	return 0;
}

#define NAMES_MAX 100
#define NAMES_SHOWN 5
#define NAME_SIZE 64

/* State of a process since its last exec. */
struct program_state {
	bool is_executed, is_heard;
	char name[NAME_SIZE]; /* name of the file; empty: still unknown */
};

static struct program_state *state_of(const struct unheard_programs *u, struct live_process *p)
{
	return live_process_state(p, u->state);
}

static void end_program(struct unheard_programs *u, struct program_state *s)
{
	if (!s->is_executed || s->is_heard || !s->name[0])
		return;
	if (vec_find(&u->names, name, strcmp(*name, s->name) == 0))
		return;
	if (u->names.count < NAMES_MAX)
		vec_push(&u->names, xstrdup(s->name));
}

static void on_exec(void *ctx, struct live_process *process, uint64_t time)
{
	struct program_state *s = state_of(ctx, process);

	end_program(ctx, s);
	*s = (struct program_state){.is_executed = true};
}

static void on_exit_of(void *ctx, struct live_process *process, uint64_t time)
{
	struct program_state *s = state_of(ctx, process);

	end_program(ctx, s);
	s->is_executed = false;
}

/* The program's own file is mapped first. */
static void read_name(struct program_state *s, int fd)
{
	char link[32], path[4096];
	const char *base;
	ssize_t size;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = readlink(link, path, sizeof(path) - 1);
	if (fd < 0 || size < 0)
		return;
	path[size] = '\0';
	base = strrchr(path, '/');
	snprintf(s->name, sizeof(s->name), "%.*s", NAME_SIZE - 1, base ? base + 1 : path);
}

static void on_map(void *ctx, const struct rec_map *map, int fd)
{
	struct unheard_programs *u = ctx;
	struct live_process *process;
	struct program_state *s;

	if (map->module_id == NO_REC_MODULE)
		return;
	process = live_processes_find(u->processes, map->rec.pid, map->rec.time);
	if (!process)
		return;
	s = state_of(u, process);
	if (!s->name[0])
		read_name(s, fd);
	if (probed_processes_have(u->probed, map->module_id))
		s->is_heard = true;
}

/* Follows the processes of the tracker, after `probed` does. */
static void unheard_programs_watch(struct unheard_programs *u,
				   const struct probed_processes *probed, struct tracker *tracker)
{
	static const struct process_listener listener = {
		.stage = LISTENER_HOLDS,
		.state_size = sizeof(struct program_state),
		.exec = on_exec,
		.exit = on_exit_of,
	};
	const struct mapping_watcher watcher = {.map = on_map, .ctx = u};

	u->probed = probed;
	u->processes = tracker_processes(tracker);
	u->state = live_processes_listen(u->processes, &listener, u);
	tracker_watch_mappings(tracker, &watcher);
}

static void unheard_programs_release(struct unheard_programs *u)
{
	vec_for_each(&u->names, char **, name)
		free(*name);
	vec_release(&u->names);
}

/* Adds the processes that are still alive when recording ends. */
static void add_living(struct unheard_programs *u)
{
	struct live_process *process;
	uint32_t at = 0;

	while (u->processes && (process = live_processes_next(u->processes, &at)))
		end_program(u, state_of(u, process));
}

/* Appends "sudo, busybox and 3 more"; nothing if there are none. */
static void unheard_programs_describe(const struct unheard_programs *u, struct strbuf *out)
{
	struct unheard_programs all = {.processes = u->processes, .state = u->state};
	size_t shown;

	vec_for_each(&u->names, char *const *, name)
		vec_push(&all.names, xstrdup(*name));
	add_living(&all);
	shown = all.names.count < NAMES_SHOWN ? all.names.count : NAMES_SHOWN;
	for (size_t i = 0; i < shown; i++)
		strbuf_addf(out, "%s%s", i ? ", " : "", all.names.items[i]);
	if (all.names.count > shown)
		strbuf_addf(out, " and %zu more", all.names.count - shown);
	unheard_programs_release(&all);
}

/*
 * Memory allocations. A command and its descendants load prof-alloc.so, which reports a sample of
 * them by probes; other allocators with such probes are recorded as well. In processes already
 * running, the functions of the allocator are probed.
 */

#define COST_TEXT \
	"--alloc: the processes allocate and free %.0f times a second, which takes %.0f %% of a " \
	"CPU while they are recorded"
#define RATE_MAX 200000
#define RATE_NS 100000000ull

struct allocs {
	struct marker_state base;
	const struct alloc_settings *settings;
	struct usdt_settings probes; /* USDT probes */
	struct allocs_bpf *skeleton;
	struct probed_processes declared, called, returning;
	struct unheard_programs unheard;
	struct uprobe_links shim, measured;
	struct call_cost cost;
	bool is_multi;
	bool has_functions; /* processes already running are recorded */
};

static void stop(struct allocs *a)
{
	probed_processes_stop(&a->declared);
	probed_processes_stop(&a->called);
	probed_processes_stop(&a->returning);
}

static void release(void *state)
{
	struct allocs *a = state;

	probed_processes_release(&a->declared);
	probed_processes_release(&a->called);
	probed_processes_release(&a->returning);
	unheard_programs_release(&a->unheard);
	uprobe_detach(&a->shim);
	uprobe_detach(&a->measured);
}

static bool is_wanted(const void *settings)
{
	const struct alloc_settings *s = settings;

	return s->is_wanted && !s->has_pages;
}

static void preload(const void *settings, struct preload *p)
{
	p->path = companion_path(ALLOC_SHIM_NAME);
	p->variable = xasprintf("PROF_ALLOC_MEAN=%" PRIu64,
				((const struct alloc_settings *)settings)->mean);
}

static void prepare(struct allocs *a)
{
	uprobe_set_type(a->skeleton->obj);
	alloc_settings_sampling(a->settings, &a->skeleton->rodata->alloc_sampling);
	if (a->has_functions)
		return;
	bpf_map__set_max_entries(a->skeleton->maps.alloc_blocks, 1);
	bpf_map__set_max_entries(a->skeleton->maps.alloc_call_map, 1);
}

MARKER_STATE_OBJECT(allocs, prepare, stop)

static void begin(void *state, const void *settings)
{
	static const struct marker_kind kind = {.variables = variables_of_allocs};
	struct allocs *a = state;

	a->base.kind = &kind;
	a->settings = settings;
	usdt_pattern_parse(&a->probes.patterns[0], "otel_memory:alloc", NULL);
	usdt_pattern_parse(&a->probes.patterns[1], "otel_memory:free", NULL);
	a->probes.count = 2;
	a->declared.probes.settings = &a->probes;
	a->called.probes.read = alloc_functions_read;
	a->returning.probes.read = alloc_functions_read_returning;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	_cleanup_free_ char *path = companion_path(ALLOC_SHIM_NAME);
	struct allocs *a = state;

	a->is_multi = uprobe_has_multi();
	a->has_functions = a->base.live->options->targets > 0;
	programs->config.return_probes = a->has_functions;
	if (a->has_functions)
		return 0;
	if (!path || strpbrk(path, ": \t"))
		return error_text(err, -EINVAL,
				  "--alloc: cannot put the folder of prof into LD_PRELOAD: %s",
				  path ? path : "unknown folder");
	if (access(path, R_OK) != 0)
		return error_set(err, -errno, "--alloc: cannot read %s", path);
	return 0;
}

/* Attaches to the probes of prof's own library wherever it is loaded: only recordings load it. */
static int attach_shim(struct allocs *a, struct error *err)
{
	_cleanup_free_ char *path = companion_path(ALLOC_SHIM_NAME);
	_cleanup_close_ int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	const struct uprobe_target target = {
		.program = bpf_program__fd(a->skeleton->progs.on_alloc),
		.flags = a->is_multi ? UPROBE_IS_MULTI : 0,
	};
	int code = fd < 0 ? error_set(err, -ENOENT, "cannot open the library")
			  : probed_processes_attach_all(&a->declared, fd, &target, &a->shim, err);

	if (code)
		error_wrap(err, "--alloc: cannot attach to %s", path ? path : ALLOC_SHIM_NAME);
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
		return error_wrap(err, "--alloc: cannot measure the cost of probes");
	return 0;
}

static void announce(void *state)
{
	struct allocs *a = state;

	probed_processes_watch(&a->declared, a->base.live->tracker);
	if (a->has_functions) {
		probed_processes_watch(&a->called, a->base.live->tracker);
		probed_processes_watch(&a->returning, a->base.live->tracker);
	} else {
		unheard_programs_watch(&a->unheard, &a->declared, a->base.live->tracker);
	}
	alloc_settings_announce(a->settings, a->base.live);
}

/* Leaves the functions of processes with USDT probes unprobed, since these report everything. */
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

/* Rejects a rate that slows the processes down too much. */
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
	error_hint(err, "record the program from its start, or use --alloc-anyway");
	return -EBUSY;
}

static int enable(void *state, bool enable, struct error *err)
{
	struct allocs *a = state;
	int code = 0;

	if (!enable) {
		marker_state_pause(state, true);
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
		marker_state_pause(state, false);
	return code;
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

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	_cleanup_(strbuf_release) struct strbuf unheard = {0};
	const struct allocs *a = state;
	struct uprobe_jobs_stats stats = {0};

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
			    "no allocations were recorded of %s: static, set-user-ID, or with a "
			    "different libc",
			    strbuf_text(&unheard));
	uprobe_jobs_get_stats(a->has_functions ? a->called.jobs : a->declared.jobs, &stats);
	if (stats.failed || stats.left_out)
		report_warning(r, "allocations in %" PRIu64 " process files are not recorded%s%s",
			       stats.failed + stats.left_out, stats.failed ? ": " : "",
			       stats.failed ? stats.failure.text : "");
}

#define MEAN_DEFAULT (512u << 10)
#define PAGES "pages"

/* Parses the value of --alloc: BYTES, pages, pages:BYTES or NULL. Returns 0 or -EINVAL with err. */
static int set_kind(void *settings, const char *value, struct error *err)
{
	static const struct size_range range = {1, 1u << 30, "1 and 1G"};
	struct alloc_settings *s = settings;
	const char *bytes = value;

	s->is_wanted = true;
	s->mean = MEAN_DEFAULT;
	s->has_pages = value && text_starts_with(value, PAGES);
	if (s->has_pages)
		bytes += sizeof(PAGES) - 1;
	if (s->has_pages && *bytes == ':')
		bytes++;
	else if (s->has_pages && !*bytes)
		bytes = NULL;
	return bytes ? option_parse_size("--alloc", bytes, &range, &s->mean, err) : 0;
}

static int set_anyway(void *settings, const char *value, struct error *err)
{
	((struct alloc_settings *)settings)->anyway = true;
	return 0;
}

static int set_held_only(void *settings, const char *value, struct error *err)
{
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

/* Checks whether user code can be probed, also for --usdt. */
static void check_uprobes(struct machine *m, struct feature *f)
{
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
	{0, "alloc", "[=BYTES]",
	 "sample allocations of memory, one per BYTES on average (512K); or pages", "usdt",
	 set_kind, .is_plain = true},
	{0, "leaks-only", NULL, "with --alloc: keep only allocations that are held at the end",
	 NULL, set_held_only, .is_plain = true},
	{0, "alloc-anyway", NULL, "with --alloc: attach even if that slows the processes down",
	 NULL, set_anyway, .is_plain = true},
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
	.state_size = sizeof(struct allocs),
	.begin = begin,
	.release = release,
	.configure = configure,
	.open_object = open_allocs_bpf,
	.close_object = close_allocs_bpf,
	.attach = attach,
	.announce = announce,
	.enable = enable,
	.pause = marker_state_pause,
	.take = take,
	.count = marker_state_count,
	.report = report,
};

void alloc_settings_sampling(const struct alloc_settings *settings, struct alloc_sampling *s)
{
	s->mean = settings->mean;
	for (int i = 0; i <= ALLOC_LOG_STEPS; i++)
		s->log2[i] = (uint32_t)(log2(1 + (double)i / ALLOC_LOG_STEPS) * (1 << 26));
	s->weights[0] = 1 << 20;
	for (int i = 1; i <= ALLOC_WEIGHT_STEPS; i++) {
		double x = (double)i * ALLOC_WEIGHT_MAX / ALLOC_WEIGHT_STEPS;

		s->weights[i] = (uint32_t)(x / -expm1(-x) * (1 << 20));
	}
}

void alloc_settings_announce(const struct alloc_settings *s, const struct live *live)
{
	struct rec_setting rec = {.setting = SETTING_HELD_ONLY, .value = 1};

	if (!s->held_only)
		return;
	record_init(&rec.rec, REC_SETTING, sizeof(rec), live->begin_ns, 0, 0);
	live->sink(live->ctx, &rec.rec);
}
