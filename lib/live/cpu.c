/* SPDX-License-Identifier: MIT */
#include "lib/live/cpu.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

static uint64_t max_sample_rate(void)
{
	_cleanup_free_ char *text = text_read_file("/proc/sys/kernel/perf_event_max_sample_rate",
						   64, NULL);

	return text ? strtoull(text, NULL, 10) : 0;
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

int sampling_event_choose(struct sampling_event *event, double frequency_hz, uint64_t interval_ns,
			  struct error *err)
{
	double hz = interval_ns ? 1e9 / (double)interval_ns : frequency_hz;
	uint32_t cpu = 0;
	int code = check_rate(hz, err);

	if (code)
		return code;
	code = first_online_cpu(&cpu, err);
	if (code)
		return code;
	event->period_ns = interval_ns ? interval_ns : (uint64_t)(1e9 / frequency_hz + 0.5);
	event->clock = CLOCK_CYCLES;
	event->frequency_hz = (uint64_t)(hz + 0.5);
	if (hz >= MIN_HARDWARE_HZ) {
		code = sampling_event_open(event, cpu);
		if (code >= 0) {
			close(code);
			return 0;
		}
	}
	event->clock = CLOCK_CPU;
	event->frequency_hz = 0; /* a period in ns says exactly what was asked for */
	code = sampling_event_open(event, cpu);
	if (code < 0)
		return error_set(err, code, "perf_event_open of the sampling event");
	close(code);
	return 0;
}

static void cpu_close(struct sampled_cpu *cpu)
{
	if (cpu->sampling_fd >= 0)
		close(cpu->sampling_fd);
	cpu->sampling_fd = -1;
	map_ring_free(steal(cpu->map_ring));
}

static int cpu_open(struct cpu_set *set, struct sampled_cpu *cpu, struct error *err)
{
	int code = map_ring_open(&cpu->map_ring, cpu->id, err);

	if (code)
		return code;
	cpu->sampling_fd = sampling_event_open(&set->event, cpu->id);
	if (cpu->sampling_fd < 0)
		return error_set(err, cpu->sampling_fd,
				 "perf_event_open of the sampling event on CPU %u", cpu->id);
	code = programs_attach_sampler(set->programs, cpu->sampling_fd, err);
	if (code)
		return code;
	cpu->online = true;
	if (set->enabled && ioctl(cpu->sampling_fd, PERF_EVENT_IOC_ENABLE, 0))
		return error_set(err, -errno, "enable sampling on CPU %u", cpu->id);
	return 0;
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
		code = programs_add_ring(set->programs, id, err);
		if (code)
			return code;
	}
	code = cpu_open(set, cpu, err);
	if (code)
		cpu_close(cpu);
	return code;
}

int cpu_set_open(struct cpu_set *set, const struct sampling_event *event, struct programs *programs,
		 struct error *err)
{
	struct cpu_list online;
	int code = cpu_list_read("online", &online);

	set->event = *event;
	set->programs = programs;
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
		cpu_close(cpu);
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
	return code;
}

static bool list_has(const struct cpu_list *list, uint32_t id)
{
	for (uint32_t i = 0; i < list->count; i++) {
		if (list->cpus[i] == id)
			return true;
	}
	return false;
}

void cpu_set_refresh(struct cpu_set *set, cpu_change_fn *fn, void *ctx)
{
	struct cpu_list online;
	struct error err = {0};

	if (cpu_list_read("online", &online))
		return;
	vec_for_each(&set->cpus, struct sampled_cpu *, cpu) {
		if (!cpu->online || list_has(&online, cpu->id))
			continue;
		cpu->online = false;
		cpu_close(cpu);
		fn(ctx, cpu);
	}
	for (uint32_t i = 0; i < online.count; i++) {
		const struct sampled_cpu *cpu = find_cpu(set, online.cpus[i]);

		if (cpu && cpu->online)
			continue;
		if (add_cpu(set, online.cpus[i], &err))
			log_warn("CPU %u came online but is not sampled: %s", online.cpus[i],
				 err.text);
		else
			fn(ctx, find_cpu(set, online.cpus[i]));
	}
	cpu_list_release(&online);
}
