/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/utsname.h>

#include "lib/base/option_value.h"
#include "lib/live/bpf/programs_object.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/features.h"
#include "lib/live/instrument.h"
#include "lib/live/recorder.h"
#include "lib/stream/record/records.h"
#include "waits.skel.h"

/* Threads off the CPU: a program at each context switch, see bpf/probes/waits.bpf.c. */

/* Stacks per second and CPU. */
#define DEFAULT_RATE_HZ 2000
/* Minimum stacks per window, so that a low rate does not depend on chance. */
#define QUOTA_MIN 10
#define WINDOW_NS 100000000ull
#define NS_PER_SECOND 1e9
#define NS_PER_MS 1e6
/* Minimum length of waits that become markers. */
#define DEFAULT_SLOW_MS 10
/* First version in which real-time kernels allow writing to rings during a context switch. */
#define REAL_TIME_MAJOR_MIN 6
#define REAL_TIME_MINOR_MIN 12

enum waits_mode {
	WAITS_DEFAULT, /* record waits, unless system-wide or limited to some CPUs */
	WAITS_OFF,
	WAITS_SAMPLED,
	WAITS_ALL,
};

struct waits_settings {
	enum waits_mode mode;
	double rate_hz; /* 0: the default */
	bool has_slow;
	double slow_ms; /* valid if has_slow; 0: no markers */
};

struct waits {
	struct live *live;
	const struct waits_settings *settings;
	bool is_on;
	struct waits_bpf *skeleton;
	struct bpf_link *link; /* link of the program for context switches; NULL: not recording */
	const struct cpu_list *possible;
	struct switch_state *states; /* last values read, by index into `possible` */
	uint64_t *lost; /* stacks already reported as lost, by index into `possible` */
};

static void begin(void *state, const void *settings)
{
	struct waits *w = state;

	w->settings = settings;
	w->possible = &w->live->counters->possible;
	w->states = xcalloc(w->possible->count, sizeof(*w->states));
	w->lost = xcalloc(w->possible->count, sizeof(*w->lost));
}

static bool is_wanted(const struct waits *w)
{
	const struct live *live = w->live;

	if (w->settings->mode == WAITS_DEFAULT)
		return (!live->options->filter->all || live->options->filter->is_subject) &&
		       !live->only->count;
	return w->settings->mode != WAITS_OFF;
}

static bool kernel_can(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname name;

	if (uname(&name) || !strstr(name.version, "PREEMPT_RT") ||
	    sscanf(name.release, "%u.%u", &major, &minor) != 2)
		return true;
	return major > REAL_TIME_MAJOR_MIN ||
	       (major == REAL_TIME_MAJOR_MIN && minor >= REAL_TIME_MINOR_MIN);
}

static void set_limits(const struct waits *w, struct bpf_config *config)
{
	double hz = w->settings->rate_hz > 0 ? w->settings->rate_hz : DEFAULT_RATE_HZ;
	double quota = hz * (double)WINDOW_NS / NS_PER_SECOND;
	uint64_t intervals = 2 * w->live->interval_ns;

	config->waits = true;
	config->wait_long_ns = intervals < WAIT_CERTAIN_NS ? intervals : WAIT_CERTAIN_NS;
	if (w->settings->mode == WAITS_ALL)
		return;
	config->wait_quota = quota > QUOTA_MIN ? (uint32_t)quota : QUOTA_MIN;
	config->wait_window_ns = (uint64_t)(config->wait_quota * NS_PER_SECOND / hz);
}

static void prepare(struct waits *w)
{
	bpf_program__set_autoattach(w->skeleton->progs.on_switch, false);
}

static void finish(struct waits *w)
{
	bpf_link__destroy(steal(w->link));
}

PROGRAMS_OBJECT(struct waits, skeleton, waits_bpf, prepare, finish)

static void drop(void *ctx, struct programs_options *programs)
{
	struct waits *w = ctx;

	w->is_on = false;
	programs->config.waits = false;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct waits *w = state;
	const struct programs_part part = {
		.open = open_waits_bpf,
		.close = close_waits_bpf,
		.ctx = w,
		.optional = w->settings->mode == WAITS_DEFAULT ? "waits" : NULL,
		.drop = drop,
	};

	if (!is_wanted(w))
		return 0;
	if (!kernel_can()) {
		if (w->settings->mode != WAITS_DEFAULT)
			return error_text(
				err, -ENOTSUP,
				"--off-cpu: cannot record waits on real-time kernels before 6.12");
		log_warn("waits are not recorded: unsupported on real-time kernels before 6.12");
		return 0;
	}
	w->is_on = true;
	set_limits(w, &programs->config);
	programs_add_part(programs, &part);
	return 0;
}

static void release(void *state)
{
	struct waits *w = state;

	free(w->states);
	free(w->lost);
}

static int read_states(struct waits *w)
{
	uint32_t zero = 0;

	return bpf_map_lookup_elem(bpf_map__fd(w->skeleton->maps.switch_states), &zero, w->states);
}

static void announce(void *state)
{
	const struct waits *w = state;
	double ms = w->settings->has_slow ? w->settings->slow_ms : DEFAULT_SLOW_MS;
	struct rec_setting rec = {
		.setting = SETTING_SLOW_NS,
		.value = (uint64_t)(ms * NS_PER_MS),
	};

	if (!w->is_on || !rec.value)
		return;
	record_init(&rec.rec, REC_SETTING, sizeof(rec), w->live->begin_ns, 0, 0);
	w->live->sink(w->live->ctx, &rec.rec);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct waits *w = state;

	if (!w->is_on)
		return 0;
	bpf_link__destroy(steal(w->link));
	if (!enable)
		return 0;
	w->skeleton->bss->waits_since = clock_monotonic_ns();
	w->link = bpf_program__attach_trace(w->skeleton->progs.on_switch);
	return w->link ? 0
		       : error_set(err, -errno, "cannot attach the program to context switches");
}

static void pause_waits(void *state, bool pause)
{
	struct waits *w = state;

	if (w->is_on)
		w->skeleton->bss->waits_since = pause ? 0 : clock_monotonic_ns();
}

/* Sends the losses of each CPU since the last call. */
static void count(void *state, uint64_t time)
{
	struct waits *w = state;

	if (!w->is_on || read_states(w))
		return;
	for (uint32_t i = 0; i < w->possible->count; i++) {
		struct rec_lost rec = {.cause = LOST_RING_FULL, .event = LOST_WAITS};

		rec.count = w->states[i].lost - w->lost[i];
		if (!rec.count)
			continue;
		w->lost[i] = w->states[i].lost;
		record_init(&rec.rec, REC_LOST, sizeof(rec), time, 0, 0);
		rec.rec.cpu = (uint16_t)w->possible->cpus[i];
		w->live->sink(w->live->ctx, &rec.rec);
	}
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct waits *w = state;
	uint64_t waits = 0;

	if (!w->is_on)
		return;
	for (uint32_t i = 0; i < w->possible->count; i++)
		waits += w->states[i].waits;
	report_feature(r, "off-cpu");
	/* With filters, these include threads of other processes and names. */
	if (!w->live->options->filter->criteria)
		facts_count(&r->facts, FACT_WAITS, NULL, waits);
}

static int set_rate(void *settings, const char *value, struct error *err)
{
	struct waits_settings *s = settings;

	if (strcmp(value, "all") == 0) {
		s->mode = WAITS_ALL;
		return 0;
	}
	s->mode = WAITS_SAMPLED;
	return option_parse_positive("--off-cpu", value, &s->rate_hz, err);
}

static int set_slow(void *settings, const char *value, struct error *err)
{
	struct waits_settings *s = settings;

	s->has_slow = true;
	s->slow_ms = 0;
	return strcmp(value, "0") == 0 ? 0
				       : option_parse_positive("--slow", value, &s->slow_ms, err);
}

static int set_off(void *settings, const char *value, struct error *err)
{
	struct waits_settings *s = settings;

	s->mode = WAITS_OFF;
	return 0;
}

static const struct instrument_option options[] = {
	{0, "off-cpu", "N", "stacks of waits per second on each CPU (default 2000), or \"all\"",
	 "event", set_rate, .is_plain = true},
	{0, "no-off-cpu", NULL, "record only what runs, not what waits", NULL, set_off,
	 .is_plain = true},
	{0, "slow", "MS", "mark each wait at least this long (default 10, 0: none)", NULL, set_slow,
	 .is_plain = true},
	{0},
};

/* Loads the programs like a recording does. Kernels with different types reject only these. */
static int try_programs(struct error *err)
{
	const struct waits_settings settings = {.mode = WAITS_ALL};
	struct live live = {.interval_ns = WAIT_CERTAIN_NS};
	struct waits w = {.live = &live, .settings = &settings};
	const struct filter filter = {0};
	struct programs_options loading = {
		.possible_cpus = 1,
		.ring_bytes = (uint64_t)sysconf(_SC_PAGESIZE),
		.filter = &filter,
	};
	const struct programs_part part = {
		.open = open_waits_bpf, .close = close_waits_bpf, .ctx = &w};
	struct programs *programs = NULL;
	int code;

	set_limits(&w, &loading.config);
	programs_add_part(&loading, &part);
	code = programs_load(&programs, &loading, NULL, NULL, err);
	if (!code)
		programs_free(programs);
	return code;
}

static void check_programs(struct machine *m, struct feature *f)
{
	bool may_try = m->perf_code != -EPERM && m->perf_code != -EACCES;
	bool has_types = access("/sys/kernel/btf/vmlinux", R_OK) == 0;
	struct error err = {0};
	int code = may_try && has_types ? try_programs(&err) : -EPERM;

	if (!kernel_can()) {
		feature_set(f, FEATURE_NOTE, "not on real-time kernels before 6.12");
	} else if (!code) {
		feature_set(f, FEATURE_OK, "programs loaded");
	} else if (!has_types) {
		feature_set(f, FEATURE_NOTE, "not tried without btf");
	} else if (code == -EPERM) { /* the verifier would return EACCES instead */
		feature_set(f, FEATURE_NOTE, "not tried without the privileges of recording");
	} else {
		feature_set(f, FEATURE_NOTE, "not recorded: %s", err.text);
		feature_hint(f, "use a newer version of prof");
	}
}

static const struct instrument_check checks[] = {
	{.name = "waits", .after = "rings", .run = check_programs},
	{0},
};

const struct instrument instrument_waits = {
	.name = "waits",
	.checks = checks,
	.options = options,
	.settings_size = sizeof(struct waits_settings),
	.state_size = sizeof(struct waits),
	.begin = begin,
	.release = release,
	.configure = configure,
	.announce = announce,
	.enable = enable,
	.pause = pause_waits,
	.count = count,
	.report = report,
};
