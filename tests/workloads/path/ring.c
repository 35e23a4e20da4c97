/* SPDX-License-Identifier: MIT */
/* ring: reads by io_uring what a slower process writes to a pipe. */
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

#define BLOCKS 100

struct ring {
	int fd;
	uint32_t *tail, *array, *head_done, *tail_done, mask, mask_done;
	struct io_uring_sqe *entries;
};

static void *map(int fd, size_t size, long offset)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);

	if (at == MAP_FAILED)
		exit(1);
	return at;
}

static void set_up(struct ring *r)
{
	struct io_uring_params p = {0};
	char *submitted, *done;

	r->fd = (int)syscall(SYS_io_uring_setup, 4, &p);
	if (r->fd < 0)
		exit(1);
	submitted = map(r->fd, p.sq_off.array + p.sq_entries * sizeof(uint32_t),
			IORING_OFF_SQ_RING);
	done = map(r->fd, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		   IORING_OFF_CQ_RING);
	r->entries = map(r->fd, p.sq_entries * sizeof(*r->entries), IORING_OFF_SQES);
	r->tail = (uint32_t *)(submitted + p.sq_off.tail);
	r->array = (uint32_t *)(submitted + p.sq_off.array);
	r->mask = *(uint32_t *)(submitted + p.sq_off.ring_mask);
	r->head_done = (uint32_t *)(done + p.cq_off.head);
	r->tail_done = (uint32_t *)(done + p.cq_off.tail);
}

static void read_block(struct ring *r, int from, char *block, size_t size)
{
	uint32_t at = *r->tail & r->mask;

	r->entries[at] = (struct io_uring_sqe){
		.opcode = IORING_OP_READ,
		.fd = from,
		.addr = (uintptr_t)block,
		.len = (uint32_t)size,
	};
	r->array[at] = at;
	__atomic_store_n(r->tail, *r->tail + 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		exit(1);
	if (__atomic_load_n(r->tail_done, __ATOMIC_ACQUIRE) == *r->head_done)
		exit(1);
	__atomic_store_n(r->head_done, *r->head_done + 1, __ATOMIC_RELEASE);
}

static NOINLINE void produce(void)
{
	burn_ms(4);
}

static NOINLINE void consume(void)
{
	burn_ms(0.5);
}

int main(void)
{
	struct ring r = {0};
	char block[64] = {0};
	int ends[2];

	if (pipe(ends))
		return 1;
	if (!fork()) {
		for (int i = 0; i < BLOCKS; i++) {
			produce();
			if (write(ends[1], block, sizeof(block)) != sizeof(block))
				_exit(1);
		}
		_exit(0);
	}
	set_up(&r);
	for (int i = 0; i < BLOCKS; i++) {
		read_block(&r, ends[0], block, sizeof(block));
		consume();
	}
	wait(NULL);
	return 0;
}
