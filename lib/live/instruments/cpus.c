/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/cpus.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

/* No multiple of what timers commonly have, so that nothing runs in step with it. */
#define DEFAULT_HZ 999

static uint64_t max_sample_rate(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/sys/kernel/perf_event_max_sample_rate",
						   64, NULL);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* The kernel lowers its maximum where interrupts take long, and in virtual machines they do. */
double sampling_default_hz(void)
{
	uint64_t max = max_sample_rate();

	if (!max || max >= DEFAULT_HZ)
		return DEFAULT_HZ;
	log_warn(
		"sampling at %llu Hz: this machine allows no more, see kernel.perf_event_max_sample_rate",
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
		return error_set(err, code ? code : -ENODEV, "read the list of online CPUs");
	*cpu = online.cpus[0];
	cpu_list_release(&online);
	return 0;
}

/* Below this the hardware counter would need a period nobody can foresee. */
#define MIN_HARDWARE_HZ 1.0

static int try_clock(const struct sampling_event *event, uint32_t cpu)
{
	int fd = sampling_event_open(event, cpu);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

const char *sampling_event_name(const struct sampling_event *event)
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

	return wish && strcmp(wish->name, sampling_event_name(&event)) == 0;
}

static int choose_cycles(struct sampling_event *event, double hz, uint32_t cpu, bool is_wish,
			 struct error *err)
{
	int code = -ERANGE;

	event->clock = CLOCK_CYCLES;
	event->frequency_hz = (uint64_t)(hz + 0.5);
	if (hz >= MIN_HARDWARE_HZ)
		code = try_clock(event, cpu);
	if (!code || !is_wish)
		return code;
	if (code == -ERANGE)
		return error_text(err, code, "cycles: at least %.0f a second can be had",
				  MIN_HARDWARE_HZ);
	return error_no_hardware(err, "cycles", cpu);
}

int sampling_event_choose(struct sampling_event *event, const struct event_spec *wish,
			  double frequency_hz, uint64_t interval_ns, struct error *err)
{
	double hz = interval_ns ? 1e9 / (double)interval_ns : frequency_hz;
	bool wants_cycles = is_wished(wish, CLOCK_CYCLES);
	uint32_t cpu = 0;
	int code = check_rate(hz, err);

	if (code)
		return code;
	code = first_online_cpu(&cpu, err);
	if (code)
		return code;
	event->period_ns = interval_ns ? interval_ns : (uint64_t)(1e9 / frequency_hz + 0.5);
	if (!wish || wants_cycles) {
		code = choose_cycles(event, hz, cpu, wants_cycles, err);
		if (!code || wants_cycles)
			return code;
	}
	event->clock = is_wished(wish, CLOCK_TASK) ? CLOCK_TASK : CLOCK_CPU;
	event->frequency_hz = 0; /* a period in ns says exactly what was asked for */
	code = try_clock(event, cpu);
	return code ? error_set(err, code, "perf_event_open of the sampling event") : 0;
}

static void cpu_close(struct cpu_set *set, struct sampled_cpu *cpu)
{
	if (set->events)
		event_set_close_cpu(set->events, cpu->id);
	throttling_forget(set->throttling, cpu->id, clock_monotonic_ns());
	if (cpu->sampling_fd >= 0)
		close(cpu->sampling_fd);
	cpu->sampling_fd = -1;
	map_ring_free(steal(cpu->map_ring));
}

static int open_sampling(struct cpu_set *set, struct sampled_cpu *cpu, struct error *err)
{
	int code;

	cpu->sampling_fd = sampling_event_open(&set->event, cpu->id);
	if (cpu->sampling_fd < 0)
		return error_set(err, cpu->sampling_fd,
				 "perf_event_open of the sampling event on CPU %u", cpu->id);
	code = programs_attach_sampler(set->programs, cpu->sampling_fd, err);
	if (code)
		return code;
	throttling_watch(set->throttling, cpu->sampling_fd, 0, cpu->map_ring);
	if (set->events)
		code = event_set_open_cpu(set->events, cpu->id, err);
	if (code)
		return code;
	if (set->events)
		event_set_watch(set->events, set->throttling, cpu->map_ring);
	if (set->enabled && ioctl(cpu->sampling_fd, PERF_EVENT_IOC_ENABLE, 0))
		return error_set(err, -errno, "enable sampling on CPU %u", cpu->id);
	return 0;
}

/* What is not sampled still tells of forks and mappings. */
static int cpu_open(struct cpu_set *set, struct sampled_cpu *cpu, struct error *err)
{
	int code = map_ring_open(&cpu->map_ring, cpu->id, err);

	if (code)
		return code;
	cpu->online = true;
	return set->only->count && !cpu_list_has(set->only, cpu->id) ? 0
								     : open_sampling(set, cpu, err);
}

static struct sampled_cpu *find_cpu(const struct cpu_set *set, uint32_t id)
{
	vec_for_each(&set->cpus, struct sampled_cpu *, cpu) {
		if (cpu->id == id)
			return cpu;
	}
	return NULL;
}

/* A CPU that was there before keeps its ring. */
static int add_cpu(struct cpu_set *set, uint32_t id, struct error *err)
{
	struct sampled_cpu *cpu = NULL;
	int code;

	vec_for_each(&set->cpus, struct sampled_cpu *, it) {
		if (it->id == id)
			cpu = it;
	}
	if (!cpu) {
		vec_push(&set->cpus, (struct sampled_cpu){.id = id, .sampling_fd = -1});
		cpu = &vec_last(&set->cpus);
	}
	if (!cpu->has_ring) {
		code = programs_add_ring(set->programs, id, err);
		if (code)
			return code;
		cpu->has_ring = true;
	}
	code = cpu_open(set, cpu, err);
	if (code) {
		cpu->online = false;
		cpu_close(set, cpu);
	}
	return code;
}

int cpu_set_open(struct cpu_set *set, const struct sampling_event *event, struct programs *programs,
		 struct event_set *events, struct error *err)
{
	struct cpu_list online;
	int code = cpu_list_read("online", &online);

	set->event = *event;
	set->programs = programs;
	set->events = events;
	if (code)
		return error_set(err, code, "read the list of online CPUs");
	for (uint32_t i = 0; i < online.count && !code; i++)
		code = add_cpu(set, online.cpus[i], err);
	cpu_list_release(&online);
	return code;
}

void cpu_set_release(struct cpu_set *set)
{
	vec_for_each(&set->cpus, struct sampled_cpu *, cpu)
		cpu_close(set, cpu);
	vec_release(&set->cpus);
}

int cpu_set_enable(struct cpu_set *set, bool enable, struct error *err)
{
	unsigned long request = enable ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
	int code = 0;

	set->enabled = enable;
	vec_for_each(&set->cpus, struct sampled_cpu *, cpu) {
		if (cpu->sampling_fd >= 0 && ioctl(cpu->sampling_fd, request, 0) && !code)
			code = error_set(err, -errno, "%s sampling on CPU %u",
					 enable ? "enable" : "disable", cpu->id);
	}
	if (set->events) {
		int result = event_set_enable(set->events, enable, code ? NULL : err);

		if (!code)
			code = result;
	}
	return code;
}

void cpu_set_refresh(struct cpu_set *set, cpu_change_fn *fn, void *ctx)
{
	struct cpu_list online;
	struct error err = {0};

	if (cpu_list_read("online", &online))
		return;
	vec_for_each(&set->cpus, struct sampled_cpu *, cpu) {
		if (!cpu->online || cpu_list_has(&online, cpu->id))
			continue;
		cpu->online = false;
		fn(ctx, cpu);
		cpu_close(set, cpu);
	}
	for (uint32_t i = 0; i < online.count; i++) {
		struct sampled_cpu *cpu = find_cpu(set, online.cpus[i]);
		int code;

		if (cpu && cpu->online)
			continue;
		code = add_cpu(set, online.cpus[i], &err);
		cpu = find_cpu(set, online.cpus[i]);
		/* It is tried again, and may succeed: said once. */
		if (code && !cpu->has_failed)
			log_warn("CPU %u came online but is not sampled: %s", online.cpus[i],
				 err.text);
		cpu->has_failed = code;
		if (!code)
			fn(ctx, cpu);
	}
	cpu_list_release(&online);
}
