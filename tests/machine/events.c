/* SPDX-License-Identifier: MIT */
/* Perf events and pidfds: what is asked for by number of system call, and what is done with it. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/live/machine/host.h"
#include "tests/machine/internal.h"

long __real_syscall(long number, ...);
int __real_ioctl(int fd, unsigned long request, ...);
ssize_t __real_read(int fd, void *data, size_t size);

long __wrap_syscall(long number, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
ssize_t __wrap_read(int fd, void *data, size_t size);

#define ARGUMENTS_MAX 6

static int fail(int code)
{
	errno = -code;
	return -1;
}

static int open_event(const struct perf_event_attr *attr, uint32_t cpu)
{
	int code = machine_judge("perf_event_open");
	struct descriptor *d;

	if (!code && attr->type == PERF_TYPE_HARDWARE && !machine_settings.has_pmu)
		code = -ENOENT;
	if (!code && !machine_is_online(cpu))
		code = -ENODEV;
	if (code)
		return fail(code);
	d = descriptor_new(DESCRIPTOR_EVENT, 0);
	if (!d)
		return -1;
	d->cpu = cpu;
	d->attr = *attr;
	return d->fd;
}

/* A process of the folder has ended when its folder is gone. */
static int open_pidfd(uint32_t pid)
{
	char path[64];
	uint32_t numbers[PROC_STATUS_NUMBERS_MAX];
	int code = machine_judge("pidfd_open");
	struct descriptor *d;
	char *status;

	snprintf(path, sizeof(path), "/proc/%u", pid);
	if (access(machine_real_path(path), F_OK))
		return (int)__real_syscall(SYS_pidfd_open, pid, 0);
	status = proc_status_read(pid);
	if (!code && status && proc_status_numbers(status, "Tgid", numbers) && numbers[0] != pid)
		code = -ENOENT;
	free(status);
	if (code)
		return fail(code);
	d = descriptor_new(DESCRIPTOR_OTHER, 0);
	if (!d)
		return -1;
	strcpy(d->name, "pidfd");
	d->cpu = pid;
	return d->fd;
}

static bool is_pidfd_of(const struct descriptor *d, uint32_t pid)
{
	return strcmp(d->name, "pidfd") == 0 && d->cpu == pid;
}

void machine_end_process(uint32_t pid)
{
	struct descriptor *d = descriptor_search(is_pidfd_of, pid);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	machine_remove_file(path);
	if (d)
		descriptors_wake(d);
}

/* No more may be read than were given. */
static size_t count_arguments(long number)
{
	switch (number) {
#ifdef SYS_arch_prctl
	case SYS_arch_prctl:
#endif
	case SYS_capget:
	case SYS_capset:
	case SYS_clock_gettime:
	case SYS_pidfd_open:
	case SYS_setgroups:
		return 2;
	case SYS_bpf:
		return 3;
	case SYS_openat2:
	case SYS_pidfd_send_signal:
		return 4;
	case SYS_perf_event_open:
	case SYS_ppoll:
		return 5;
	case SYS_epoll_pwait:
		return 6;
	default:
		abort();
	}
}

long __wrap_syscall(long number, ...)
{
	long a[ARGUMENTS_MAX] = {0};
	va_list args;

	va_start(args, number);
	for (size_t i = 0; i < count_arguments(number); i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (machine_is_on() && number == SYS_perf_event_open)
		return open_event((const struct perf_event_attr *)a[0], (uint32_t)a[2]);
	/* Links of several places, which libbpf may be too old for. */
	if (machine_is_on() && number == SYS_bpf)
		return fail(-ENOSYS);
	if (machine_is_on() && number == SYS_pidfd_open)
		return open_pidfd((uint32_t)a[0]);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int control_event(struct descriptor *d, unsigned long request, unsigned long argument)
{
	switch (request) {
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
		d->enabled = request == PERF_EVENT_IOC_ENABLE;
		return 0;
	case PERF_EVENT_IOC_SET_BPF:
		d->has_program = true;
		return descriptor_find((int)argument) ? 0 : fail(-EBADF);
	case PERF_EVENT_IOC_SET_OUTPUT:
		d->output_fd = (int)argument;
		return 0;
	case PERF_EVENT_IOC_ID:
		if (machine_settings.has_old_events)
			return fail(-ENOTTY);
		*(uint64_t *)argument = machine_event_id(d->fd);
		return 0;
	default:
		return fail(-ENOTTY);
	}
}

uint64_t machine_event_id(int fd)
{
	return 1000 + (uint64_t)fd;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	struct descriptor *d = descriptor_find(fd);
	unsigned long argument;
	va_list args;
	int code;

	va_start(args, request);
	argument = va_arg(args, unsigned long);
	va_end(args);
	if (!d)
		return __real_ioctl(fd, request, argument);
	code = machine_judge("ioctl");
	return code ? fail(code) : control_event(d, request, argument);
}

ssize_t __wrap_read(int fd, void *data, size_t size)
{
	const struct descriptor *d = descriptor_find(fd);
	/* The count, and for how long it was enabled and counted. */
	uint64_t values[3] = {7, 2000000, 1000000};
	int code;

	if (!d || d->kind != DESCRIPTOR_EVENT)
		return __real_read(fd, data, size);
	if (d->attr.read_format == PERF_FORMAT_LOST)
		values[1] = d->lost_ever;
	code = machine_judge("read");
	if (code)
		return fail(code);
	memcpy(data, values, size < sizeof(values) ? size : sizeof(values));
	return size < sizeof(values) ? (ssize_t)size : (ssize_t)sizeof(values);
}

static bool is_ring_of(const struct descriptor *d, uint32_t cpu)
{
	return d->kind == DESCRIPTOR_RING && d->cpu == cpu && d->produced && d->consumed;
}

static bool is_map_ring_of(const struct descriptor *d, uint32_t cpu)
{
	return d->kind == DESCRIPTOR_EVENT && d->cpu == cpu && d->control;
}

static bool is_clock_of(const struct descriptor *d, uint32_t cpu)
{
	return d->kind == DESCRIPTOR_EVENT && d->cpu == cpu && d->has_program && d->enabled;
}

struct descriptor *machine_ring(uint32_t cpu)
{
	return descriptor_search(is_ring_of, cpu);
}

struct descriptor *machine_map_ring(uint32_t cpu)
{
	return descriptor_search(is_map_ring_of, cpu);
}

bool machine_samples(uint32_t cpu)
{
	return descriptor_search(is_clock_of, cpu);
}

uint64_t machine_clock_id(uint32_t cpu)
{
	const struct descriptor *d = descriptor_search(is_clock_of, cpu);

	return d ? machine_event_id(d->fd) : 0;
}

unsigned int machine_events_on(uint32_t cpu)
{
	unsigned int count = 0;

	for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
		const struct descriptor *d = descriptor_find(fd);

		count += d && d->kind == DESCRIPTOR_EVENT && d->cpu == cpu;
	}
	return count;
}
