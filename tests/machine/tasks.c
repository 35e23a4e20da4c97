/* SPDX-License-Identifier: MIT */
#include "tests/machine/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "bpf/live_record.h"
#include "lib/stream/record/records.h"
#include "tests/machine/internal.h"
#include "tests/unit/fake_clock.h"

/* Size of a copied stack. */
#define COPIED_WORDS 8

struct task {
	uint32_t pid, tid;
	char name[REC_NAME_SIZE];
	bool is_tracked; /* its process is */
	bool was_told; /* of a process: its user */
	uint64_t entered; /* when an iterator found it; 0: its fork or exec was recorded */
	uint64_t cpu_time;
};

static VEC(struct task) tasks;
static uint32_t last_stack;

void tasks_stop(void)
{
	vec_release(&tasks);
	last_stack = 0;
}

/* No two events have the same time. */
static uint64_t next_time(void)
{
	fake_clock_pass(1);
	return clock_monotonic_ns();
}

static struct task *find(uint32_t pid, uint32_t tid)
{
	vec_for_each(&tasks, struct task *, task) {
		if (task->pid == pid && task->tid == tid)
			return task;
	}
	return NULL;
}

/* Finds a task that must be there. */
static struct task *get(uint32_t pid, uint32_t tid)
{
	struct task *task = find(pid, tid);

	if (!task)
		abort();
	return task;
}

static void set_name(struct task *task, const char *name)
{
	memset(task->name, 0, sizeof(task->name));
	strncpy(task->name, name, sizeof(task->name) - 1);
}

bool task_is_tracked(uint32_t pid)
{
	const struct task *task = get(pid, pid);

	return task && task->is_tracked;
}

static void add(uint32_t pid, uint32_t tid, const char *name, bool is_tracked)
{
	struct task task = {.pid = pid, .tid = tid, .is_tracked = is_tracked};

	set_name(&task, name);
	vec_push(&tasks, task);
}

static void write_proc(uint32_t pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/%s", pid, file);
	machine_write_file(path, text);
}

void task_start(uint32_t pid, const char *name)
{
	char text[128];

	add(pid, pid, name, false);
	snprintf(text, sizeof(text), "%s\n", name);
	write_proc(pid, "comm", text);
	write_proc(pid, "cgroup", "0::/\n");
	write_proc(pid, "maps", "");
	write_proc(pid, "cmdline", "");
	snprintf(text, sizeof(text), "Name:\t%s\nTgid:\t%u\nNSpid:\t%u\n", name, pid, pid);
	write_proc(pid, "status", text);
}

/* Writes a record that is not a sample. False: lost, and counted. */
static bool send(uint32_t cpu, struct rec *rec)
{
	rec->cpu = (uint16_t)cpu;
	if (!ring_write(cpu, rec, record_size(rec), NULL)) {
		machine_counters(cpu)->lost_events++;
		return false;
	}
	machine_counters(cpu)->written_bytes += record_size(rec);
	return true;
}

static void send_fork(uint32_t cpu, const struct task *parent, uint32_t pid, uint32_t tid)
{
	struct rec_fork fork = {.parent_pid = parent->pid, .parent_tid = parent->tid};

	record_init(&fork.rec, REC_FORK, sizeof(fork), next_time(), pid, tid);
	memcpy(fork.name, parent->name, sizeof(fork.name));
	send(cpu, &fork.rec);
}

void task_fork(uint32_t cpu, uint32_t parent_pid, uint32_t pid)
{
	struct task parent = *get(parent_pid, parent_pid);

	add(pid, pid, parent.name, parent.is_tracked);
	vec_last(&tasks).was_told = parent.was_told;
	if (parent.is_tracked)
		send_fork(cpu, &parent, pid, pid);
}

void task_clone(uint32_t cpu, uint32_t pid, uint32_t tid)
{
	struct task parent = *get(pid, pid);

	add(pid, tid, parent.name, parent.is_tracked);
	if (parent.is_tracked)
		send_fork(cpu, &parent, pid, tid);
}

static void send_name(uint32_t cpu, const struct task *task, uint8_t flags)
{
	struct rec_name name = {0};

	record_init(&name.rec, REC_NAME, sizeof(name), next_time(), task->pid, task->tid);
	name.rec.flags = flags;
	memcpy(name.name, task->name, sizeof(name.name));
	if (send(cpu, &name.rec) && flags & NAME_EXEC)
		ring_wake(cpu);
}

struct sample_id {
	uint32_t pid, tid;
	uint64_t time;
	uint32_t cpu, reserved;
};

static struct sample_id sample_id(uint32_t cpu, uint32_t pid)
{
	return (struct sample_id){.pid = pid, .tid = pid, .time = next_time(), .cpu = cpu};
}

bool task_begin_exec(uint32_t cpu, uint32_t pid)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		char name[8];
		struct sample_id id;
	} comm = {
		.header = {.type = PERF_RECORD_COMM,
			   .misc = PERF_RECORD_MISC_COMM_EXEC,
			   .size = sizeof(comm)},
		.pid = pid,
		.tid = pid,
		.id = sample_id(cpu, pid),
	};
	size_t kept = 0;

	/* The other threads are gone. */
	vec_for_each(&tasks, const struct task *, task) {
		if (task->pid != pid || task->tid == pid)
			tasks.items[kept++] = *task;
	}
	tasks.count = kept;
	return map_ring_write(cpu, &comm, sizeof(comm));
}

void task_end_exec(uint32_t cpu, uint32_t pid, const char *name)
{
	struct task *task = get(pid, pid);
	uint8_t flags = NAME_EXEC;

	set_name(task, name);
	if (!task->is_tracked) {
		if (!machine_map_has("pending_exec", pid))
			return;
		machine_map_remove("pending_exec", pid);
		task->is_tracked = true;
		flags |= NAME_MOVED;
	}
	send_name(cpu, task, flags);
}

void task_exec(uint32_t cpu, uint32_t pid, const char *name, uint64_t start, const char *path)
{
	task_begin_exec(cpu, pid);
	task_map(cpu, pid, start, 0x10000, path);
	task_end_exec(cpu, pid, name);
}

static bool send_map(uint32_t cpu, uint32_t pid, uint64_t start, uint64_t size, const char *path,
		     const struct stat *st)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, size, file_offset;
		uint32_t device_major, device_minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[64];
		struct sample_id id;
	} map = {
		.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(map)},
		.pid = pid,
		.tid = pid,
		.start = start,
		.size = size,
		.device_major = major(st->st_dev),
		.device_minor = minor(st->st_dev),
		.inode = st->st_ino,
		.id = sample_id(cpu, pid),
	};

	if (strlen(path) >= sizeof(map.path))
		abort();
	strcpy(map.path, path);
	return map_ring_write(cpu, &map, sizeof(map));
}

bool task_map(uint32_t cpu, uint32_t pid, uint64_t start, uint64_t size, const char *path)
{
	const struct stat nowhere = {.st_dev = makedev(8, 0), .st_ino = 1};

	return send_map(cpu, pid, start, size, path, &nowhere);
}

bool task_map_file_as(uint32_t cpu, uint32_t pid, uint64_t start, const char *path,
		      const char *name)
{
	struct stat st;

	if (stat(path, &st))
		abort();
	return send_map(cpu, pid, start, (uint64_t)st.st_size, name, &st);
}

bool task_map_file(uint32_t cpu, uint32_t pid, uint64_t start, const char *path)
{
	return task_map_file_as(cpu, pid, start, path, path);
}

void task_rename(uint32_t cpu, uint32_t pid, uint32_t tid, const char *name)
{
	struct task *task = get(pid, tid);

	set_name(task, name);
	if (task->is_tracked)
		send_name(cpu, task, 0);
}

void task_exit(uint32_t cpu, uint32_t pid, uint32_t tid)
{
	struct task *task = get(pid, tid);
	struct rec_exit exit = {0};

	record_init(&exit.rec, REC_EXIT, sizeof(exit), next_time(), pid, tid);
	exit.rec.flags = pid == tid ? EXIT_PROCESS : 0;
	if (task->is_tracked)
		send(cpu, &exit.rec);
	*task = tasks.items[--tasks.count];
}

static bool send_user(uint32_t cpu, struct task *process, uint64_t time)
{
	struct rec_user user = {.uid = 1000, .gid = 1000};

	if (process->was_told)
		return true;
	record_init(&user.rec, REC_USER, sizeof(user), time, process->pid, process->pid);
	user.rec.cpu = (uint16_t)cpu;
	process->was_told = ring_write(cpu, &user, sizeof(user), NULL);
	return process->was_told;
}

/* Fills in the sample of a task that is recorded, whose user is known by then. */
static enum tick_fate prepare(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t leaf,
			      struct rec_sample *sample)
{
	struct task *task = find(pid, tid), *process = find(pid, pid);
	struct bpf_counters *count = machine_counters(cpu);

	if (!task || !task->is_tracked) {
		count->other_ticks++;
		return TICK_OTHER;
	}
	if (!ring_is_there(cpu)) {
		count->lost_no_ring++;
		return TICK_NO_RING;
	}
	*sample = (struct rec_sample){.leaf = leaf};
	record_init(&sample->rec, REC_SAMPLE, sizeof(*sample), next_time(), pid, tid);
	sample->rec.cpu = (uint16_t)cpu;
	sample->rec.weight = 1;
	sample->rec.flags = SAMPLE_NO_STACK;
	task->cpu_time += 1000000;
	sample->cpu_time = (uint32_t)(task->cpu_time >> 4);
	if (process && !send_user(cpu, process, sample->rec.time)) {
		count->lost_samples++;
		return TICK_LOST;
	}
	return TICK_SENT;
}

static enum tick_fate finish(uint32_t cpu, const struct rec_sample *sample,
			     struct ring_place *place)
{
	struct bpf_counters *count = machine_counters(cpu);

	if (!ring_write(cpu, sample, sizeof(*sample), place)) {
		count->lost_samples++;
		return TICK_LOST;
	}
	count->written_bytes += sizeof(*sample);
	return TICK_SENT;
}

static bool send_stack(uint32_t cpu, struct rec_sample *sample, const uint64_t *callers,
		       uint16_t count)
{
	uint8_t kinds[64] = {FRAME_NATIVE};
	struct rec_stack *stack = stack_record_new(callers, kinds, 0, count);
	bool is_sent;

	stack->rec.time = sample->rec.time;
	stack->rec.pid = sample->rec.pid;
	stack->rec.tid = sample->rec.tid;
	stack->rec.cpu = (uint16_t)cpu;
	stack->rec.flags = STACK_WHOLE;
	stack->stack_id = sample->stack_id = ++last_stack;
	is_sent = ring_write(cpu, stack, record_size(&stack->rec), NULL);
	free(stack);
	return is_sent;
}

enum tick_fate task_tick(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t leaf,
			 const uint64_t *callers, uint16_t count)
{
	struct rec_sample sample;
	enum tick_fate fate = prepare(cpu, pid, tid, leaf, &sample);

	if (fate != TICK_SENT)
		return fate;
	if (count) {
		sample.rec.flags = 0;
		if (!send_stack(cpu, &sample, callers, count)) {
			machine_counters(cpu)->lost_samples++;
			return TICK_LOST;
		}
	}
	return finish(cpu, &sample, NULL);
}

enum tick_fate task_tick_slowly(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t leaf,
				struct ring_place *place)
{
	struct rec_sample sample;
	enum tick_fate fate = prepare(cpu, pid, tid, leaf, &sample);

	return fate == TICK_SENT ? finish(cpu, &sample, place) : fate;
}

enum tick_fate task_tick_copied(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t leaf)
{
	uint64_t words[sizeof(struct rec_copy) / 8 + COPIED_WORDS] = {0};
	struct rec_copy *copy = (struct rec_copy *)words;
	struct rec_sample sample;
	enum tick_fate fate = prepare(cpu, pid, tid, leaf, &sample);

	if (fate != TICK_SENT)
		return fate;
	record_init(&copy->rec, REC_COPY, sizeof(words), sample.rec.time, pid, tid);
	copy->rec.cpu = (uint16_t)cpu;
	copy->stack_id = sample.stack_id = ++last_stack;
	copy->stack_size = COPIED_WORDS * 8;
	copy->pc = leaf;
	copy->sp = copy->general[7] = 0x7ffd00000000;
	sample.rec.flags = 0;
	if (!ring_write(cpu, copy, sizeof(words), NULL)) {
		machine_counters(cpu)->lost_samples++;
		return TICK_LOST;
	}
	return finish(cpu, &sample, NULL);
}

static void tell_throttling(uint32_t cpu, uint64_t event_id, uint32_t type)
{
	struct {
		struct perf_event_header header;
		uint64_t time, id, stream_id;
	} record = {
		.header = {.type = type, .size = sizeof(record)},
		.time = next_time(),
		.id = event_id,
	};

	map_ring_write(cpu, &record, sizeof(record));
}

void machine_throttle(uint32_t cpu, uint64_t event_id)
{
	tell_throttling(cpu, event_id, PERF_RECORD_THROTTLE);
}

void machine_unthrottle(uint32_t cpu, uint64_t event_id)
{
	tell_throttling(cpu, event_id, PERF_RECORD_UNTHROTTLE);
}

void machine_make_code(uint32_t cpu, uint64_t start, uint32_t size, const char *name)
{
	struct {
		struct perf_event_header header;
		uint64_t start;
		uint32_t size;
		uint16_t type, flags;
		char rest[32 + sizeof(struct sample_id)];
	} code = {
		.header = {.type = PERF_RECORD_KSYMBOL},
		.start = start,
		.size = size,
		.type = PERF_RECORD_KSYMBOL_TYPE_BPF,
	};
	const struct sample_id id = sample_id(cpu, 0);
	/* The name takes as many words as it needs. */
	size_t name_size = (strlen(name) + 8) & ~7ul;

	if (name_size > 32)
		abort();
	strcpy(code.rest, name);
	memcpy(code.rest + name_size, &id, sizeof(id));
	code.header.size = (uint16_t)(offsetof(__typeof__(code), rest) + name_size + sizeof(id));
	map_ring_write(cpu, &code, code.header.size);
}

void machine_enter_tasks(void)
{
	vec_for_each(&tasks, struct task *, task) {
		if (task->is_tracked || !machine_map_has("wanted", task->pid))
			continue;
		task->is_tracked = true;
		task->entered = next_time();
	}
}

void machine_list_tasks(int fd)
{
	vec_for_each(&tasks, const struct task *, task) {
		struct rec_name name = {0};

		if (!task->entered)
			continue;
		record_init(&name.rec, REC_NAME, sizeof(name), task->entered, task->pid, task->tid);
		name.rec.flags = NAME_SCAN;
		memcpy(name.name, task->name, sizeof(name.name));
		if (write(fd, &name, sizeof(name)) != sizeof(name))
			abort();
	}
}
