/* SPDX-License-Identifier: MIT */
#include "tests/machine/machine.h"

#include <errno.h>
#include <linux/btf.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "lib/live/bpf/ring.h"
#include "lib/live/machine/host.h"
#include "lib/live/perf/perf_event.h"
#include "tests/machine/internal.h"
#include "tests/unit/fake_clock.h"

int __real_epoll_create1(int flags);
int __real_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event);
int __real_epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms);
uid_t __real_geteuid(void);
int __real_getrlimit(int resource, struct rlimit *limit);
void __real_map_ring_drain(struct map_ring *ring, map_event_fn *fn, void *ctx);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *arg), void *arg);
bool __real_ring_drain(struct ring *ring, ring_record_fn *fn, void *ctx);
int __real_uname(struct utsname *name);

int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms);
uid_t __wrap_geteuid(void);
int __wrap_getrlimit(int resource, struct rlimit *limit);
void __wrap_map_ring_drain(struct map_ring *ring, map_event_fn *fn, void *ctx);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *arg), void *arg);
bool __wrap_ring_drain(struct ring *ring, ring_record_fn *fn, void *ctx);
int __wrap_uname(struct utsname *name);

struct machine_settings machine_settings;

static bool is_on, is_pausing;
static struct cpu_list online;
static machine_pause_fn *on_pause;
static void *pause_ctx;

bool machine_is_on(void)
{
	return is_on;
}

bool machine_is_online(uint32_t cpu)
{
	return cpu_list_has(&online, cpu);
}

void machine_set_online(const char *cpus)
{
	cpu_list_release(&online);
	if (cpu_list_parse(cpus, &online))
		abort();
	machine_write_file("/sys/devices/system/cpu/online", cpus);
}

/* The one function of the kernel that is asked for by name, in its types. */
static void write_types(void)
{
	static const char names[] = "\0bpf_iter_task";
	const struct {
		struct btf_header header;
		struct btf_type types[2]; /* a prototype without parameters, and the function */
		char names[sizeof(names)];
	} __attribute__((packed)) btf = {
		.header = {.magic = BTF_MAGIC,
			   .version = BTF_VERSION,
			   .hdr_len = sizeof(btf.header),
			   .type_len = sizeof(btf.types),
			   .str_off = sizeof(btf.types),
			   .str_len = sizeof(names)},
		.types = {{.info = BTF_KIND_FUNC_PROTO << 24},
			  {.name_off = 1, .info = BTF_KIND_FUNC << 24, .type = 1}},
		.names = "\0bpf_iter_task",
	};

	machine_write_bytes("/sys/kernel/btf/vmlinux", &btf, sizeof(btf));
}

static void write_files(const char *cpus)
{
	machine_set_online(cpus);
	machine_write_file("/sys/devices/system/cpu/possible", cpus);
	write_types();
	machine_write_file("/sys/kernel/tracing/events/header_event", "");
	machine_write_file("/proc/stat", "cpu  0 0 0 0 0\ncpu0 0 0 0 0 0\n");
	machine_write_file("/proc/modules", "");
	machine_write_file("/proc/kallsyms", "ffffffff81000000 T _stext\nffffffff81000000 T _text\n"
					     "ffffffff82000000 T _etext\n");
	machine_write_file("/proc/sys/kernel/perf_event_max_sample_rate", "100000\n");
	machine_write_file("/proc/sys/kernel/perf_event_paranoid", "2\n");
	machine_write_file("/proc/sys/kernel/perf_event_max_stack", "127\n");
	machine_write_file("/proc/sys/kernel/kptr_restrict", "0\n");
	machine_write_file("/proc/sys/kernel/pid_max", "32768\n");
	machine_write_file("/proc/sys/kernel/threads-max", "1000\n");
	machine_write_file("/proc/self/status", "Name:\tprof\nCapEff:\t000001ffffffffff\n");
	machine_write_file("/proc/self/uid_map", "         0          0 4294967295\n");
	machine_write_file("/proc/self/cgroup", "0::/\n");
}

void machine_start(const char *cpus)
{
	machine_settings = (struct machine_settings){.release = "6.6.0-machine",
						     .files_max = 65536};
	refusals_reset();
	files_start();
	maps_start(cpus);
	write_files(cpus);
	is_on = true;
	fake_clock_start(UINT32_MAX);
}

unsigned int machine_stop(void)
{
	unsigned int left = descriptors_report();

	is_on = false;
	fake_clock_stop();
	on_pause = NULL;
	descriptors_close_all();
	tasks_stop();
	objects_stop();
	maps_stop();
	files_stop();
	cpu_list_release(&online);
	return left;
}

void machine_on_pause(machine_pause_fn *fn, void *ctx)
{
	on_pause = fn;
	pause_ctx = ctx;
}

void machine_pause(enum machine_pause pause, uint32_t cpu)
{
	if (!is_on || !on_pause || is_pausing)
		return;
	is_pausing = true;
	on_pause(pause_ctx, pause, cpu);
	is_pausing = false;
}

void __wrap_map_ring_drain(struct map_ring *ring, map_event_fn *fn, void *ctx)
{
	machine_pause(PAUSE_MAP_RING, map_ring_cpu(ring));
	__real_map_ring_drain(ring, fn, ctx);
}

bool __wrap_ring_drain(struct ring *ring, ring_record_fn *fn, void *ctx)
{
	machine_pause(PAUSE_RING, ring->cpu);
	return __real_ring_drain(ring, fn, ctx);
}

int __wrap_epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
	int ready;

	if (timeout_ms)
		machine_pause(PAUSE_WAIT, 0);
	if (is_on)
		fake_clock_pass(1); /* asking takes some time, too */
	ready = __real_epoll_wait(fd, events, count, timeout_ms);
	if (is_on && timeout_ms)
		descriptors_reset_events();
	return ready;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	if (timeout_ms)
		machine_pause(PAUSE_WAIT, 0);
	return __real_poll(fds, count, timeout_ms);
}

int __wrap_epoll_create1(int flags)
{
	int code = machine_judge("epoll_create");

	errno = -code;
	return code ? -1 : __real_epoll_create1(flags);
}

int __wrap_epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	int code = machine_judge("epoll_ctl");

	errno = -code;
	return code ? -1 : __real_epoll_ctl(epoll_fd, operation, fd, event);
}

uid_t __wrap_geteuid(void)
{
	return is_on ? machine_settings.uid : __real_geteuid();
}

int __wrap_getrlimit(int resource, struct rlimit *limit)
{
	if (!is_on || resource != RLIMIT_NOFILE)
		return __real_getrlimit(resource, limit);
	limit->rlim_cur = limit->rlim_max = machine_settings.files_max;
	return 0;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*start)(void *arg), void *arg)
{
	int code = machine_judge("pthread_create");

	return code ? -code : __real_pthread_create(thread, attributes, start, arg);
}

int __wrap_uname(struct utsname *name)
{
	if (!is_on)
		return __real_uname(name);
	memset(name, 0, sizeof(*name));
	strcpy(name->sysname, "Linux");
	snprintf(name->release, sizeof(name->release), "%s", machine_settings.release);
	return 0;
}
