/* SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>
#include <sys/ioctl.h>

#include "lib/base/option_value.h"
#include "lib/live/bpf/cpus.h"
#include "lib/live/features.h"
#include "lib/live/instrument.h"
#include "lib/live/instruments/events.h"
#include "lib/live/perf/perf_event.h"

/*
 * The clock: a sampling event on every CPU, the CPU clock unless cycles are requested. Its ticks
 * are the samples of the profile.
 */

/*
 * Not a multiple of common timer rates, so that samples do not run in lockstep with periodic work.
 */
#define DEFAULT_HZ 999
/* Minimum frequency; longer periods do not fit into a timer. */
#define FREQUENCY_MIN_HZ 0.001
#define NS_PER_MS 1e6
/* Fewer samples would cost hardly less. */
#define WEIGHT_MAX 16

struct clock_settings {
	double frequency_hz; /* samples per second and CPU … */
	uint64_t interval_ns; /* … or, if not 0, ns between samples; both 0: the default */
};

struct clock_cpu {
	uint32_t id;
	int fd; /* -1: offline */
};

struct clock {
	struct live *live;
	const struct clock_settings *settings;
	struct sampling_event event;
	VEC(struct clock_cpu) cpus; /* all CPUs that have ever been online */
	bool enabled;
	uint64_t start_ns, start_idle_ns; /* time and idle time at the last enabling */
	uint64_t active_ns; /* total enabled time */
	uint64_t idle_ns; /* idle time of all sampled CPUs while enabled */
	uint32_t weight; /* number of intervals that a tick represents */
};

static uint64_t max_sample_rate(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/sys/kernel/perf_event_max_sample_rate",
						   64, NULL);

	return text ? strtoull(text, NULL, 10) : 0;
}

/*
 * Returns the default frequency; a lower one, with a warning, if the kernel does not allow it. The
 * kernel lowers its maximum if interrupts take long, which happens in virtual machines.
 */
static double default_hz(void)
{
	uint64_t max = max_sample_rate();

	if (!max || max >= DEFAULT_HZ)
		return DEFAULT_HZ;
	log_warn("sampling at %llu Hz: this machine allows no more, see "
		 "kernel.perf_event_max_sample_rate",
		 (unsigned long long)max);
	return (double)max;
}

static int check_rate(double hz, struct error *err)
{
	uint64_t max = max_sample_rate();

	if (!max || hz <= (double)max)
		return 0;
	error_text(err, -EINVAL, "%.0f Hz is above this machine's maximum of %llu Hz", hz,
		   (unsigned long long)max);
	error_hint(err, "use -F %llu, or run: sysctl kernel.perf_event_max_sample_rate=%.0f",
		   (unsigned long long)max, hz);
	return -EINVAL;
}

static int first_online_cpu(uint32_t *cpu, struct error *err)
{
	struct cpu_list online;
	int code = cpu_list_read("online", &online);

	if (code || !online.count)
		return error_set(err, code ? code : -ENODEV, "cannot read the list of online CPUs");
	*cpu = online.cpus[0];
	cpu_list_release(&online);
	return 0;
}

/* Below this rate, a hardware counter would need an unpredictable period. */
#define MIN_HARDWARE_HZ 1.0

static int try_clock(const struct sampling_event *event, uint32_t cpu)
{
	int fd = sampling_event_open(event, cpu);

	fd_close(fd);
	return fd < 0 ? fd : 0;
}

static const char *event_name(const struct sampling_event *event)
{
	static const char *const names[] = {
		[CLOCK_CYCLES] = "cycles",
		[CLOCK_CPU] = "cpu-clock",
		[CLOCK_TASK] = "task-clock",
	};

	return names[event->clock];
}

static bool is_wished(const struct event_spec *wish, enum sampling_clock clock)
{
	struct sampling_event event = {.clock = clock};

	return wish && strcmp(wish->name, event_name(&event)) == 0;
}

static int choose_cycles(struct sampling_event *event, double hz, uint32_t cpu, struct error *err)
{
	event->clock = CLOCK_CYCLES;
	event->frequency_hz = (uint64_t)(hz + 0.5);
	if (hz < MIN_HARDWARE_HZ)
		return error_text(err, -ERANGE, "cycles: the lowest rate is %.0f Hz",
				  MIN_HARDWARE_HZ);
	return try_clock(event, cpu) ? error_no_hardware(err, "cycles", cpu) : 0;
}

/*
 * Chooses the requested clock; by default the CPU clock, whose ticks are CPU time. For a rate of
 * cycles, the kernel adjusts the period by averages that include idle time: for a thread that
 * sleeps now and then, it has counted 1.3 times the CPU time.
 */
static int choose(struct sampling_event *event, const struct event_spec *wish,
		  const struct clock_settings *settings, struct error *err)
{
	uint64_t interval_ns = settings->interval_ns;
	double frequency_hz = settings->frequency_hz > 0 || interval_ns ? settings->frequency_hz
									: default_hz();
	double hz = interval_ns ? 1e9 / (double)interval_ns : frequency_hz;
	uint32_t cpu = 0;
	int code = check_rate(hz, err) ?: first_online_cpu(&cpu, err);

	if (code)
		return code;
	event->period_ns = interval_ns ? interval_ns : (uint64_t)(1e9 / frequency_hz + 0.5);
	if (is_wished(wish, CLOCK_CYCLES))
		return choose_cycles(event, hz, cpu, err);
	event->clock = is_wished(wish, CLOCK_TASK) ? CLOCK_TASK : CLOCK_CPU;
	event->frequency_hz = 0; /* a period in ns is exact */
	code = try_clock(event, cpu);
	return code ? error_set(err, code, "cannot open the sampling event") : 0;
}

static void begin(void *state, const void *settings)
{
	struct clock *c = state;

	c->settings = settings;
	c->weight = 1;
}

static int configure(void *state, struct programs_options *programs, struct error *err)
{
	struct clock *c = state;
	int code = choose(&c->event, events_clock(c->live->settings), c->settings, err);

	c->live->interval_ns = c->event.period_ns;
	return code;
}

static struct clock_cpu *find_cpu(struct clock *c, uint32_t id)
{
	vec_for_each(&c->cpus, struct clock_cpu *, cpu) {
		if (cpu->id == id)
			return cpu;
	}
	vec_push(&c->cpus, (struct clock_cpu){.id = id, .fd = -1});
	return &vec_last(&c->cpus);
}

static int open_cpu(void *state, const struct live_cpu *live, struct error *err)
{
	struct clock *c = state;
	struct clock_cpu *cpu = find_cpu(c, live->id);
	int program = programs_find(c->live->programs, "on_tick");

	cpu->fd = sampling_event_open(&c->event, cpu->id);
	if (cpu->fd < 0)
		return error_set(err, cpu->fd, "cannot open the sampling event on CPU %u", cpu->id);
	if (ioctl(cpu->fd, PERF_EVENT_IOC_SET_BPF, program))
		return error_set(err, -errno, "cannot attach the sampler to the sampling event");
	throttling_watch(c->live->throttling, cpu->fd, 0, live->map_ring);
	if (c->enabled && ioctl(cpu->fd, PERF_EVENT_IOC_ENABLE, 0))
		return error_set(err, -errno, "cannot enable sampling on CPU %u", cpu->id);
	return 0;
}

static void close_fd(struct clock_cpu *cpu)
{
	fd_close(cpu->fd);
	cpu->fd = -1;
}

static void close_cpu(void *state, const struct live_cpu *live)
{
	close_fd(find_cpu(state, live->id));
}

static void release(void *state)
{
	struct clock *c = state;

	vec_for_each(&c->cpus, struct clock_cpu *, cpu)
		close_fd(cpu);
	vec_release(&c->cpus);
}

/* Updates the total time enabled. */
static void note_time(struct clock *c, bool enable)
{
	uint64_t idle_ns = idle_time_read(c->live->only), now = clock_monotonic_ns();

	if (enable) {
		c->start_ns = now;
		c->start_idle_ns = idle_ns;
		return;
	}
	c->active_ns += now - c->start_ns;
	c->idle_ns += idle_ns > c->start_idle_ns ? idle_ns - c->start_idle_ns : 0;
}

static int enable(void *state, bool enable, struct error *err)
{
	unsigned long request = enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	struct clock *c = state;
	int code = 0;

	if (c->enabled == enable)
		return 0;
	c->enabled = enable;
	vec_for_each(&c->cpus, struct clock_cpu *, cpu) {
		if (cpu->fd >= 0 && ioctl(cpu->fd, request, 0) && !code)
			code = error_set(err, -errno, "cannot %s sampling on CPU %u",
					 enable ? "enable" : "disable", cpu->id);
	}
	note_time(c, enable);
	return code;
}

/*
 * Lengthens the period on all CPUs, and on those that come online later. A rate controlled by the
 * kernel is set as a rate.
 */
static bool thin(void *state)
{
	struct clock *c = state;
	uint64_t value;

	if (c->weight >= WEIGHT_MAX || (c->event.frequency_hz && c->event.frequency_hz < 2))
		return false;
	c->weight *= 2;
	c->event.frequency_hz /= 2;
	c->event.period_ns *= 2;
	value = c->event.frequency_hz ? c->event.frequency_hz : c->event.period_ns;
	vec_for_each(&c->cpus, struct clock_cpu *, cpu) {
		if (cpu->fd >= 0)
			ioctl(cpu->fd, PERF_EVENT_IOC_PERIOD, &value);
	}
	programs_weigh_ticks(c->live->programs, c->weight);
	return true;
}

static void pause_clock(void *state, bool pause)
{
	enable(state, !pause, NULL);
}

/*
 * Estimates the ticks that never came although the CPU was busy and not throttled: expected minus
 * accounted ticks.
 */
static uint64_t skipped_ticks(const struct clock *c, uint64_t known, uint64_t idle)
{
	const struct cpu_list *only = c->live->only;
	uint64_t cpus = only->count ? only->count : c->cpus.count;
	uint64_t expected = cpus * (c->active_ns / c->event.period_ns);

	return expected > known + idle ? expected - known - idle : 0;
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct clock *c = state;
	const struct bpf_counters *sums = &c->live->counters->sums;
	/* Only the CPU clock has a predictable number of ticks. */
	bool is_steady = c->event.clock == CLOCK_CPU && c->active_ns && !c->enabled &&
			 c->weight == 1;
	uint64_t idle = sums->idle_ticks, skipped = 0;

	if (is_steady) {
		idle += c->idle_ns / c->event.period_ns;
		skipped = skipped_ticks(
			c, tally->ticks + tally->throttled_ticks + sums->other_ticks, idle);
	}
	report_feature(r, event_name(&c->event));
	facts_count(&r->facts, FACT_IDLE_TICKS, NULL, idle);
	facts_count(&r->facts, FACT_OTHER_TICKS, NULL, sums->other_ticks);
	facts_count(&r->facts, FACT_SKIPPED_TICKS, NULL, skipped);
	facts_count(&r->facts, FACT_TICK_WEIGHT, NULL, c->weight);
	facts_text(&r->facts, FACT_EVENT, NULL, event_name(&c->event));
}

static int set_frequency(void *settings, const char *value, struct error *err)
{
	struct clock_settings *s = settings;
	int ret = option_parse_positive("--frequency", value, &s->frequency_hz, err);

	if (!ret && s->frequency_hz < FREQUENCY_MIN_HZ)
		ret = error_text(err, -EINVAL, "--frequency %s: must be at least %g", value,
				 FREQUENCY_MIN_HZ);
	return ret;
}

static int set_interval(void *settings, const char *value, struct error *err)
{
	struct clock_settings *s = settings;

	return option_parse_time("--interval", value, NS_PER_MS, &s->interval_ns, err);
}

static int judge(const void *settings, struct error *err)
{
	const struct clock_settings *s = settings;

	if (s->frequency_hz > 0 && s->interval_ns)
		return error_text(err, -EINVAL, "--frequency and --interval cannot be combined");
	return 0;
}

static const struct instrument_option options[] = {
	{'F', "frequency", "HZ", "samples per second on each CPU (default 999)", NULL,
	 set_frequency, .is_plain = true},
	{'i', "interval", "MS", "milliseconds between samples, instead of -F", NULL, set_interval,
	 .is_plain = true},
	{0},
};

static void check_perf_event(struct machine *m, struct feature *f)
{
	if (!m->perf_code) {
		feature_set(f, FEATURE_OK, "cpu-clock on CPU %u", m->cpu);
		return;
	}
	feature_set(f, FEATURE_MISSING, "perf_event_open: %s", strerror(-m->perf_code));
	if (feature_hint_seccomp(m, f, m->perf_code))
		return;
	if (m->perf_code == -ENOSYS)
		feature_hint(f, "boot a kernel with CONFIG_PERF_EVENTS=y");
	else if (m->perf_code == -ENOMEM)
		feature_hint(f, HINT_MEMORY);
	else
		feature_hint_privilege(f);
}

static void check_rate_limit(struct machine *m, struct feature *f)
{
	uint64_t rate = max_sample_rate();

	if (!rate) {
		feature_set(f, FEATURE_NOTE, "unknown");
	} else if (rate < DEFAULT_HZ) {
		/* The kernel lowers it by itself if sampling took too much time. */
		feature_set(f, FEATURE_NOTE, "%d Hz: less than the default of %d", (int)rate,
			    DEFAULT_HZ);
		feature_hint(f, "run: sudo sysctl kernel.perf_event_max_sample_rate=10000");
	} else {
		feature_set(f, FEATURE_OK, "at most %d Hz", (int)rate);
	}
}

static void check_cycles(struct machine *m, struct feature *f)
{
	struct sampling_event event = {.clock = CLOCK_CYCLES, .frequency_hz = 1};
	_cleanup_close_ int fd = sampling_event_open(&event, m->cpu);

	if (fd >= 0)
		feature_set(f, FEATURE_OK, "hardware counters, for -e");
	else if (m->perf_code)
		feature_set(f, FEATURE_NOTE, "not tried: perf_event_open() is refused");
	else
		feature_set(f, FEATURE_NOTE,
			    "no hardware counters: -e cycles and the like are not available");
}

static const struct instrument_check checks[] = {
	{"perf_event", "perf_event_paranoid", check_perf_event},
	{"sample rate", "rings", check_rate_limit},
	{"pmu", "tracefs", check_cycles},
	{0},
};

const struct instrument instrument_clock = {
	.name = "clock",
	.options = options,
	.checks = checks,
	.settings_size = sizeof(struct clock_settings),
	.judge = judge,
	.state_size = sizeof(struct clock),
	.begin = begin,
	.release = release,
	.configure = configure,
	.open_cpu = open_cpu,
	.close_cpu = close_cpu,
	.enable = enable,
	.pause = pause_clock,
	.thin = thin,
	.report = report,
};
