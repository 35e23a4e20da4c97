/* SPDX-License-Identifier: MIT */
/*
 * torn_copies COPIES: visits threads of its own, which sleep for 20 us at a time, until so many
 * stacks were copied. Each thread numbers its waits: the number is in a register, and all over its
 * stack. Prints a line, and fails if any copy has parts of two waits.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bpf/live_record.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/bpf/task_filter.h"
#include "lib/live/machine/host.h"
#include "sleepers.skel.h"

#define THREADS 8
#define MARKS 1024 /* words: two pages, so that another CPU has time to change them */
#define SLEEP_NS 20000
#define RING_BYTES (1 << 20)

#if defined(__aarch64__)
#define MARK_REGISTER 20 /* by DWARF number */
#else
#define MARK_REGISTER 12
#endif

static struct {
	unsigned long copies, torn;
} found;
static volatile bool stop;

/* Sleeps with `mark` in MARK_REGISTER. */
static void sleep_with(uint64_t mark, const struct timespec *time)
{
#if defined(__aarch64__)
	register uint64_t in_register asm("x20") = mark;
	register uint64_t call asm("x8") = SYS_nanosleep;
	register uint64_t request asm("x0") = (uint64_t)time;
	register uint64_t remaining asm("x1") = 0;

	asm volatile("svc 0"
		     : "+r"(request)
		     : "r"(call), "r"(remaining), "r"(in_register)
		     : "memory");
#else
	register uint64_t in_register asm("r12") = mark;
	uint64_t call = SYS_nanosleep;

	asm volatile("syscall"
		     : "+a"(call)
		     : "D"(time), "S"(NULL), "r"(in_register)
		     : "rcx", "r11", "memory");
#endif
}

static void *sleeper(void *unused)
{
	const struct timespec time = {.tv_nsec = SLEEP_NS};
	volatile uint64_t marks[MARKS];

	prctl(PR_SET_TIMERSLACK, 1);
	for (uint64_t wait = 1; !stop; wait++) {
		for (size_t i = 0; i < MARKS; i++)
			marks[i] = wait << 16 | i;
		sleep_with(wait, &time);
		marks[0] = marks[MARKS - 1];
	}
	return NULL;
}

/* Is the number of the wait that the registers are of the same all over the stack? */
static bool is_torn(const struct rec_copy *copy)
{
	const __u64 *stack = copy->body + copy->kernel_depth;
	size_t words = copy->stack_size / 8, marks = 0;
	uint64_t wait = copy->general[MARK_REGISTER];

	for (size_t i = 0; i < words; i++) {
		uint64_t expected = wait << 16 | marks;

		if (stack[i] == expected && marks < MARKS)
			marks++;
	}
	return marks != MARKS;
}

static void on_record(void *ctx, const void *data, size_t size)
{
	const struct rec *rec = data;

	/* The main thread sleeps, too, now and then. */
	if (rec->kind != REC_COPY || rec->tid == rec->pid)
		return;
	found.copies++;
	found.torn += is_torn(data);
}

static void on_task(void *ctx, const void *data, size_t size)
{
}

static int open_object(void *ctx, const struct bpf_object_open_opts *options,
		       struct bpf_object_skeleton **out)
{
	struct sleepers_bpf **skeleton = ctx;

	*skeleton = sleepers_bpf__open_opts(options);
	if (!*skeleton)
		return -errno;
	*out = (*skeleton)->skeleton;
	return 0;
}

static void close_object(void *ctx)
{
	struct sleepers_bpf **skeleton = ctx;

	sleepers_bpf__destroy(*skeleton);
	*skeleton = NULL;
}

static int load(struct programs **out, struct sleepers_bpf **skeleton, const struct filter *filter,
		struct error *err)
{
	struct programs_options options = {
		.targets = 1,
		.ring_bytes = RING_BYTES,
		.unwind = UNWIND_BY_CFI,
		.filter = filter,
		.config.waits = 1,
	};
	struct cpu_list possible;
	int code = cpu_list_read("possible", &possible);

	if (code)
		return error_set(err, code, "read the list of possible CPUs");
	options.possible_cpus = possible.cpus[possible.count - 1] + 1;
	programs_add_part(&options, &(struct programs_part){.open = open_object,
							    .close = close_object,
							    .ctx = skeleton});
	/* A kernel without modules has no such tracepoint. */
	programs_leave_out(&options, "on_module");
	code = programs_load(out, &options, on_record, NULL, err);
	for (uint32_t i = 0; i < possible.count && !code; i++)
		code = programs_add_ring(*out, possible.cpus[i], err);
	cpu_list_release(&possible);
	if (!code)
		code = programs_attach(*out, err);
	if (!code)
		code = programs_track(*out, (uint32_t)getpid(), false, err);
	return code ? code : programs_scan(*out, on_task, NULL, err);
}

static int pass(const struct sleepers_bpf *skeleton)
{
	union bpf_iter_link_info info = {.task.pid = (uint32_t)getpid()};
	LIBBPF_OPTS(bpf_link_create_opts, options, .iter_info = &info,
		    .iter_info_len = sizeof(info));
	int link = bpf_link_create(bpf_program__fd(skeleton->progs.visit_sleepers), 0,
				   BPF_TRACE_ITER, &options);
	int fd = link < 0 ? -1 : bpf_iter_create(link);
	char nothing;

	if (fd < 0)
		return -errno;
	/* Without room in the ring it stops. */
	if (read(fd, &nothing, 1) < 0 && errno != EAGAIN)
		return -errno;
	close(fd);
	close(link);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	struct sleepers_bpf *skeleton = NULL;
	struct programs *programs = NULL;
	const struct filter filter = {0};
	pthread_t threads[THREADS];
	struct error err = {0};
	int code = 0;

	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, sleeper, NULL);
	code = load(&programs, &skeleton, &filter, &err);
	if (!code)
		skeleton->data->sleepers_after = 0;
	while (!code && found.copies < wanted) {
		code = pass(skeleton);
		programs_drain(programs);
	}
	stop = true;
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (code)
		fprintf(stderr, "%s: %s\n", strerror(-code), err.text);
	else
		printf("%lu copies, %lu torn\n", found.copies, found.torn);
	programs_free(programs);
	return code || found.torn;
}
