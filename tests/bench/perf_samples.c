/* SPDX-License-Identifier: MIT */
#include "tests/bench/perf_samples.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"

#define RING_BYTES ((size_t)16 << 20)
#define ROUND_MS 20
/* A record has at most 65,535 bytes; the kernel shrinks the stack until it fits. */
#define STACK_BYTES 65528
#define SAMPLE_ID_SIZE 16 /* pid, tid, time: at the end of all records but samples */

struct ring {
	int fd;
	struct perf_event_mmap_page *control; /* followed by the data pages */
	const uint8_t *data;
};

struct record {
	uint64_t time;
	size_t at, size; /* in the batch */
};

struct perf_samples {
	pid_t pid;
	VEC(struct ring) rings;
	VEC(uint8_t) batch;
	VEC(struct record) records;
};

/* perf's register numbers by DWARF number; then sp and pc. */
#if defined(__x86_64__)
static const uint8_t dwarf_regs[] = {
	PERF_REG_X86_AX,  PERF_REG_X86_DX,  PERF_REG_X86_CX,  PERF_REG_X86_BX,
	PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_BP,  PERF_REG_X86_SP,
	PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
	PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15,
};
#define REG_SP PERF_REG_X86_SP
#define REG_PC PERF_REG_X86_IP
#else
static const uint8_t dwarf_regs[] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
};
#define REG_SP PERF_REG_ARM64_SP
#define REG_PC PERF_REG_ARM64_PC
#endif
#define REG_COUNT (sizeof(dwarf_regs) / sizeof(dwarf_regs[0]))

static uint64_t reg_mask(void)
{
	uint64_t mask = 1ull << REG_SP | 1ull << REG_PC;

	for (size_t i = 0; i < REG_COUNT; i++)
		mask |= 1ull << dwarf_regs[i];
	return mask;
}

static int open_event(pid_t pid, uint32_t cpu, uint32_t hz)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = hz,
		.freq = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER |
			       PERF_SAMPLE_STACK_USER,
		.sample_regs_user = reg_mask(),
		.sample_stack_user = STACK_BYTES,
		.sample_id_all = 1,
		.inherit = 1,
		.disabled = 1,
		.enable_on_exec = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES / 4,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int open_rings(struct perf_samples *s, uint32_t hz, struct error *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	for (long cpu = 0; cpu < cpus; cpu++) {
		struct ring ring = {.fd = open_event(s->pid, (uint32_t)cpu, hz)};

		if (ring.fd == -ENODEV)
			continue; /* the CPU is not online */
		if (ring.fd < 0)
			return error_set(err, ring.fd, "perf_event_open on CPU %ld", cpu);
		ring.control = mmap(NULL, page + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				    ring.fd, 0);
		if (ring.control == MAP_FAILED) {
			int code = -errno;

			close(ring.fd);
			return error_set(err, code, "map the ring of CPU %ld", cpu);
		}
		ring.data = (const uint8_t *)ring.control + page;
		vec_push(&s->rings, ring);
	}
	return 0;
}

/* Starts a child that waits for `go` to be closed, then becomes the command. */
static pid_t start_child(char *const argv[], int go[2])
{
	pid_t pid = fork();
	char none;

	if (pid != 0)
		return pid;
	setpgid(0, 0);
	close(go[1]);
	/* Only figures may go to stdout. */
	dup2(STDERR_FILENO, STDOUT_FILENO);
	while (read(go[0], &none, 1) > 0)
		;
	execvp(argv[0], argv);
	_exit(127);
}

int perf_samples_start(struct perf_samples **out, char *const argv[], uint32_t hz,
		       struct error *err)
{
	_cleanup_close_ int go_read = -1, go_write = -1;
	struct perf_samples *s;
	int go[2], ret;

	if (pipe2(go, O_CLOEXEC) != 0)
		return error_set(err, -errno, "make a pipe");
	go_read = go[0];
	go_write = go[1];
	s = xcalloc(1, sizeof(*s));
	s->pid = start_child(argv, go);
	ret = s->pid < 0 ? error_set(err, -errno, "fork") : open_rings(s, hz, err);
	if (ret)
		perf_samples_free(s);
	else
		*out = s;
	return ret;
}

pid_t perf_samples_pid(const struct perf_samples *s)
{
	return s->pid;
}

void perf_samples_free(struct perf_samples *s)
{
	vec_for_each(&s->rings, struct ring *, ring) {
		munmap(ring->control, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
		close(ring->fd);
	}
	vec_release(&s->rings);
	vec_release(&s->batch);
	vec_release(&s->records);
	free(s);
}

/* Finds the time in a record. Returns false if it has none or is of no interest. */
static bool find_time(const struct perf_event_header *header, const uint8_t *record, uint64_t *time)
{
	size_t at = header->type == PERF_RECORD_SAMPLE ? sizeof(*header) + 8 : header->size - 8u;

	if (header->size < sizeof(*header) + SAMPLE_ID_SIZE)
		return false;
	memcpy(time, record + at, sizeof(*time));
	return true;
}

static void copy_out(const struct ring *ring, uint64_t at, void *to, size_t size)
{
	size_t offset = at & (RING_BYTES - 1);
	size_t first = RING_BYTES - offset < size ? RING_BYTES - offset : size;

	memcpy(to, ring->data + offset, first);
	memcpy((uint8_t *)to + first, ring->data, size - first);
}

static void collect(struct perf_samples *s, const struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->control->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->control->data_tail;

	while (head - tail >= sizeof(struct perf_event_header)) {
		struct record record = {.at = s->batch.count};
		struct perf_event_header header;

		copy_out(ring, tail, &header, sizeof(header));
		record.size = header.size;
		vec_reserve(&s->batch, s->batch.count + header.size);
		copy_out(ring, tail, s->batch.items + record.at, header.size);
		tail += header.size;
		if (!find_time(&header, s->batch.items + record.at, &record.time))
			continue;
		s->batch.count += header.size;
		vec_push(&s->records, record);
	}
	__atomic_store_n(&ring->control->data_tail, tail, __ATOMIC_RELEASE);
}

static int compare(const void *a, const void *b)
{
	const struct record *left = a, *right = b;

	if (left->time != right->time)
		return left->time < right->time ? -1 : 1;
	return left->at < right->at ? -1 : left->at > right->at;
}

/* Returns false if the task has no user side, or no longer has one. */
static bool parse_sample(struct bytes *b, struct perf_item *item)
{
	uint64_t mask = reg_mask(), values[64] = {0}, size;

	item->kind = PERF_ITEM_SAMPLE;
	item->pid = bytes_u32(b);
	item->tid = bytes_u32(b);
	bytes_skip(b, 8);
	if (bytes_u64(b) != PERF_SAMPLE_REGS_ABI_64)
		return false;
	for (unsigned int i = 0; i < 64; i++) {
		if (mask >> i & 1)
			values[i] = bytes_u64(b);
	}
	for (size_t i = 0; i < REG_COUNT; i++)
		item->regs.general[i] = values[dwarf_regs[i]];
	item->regs.sp = values[REG_SP];
	item->regs.pc = values[REG_PC];
	size = bytes_u64(b);
	item->stack = bytes_take(b, size);
	item->stack_size = size ? bytes_u64(b) : 0;
	item->is_full = item->stack_size == size;
	return item->stack && item->stack_size && item->stack_size <= size && !b->failed;
}

static bool parse_map(struct bytes *b, struct perf_item *item)
{
	item->kind = PERF_ITEM_MAP;
	item->pid = bytes_u32(b);
	item->tid = bytes_u32(b);
	item->start = bytes_u64(b);
	item->size = bytes_u64(b);
	item->file_offset = bytes_u64(b);
	bytes_skip(b, 32); /* device, inode, generation, protection, flags */
	item->path = bytes_cstr(b);
	return item->path;
}

static bool parse_task(struct bytes *b, bool is_fork, struct perf_item *item)
{
	item->pid = bytes_u32(b);
	item->parent_pid = bytes_u32(b);
	item->tid = bytes_u32(b);
	item->kind = is_fork ? PERF_ITEM_FORK : PERF_ITEM_EXIT;
	return !b->failed && item->pid == item->tid;
}

static bool parse(const struct perf_event_header *header, struct bytes *b, struct perf_item *item)
{
	switch (header->type) {
	case PERF_RECORD_SAMPLE:
		return parse_sample(b, item);
	case PERF_RECORD_MMAP2:
		return parse_map(b, item);
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		return parse_task(b, header->type == PERF_RECORD_FORK, item);
	case PERF_RECORD_COMM:
		item->kind = PERF_ITEM_EXEC;
		item->pid = bytes_u32(b);
		return header->misc & PERF_RECORD_MISC_COMM_EXEC;
	case PERF_RECORD_LOST:
		item->kind = PERF_ITEM_LOST;
		bytes_skip(b, 8);
		item->lost = bytes_u64(b);
		return true;
	default:
		return false;
	}
}

void perf_samples_drain(struct perf_samples *s, void (*fn)(void *ctx, const struct perf_item *item),
			void *ctx)
{
	poll(NULL, 0, ROUND_MS);
	vec_clear(&s->batch);
	vec_clear(&s->records);
	vec_for_each(&s->rings, const struct ring *, ring)
		collect(s, ring);
	if (s->records.count)
		qsort(s->records.items, s->records.count, sizeof(*s->records.items), compare);
	vec_for_each(&s->records, const struct record *, record) {
		const uint8_t *at = s->batch.items + record->at;
		struct perf_event_header header;
		struct perf_item item = {0};
		struct bytes b;

		memcpy(&header, at, sizeof(header));
		bytes_init(&b, at + sizeof(header), header.size - sizeof(header));
		if (parse(&header, &b, &item))
			fn(ctx, &item);
	}
}
