/* SPDX-License-Identifier: MIT */
/*
 * Runs a command step by step, and writes its taken branches like perf record -b on a CPU that
 * records them, all of them: "step_branches OUT COMMAND [ARGUMENT...]". Only for x86_64.
 */
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/sysmacros.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/cleanup.h"

#ifdef __x86_64__

#define BRANCHES 32 /* in a sample, as many as CPUs have */
#define CACHE_SIZE (1u << 16)
#define PATH_SIZE 512

struct sample {
	struct perf_event_header header;
	uint64_t ip;
	uint32_t pid, tid;
	uint64_t time, period, count;
	struct perf_branch_entry branches[BRANCHES]; /* newest first */
};

struct trailer {
	uint32_t pid, tid;
	uint64_t time;
};

struct name {
	struct perf_event_header header;
	uint32_t pid, tid;
	char name[16];
	struct trailer trailer;
};

struct map {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, size, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
	char path[PATH_SIZE];
	struct trailer trailer;
};

struct file_head {
	char magic[8];
	uint64_t size, attr_size, attrs_at, attrs_size, data_at, data_size, types[2], features[4];
	struct perf_event_attr attr;
	uint64_t ids[2];
};

/* An instruction that was run before. */
struct instruction {
	uint64_t address;
	uint8_t size; /* of a jump that may be not taken; 0: always taken */
	bool is_branch;
};

struct stepper {
	pid_t pid;
	FILE *out;
	struct sample sample;
	struct instruction cache[CACHE_SIZE];
};

static void put(struct stepper *s, const void *record, size_t size)
{
	if (fwrite(record, size, 1, s->out) != 1) {
		perror("step_branches");
		exit(1);
	}
}

static const struct instruction *decode(struct stepper *s, uint64_t address)
{
	struct instruction *i = &s->cache[address % CACHE_SIZE];
	union {
		long word;
		uint8_t bytes[8];
	} code;
	uint8_t at = 0, byte;

	if (i->address == address)
		return i;
	code.word = ptrace(PTRACE_PEEKTEXT, s->pid, address, NULL);
	while (at < 4 && (memchr("\x2e\x3e\x66\xf2\xf3", code.bytes[at], 5) ||
			  (code.bytes[at] & 0xf0) == 0x40))
		at++;
	byte = code.bytes[at];
	*i = (struct instruction){.address = address};
	if ((byte & 0xf0) == 0x70 || (byte & 0xfc) == 0xe0)
		*i = (struct instruction){address, (uint8_t)(at + 2), true};
	else if (byte == 0x0f && (code.bytes[at + 1] & 0xf0) == 0x80)
		*i = (struct instruction){address, (uint8_t)(at + 6), true};
	else if (byte == 0xff)
		i->is_branch = (code.bytes[at + 1] >> 3 & 7) >= 2 &&
			       (code.bytes[at + 1] >> 3 & 7) <= 5;
	else
		i->is_branch = memchr("\xc2\xc3\xe8\xe9\xeb", byte, 5);
	return i;
}

static void take_branch(struct stepper *s, uint64_t from, uint64_t to)
{
	struct sample *sample = &s->sample;

	sample->branches[BRANCHES - ++sample->count] = (struct perf_branch_entry){.from = from,
										  .to = to};
	if (sample->count < BRANCHES)
		return;
	sample->ip = to;
	sample->time += 1000;
	put(s, sample, sizeof(*sample));
	sample->count = 0;
}

static void put_maps(struct stepper *s, const char *name)
{
	struct name named = {{PERF_RECORD_COMM, 0, sizeof(named)}, .pid = (uint32_t)s->pid};
	_cleanup_free_ char *path = xasprintf("/proc/%d/maps", s->pid), *line = NULL;
	FILE *maps = fopen(path, "r");
	size_t room = 0;

	named.tid = named.trailer.pid = named.trailer.tid = named.pid;
	named.trailer.time = 1;
	snprintf(named.name, sizeof(named.name), "%s", name);
	put(s, &named, sizeof(named));
	while (maps && getline(&line, &room, maps) > 0) {
		struct map map = {{PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, sizeof(map)},
				  .pid = (uint32_t)s->pid,
				  .protection = 5};
		unsigned long start, end, offset, inode;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %511s", &start, &end, rights, &offset,
			   &map.major, &map.minor, &inode, map.path) != 8 ||
		    rights[2] != 'x')
			continue;
		map.address = start;
		map.size = end - start;
		map.offset = offset;
		map.inode = inode;
		map.tid = map.trailer.pid = map.trailer.tid = map.pid;
		map.trailer.time = 1;
		put(s, &map, sizeof(map));
	}
	if (maps)
		fclose(maps);
}

/* Returns true while the command runs. */
static bool step(struct stepper *s, uint64_t *at)
{
	const struct instruction *last = decode(s, *at);
	uint64_t before = *at;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, s->pid, NULL, NULL) || waitpid(s->pid, &status, 0) < 0 ||
	    !WIFSTOPPED(status) || status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
		return false;
	*at = (uint64_t)ptrace(PTRACE_PEEKUSER, s->pid, offsetof(struct user, regs.rip), NULL);
	if (last->is_branch && *at != before && (!last->size || *at != before + last->size))
		take_branch(s, before, *at);
	return true;
}

int main(int argc, char **argv)
{
	struct stepper *s = xcalloc(1, sizeof(*s));
	struct file_head head = {
		.magic = "PERFILE2",
		.size = offsetof(struct file_head, attr),
		.attr_size = sizeof(head.attr) + sizeof(head.ids),
		.attrs_at = offsetof(struct file_head, attr),
		.attrs_size = sizeof(head.attr) + sizeof(head.ids),
		.data_at = sizeof(head),
		.attr = {.type = PERF_TYPE_HARDWARE,
			 .config = PERF_COUNT_HW_CPU_CYCLES,
			 .size = sizeof(head.attr),
			 .sample_period = 1000003,
			 .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					PERF_SAMPLE_PERIOD | PERF_SAMPLE_BRANCH_STACK,
			 .branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY,
			 .sample_id_all = 1},
	};
	uint64_t at;
	int status;

	if (argc < 3)
		return 2;
	s->out = fopen(argv[1], "we");
	s->pid = fork();
	if (!s->out || s->pid < 0)
		return 1;
	if (!s->pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[2], argv + 2);
		_exit(127);
	}
	if (waitpid(s->pid, &status, 0) < 0 || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, s->pid, NULL, PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL))
		return 1;
	s->sample = (struct sample){
		.header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, sizeof(s->sample)},
		.pid = (uint32_t)s->pid,
		.tid = (uint32_t)s->pid,
		.time = 1000,
		.period = 1000003,
	};
	put(s, &head, sizeof(head));
	at = (uint64_t)ptrace(PTRACE_PEEKUSER, s->pid, offsetof(struct user, regs.rip), NULL);
	while (step(s, &at))
		continue;
	put_maps(s, argv[2]);
	ptrace(PTRACE_CONT, s->pid, NULL, NULL);
	waitpid(s->pid, &status, 0);
	head.data_size = (uint64_t)ftell(s->out) - sizeof(head);
	rewind(s->out);
	put(s, &head, sizeof(head));
	if (fclose(s->out))
		return 1;
	free(s);
	return 0;
}

#else

int main(void)
{
	return 77;
}

#endif
