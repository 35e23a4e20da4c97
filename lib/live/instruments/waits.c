/* SPDX-License-Identifier: MIT */
/*
 * Threads off the CPU: an event of each CPU's context switches, at which the program of the clock's
 * ticks runs, too. See bpf/switch.bpf.h.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/option_value.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/instrument.h"
#include "lib/live/perf/perf_event.h"
#include "lib/live/recorder.h"
#include "lib/record/record.h"

/* Stacks a second and CPU. */
#define DEFAULT_RATE_HZ 2000
/* A window has room for at least that many stacks, so that a low rate is not a matter of luck. */
#define QUOTA_MIN 10
#define WINDOW_NS 100000000ull
#define NS_PER_SECOND 1e9
/* Until waits become rows of the profile. */
#define ON_BY_DEFAULT false

enum waits_mode {
	WAITS_DEFAULT, /* recorded, but not system-wide, nor on some CPUs alone */
	WAITS_OFF,
	WAITS_SAMPLED,
	WAITS_ALL,
};

struct waits_settings {
	enum waits_mode mode;
	double rate_hz; /* 0: the default */
};

struct wait_cpu {
	uint32_t id;
	int fd; /* -1: offline */
	int link; /* the program; -1 as fd */
};

struct waits {
	struct live *live;
	const struct waits_settings *settings;
	bool is_on, is_enabled;
	VEC(struct wait_cpu) cpus; /* all that were ever online */
	const struct cpu_list *possible;
	struct switch_state *states; /* as last read, by position in `possible` */
	uint64_t *lost; /* stacks already reported as lost, likewise */
};

static void *create(struct live *live, const void *settings)
{
	struct waits *w = xcalloc(1, sizeof(*w));

	w->live = live;
	w->settings = settings;
	w->possible = &live->counters->possible;
	w->states = xcalloc(w->possible->count, sizeof(*w->states));
	w->lost = xcalloc(w->possible->count, sizeof(*w->lost));
	return w;
}

static bool is_wanted(const struct waits *w)
{
	const struct waits_settings *s = w->settings;

	if (s->mode == WAITS_DEFAULT)
		return ON_BY_DEFAULT && !w->live->options->filter->all && !w->live->only->count;
	return s->mode != WAITS_OFF;
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

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct waits *w = state;

	w->is_on = is_wanted(w);
	/* A thread that runs on another CPU would look as if it waited. */
	if (w->is_on && w->live->only->count)
		return error_text(err, -EINVAL,
				  "--off-cpu and --cpu exclude each other: waits are between CPUs");
	if (w->is_on)
		set_limits(w, &programs->config);
	return 0;
}

static struct wait_cpu *find_cpu(struct waits *w, uint32_t id)
{
	vec_for_each(&w->cpus, struct wait_cpu *, cpu) {
		if (cpu->id == id)
			return cpu;
	}
	vec_push(&w->cpus, (struct wait_cpu){.id = id, .fd = -1, .link = -1});
	return &vec_last(&w->cpus);
}

static void close_fds(struct wait_cpu *cpu)
{
	if (cpu->link >= 0)
		close(cpu->link);
	if (cpu->fd >= 0)
		close(cpu->fd);
	cpu->fd = cpu->link = -1;
}

static int enable_cpu(const struct wait_cpu *cpu, bool enable, struct error *err)
{
	unsigned long request = enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	if (cpu->fd < 0 || !ioctl(cpu->fd, request, 0))
		return 0;
	return error_set(err, -errno, "%s the event of context switches on CPU %u",
			 enable ? "enable" : "disable", cpu->id);
}

static int open_event(const struct waits *w, struct wait_cpu *cpu, struct error *err)
{
	const struct perf_event_choice choice = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES,
		.period = 1,
	};
	LIBBPF_OPTS(bpf_link_create_opts, options, .perf_event.bpf_cookie = SWITCH_COOKIE);

	cpu->fd = perf_event_open_choice(&choice, cpu->id);
	if (cpu->fd < 0)
		return error_set(err, cpu->fd, "perf_event_open of context switches on CPU %u",
				 cpu->id);
	cpu->link = bpf_link_create(programs_find(w->live->programs, "on_tick"), cpu->fd,
				    BPF_PERF_EVENT, &options);
	if (cpu->link < 0)
		return error_set(err, -errno, "attach the sampler to context switches");
	return w->is_enabled ? enable_cpu(cpu, true, err) : 0;
}

static int open_cpu(void *state, const struct live_cpu *live, struct error *err)
{
	struct waits *w = state;
	struct wait_cpu *cpu = find_cpu(w, live->id);
	int code = w->is_on ? open_event(w, cpu, err) : 0;

	if (code)
		close_fds(cpu);
	return code;
}

static void close_cpu(void *state, const struct live_cpu *live)
{
	close_fds(find_cpu(state, live->id));
}

static void destroy(void *state)
{
	struct waits *w = state;

	vec_for_each(&w->cpus, struct wait_cpu *, cpu)
		close_fds(cpu);
	vec_release(&w->cpus);
	free(w->states);
	free(w->lost);
	free(w);
}

static int enable(void *state, bool enable, struct error *err)
{
	struct waits *w = state;
	int code = 0;

	w->is_enabled = enable;
	vec_for_each(&w->cpus, const struct wait_cpu *, cpu) {
		int result = enable_cpu(cpu, enable, code ? NULL : err);

		if (!code)
			code = result;
	}
	return code;
}

/* Tells what each CPU has lost since the last time. */
static void count(void *state, uint64_t time)
{
	struct waits *w = state;

	if (!w->is_on || programs_read_switch_states(w->live->programs, w->states))
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

static struct switch_state sum_up(const struct waits *w)
{
	struct switch_state sum = {0};

	for (uint32_t i = 0; i < w->possible->count; i++) {
		const struct switch_state *s = &w->states[i];

		sum.waits += s->waits;
		sum.sampled += s->sampled;
		sum.lost += s->lost;
		if (s->chance_min && (!sum.chance_min || s->chance_min < sum.chance_min))
			sum.chance_min = s->chance_min;
	}
	return sum;
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct waits *w = state;
	struct switch_state sum = sum_up(w);

	(void)tally;
	if (!w->is_on)
		return;
	report_feature(r, "off-cpu");
	report_integer(r, "events", "waits", sum.waits);
	report_integer(r, NULL, "waits_sampled", sum.sampled);
	report_integer(r, NULL, "waits_lost", sum.lost);
	report_real(r, NULL, "wait_chance_min",
		    sum.chance_min ? (double)sum.chance_min / (double)(1ull << 32) : 1);
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

static int set_off(void *settings, const char *value, struct error *err)
{
	struct waits_settings *s = settings;

	(void)value;
	(void)err;
	s->mode = WAITS_OFF;
	return 0;
}

static const struct instrument_option options[] = {
	{.name = "off-cpu",
	 .argument = "N",
	 .help = "stacks of waits per second and CPU (default 2000), or \"all\"",
	 .after = "event",
	 .set = set_rate},
	{.name = "no-off-cpu", .help = "record only what runs, not what waits", .set = set_off},
	{0},
};

const struct instrument instrument_waits = {
	.name = "waits",
	.options = options,
	.settings_size = sizeof(struct waits_settings),
	.create = create,
	.destroy = destroy,
	.configure = configure,
	.open_cpu = open_cpu,
	.close_cpu = close_cpu,
	.enable = enable,
	.count = count,
	.report = report,
};
