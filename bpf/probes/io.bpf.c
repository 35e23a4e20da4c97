// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Requests to block devices, from the submission by the requesting task to the completion. Writes
 * of kernel threads are write-back, attributed to no process.
 */
/* Completions interrupt submissions. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"

/* Bits of bio.bi_opf and bio.bi_flags, unnamed in the kernel's types. */
#define OPERATION_MASK 0xff
#define OPERATION_READ 0
#define BIO_CLONED (1 << 1)
#define MERGED_MAX 1024

/* Set by user space. */
const volatile __u64 io_min_ns = 0;

struct block_device {
	__u32 bd_dev;
} CORE;

struct bvec_iter {
	unsigned int bi_size;
} CORE;

struct bio {
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_flags;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	struct bio *bi_next;
} CORE;

struct request {
	struct bio *bio;
} CORE;

/*
 * Requests under way, by the kernel's address. A request that never completes is replaced by the
 * next one at its address.
 */
struct requests {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct rec_io);
};

struct requests requests SEC(".maps");

/* The request that is being submitted. */
struct submission {
	__u64 key; /* key in `requests` */
	struct rec_io io;
};

PER_CPU(struct submission, submissions, own_submission)

static __always_inline void describe(struct rec_io *io, struct bio *bio)
{
	__u32 operation = BPF_CORE_READ(bio, bi_opf) & OPERATION_MASK;

	io->start = bpf_ktime_get_ns();
	io->device = BPF_CORE_READ(bio, bi_bdev, bd_dev);
	io->bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	io->operation = operation;
}

/* Remembers the request until it completes. */
static __always_inline void keep_request(const struct submission *new)
{
	if (bpf_map_update_elem(&requests, &new->key, &new->io, BPF_ANY))
		count_marker(false);
}

/* `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_submission(const struct rec_sample *sample)
{
	struct submission *new = own_submission();

	if (!sample || !new) {
		count_marker(false);
		return;
	}
	new->io.rec.flags = IO_HAS_STACK;
	set_marker_stack(&new->io.stack, sample);
	keep_request(new);
}

MARKER_END("raw_tp", end_submission, TIMED_SUBMIT, finish_submission(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_submission}};

/* Sets the submitter. */
static __always_inline void submit(void *ctx, struct task_struct *task, struct submission *new)
{
	struct tracked_process *process;

	new->io.rec.time = new->io.start;
	process = marker_owner(task, &new->io.rec);
	if (!process)
		return;
	if (task->flags & PF_KTHREAD)
		keep_request(new);
	else
		finish_submission(send_user_marker_stack(ctx, task, process, &new->io.rec, 0));
}

/* Layers above a device submit copies of their requests, which do not count again. */
static __always_inline void note_submission(void *ctx, struct bio *bio)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct submission *new = own_submission();

	if (!markers.since || !new || BPF_CORE_READ(bio, bi_flags) & BIO_CLONED)
		return;
	__builtin_memset(new, 0, sizeof(*new));
	new->key = (__u64)bio;
	describe(&new->io, bio);
	if (task->flags & PF_KTHREAD && new->io.operation != OPERATION_READ) {
		new->io.rec.flags = IO_WRITE_BACK;
		keep_request(new);
	} else {
		submit(ctx, task, new);
	}
}

SEC("raw_tp/block_bio_queue")
int BPF_PROG(on_submit, struct bio *bio)
{
	RUN_TIMED(TIMED_SUBMIT, note_submission(ctx, bio));
	return 0;
}

static __always_inline bool send_io(struct rec_io *io, __u64 now)
{
	__u32 pid = io->rec.pid, tid = io->rec.tid;
	__u8 flags = io->rec.flags;

	rec_init(&io->rec, REC_IO, sizeof(*io), now);
	io->rec.pid = pid;
	io->rec.tid = tid;
	io->rec.flags = flags;
	return send_marker(&io->rec, sizeof(*io), sizeof(*io), false);
}

static __always_inline void end_request(struct bio *bio, __u32 status)
{
	__u64 key = (__u64)bio, now;
	struct rec_io *found, io;

	found = bpf_map_lookup_elem(&requests, &key);
	if (!found)
		return;
	io = *found;
	bpf_map_delete_elem(&requests, &key);
	now = bpf_ktime_get_ns();
	if (now - io.start < io_min_ns)
		return;
	io.status = status;
	count_marker(send_io(&io, now));
}

/* Completes requests of devices without a request queue. */
static __always_inline void complete_alone(struct bio *bio)
{
	if (markers.since)
		end_request(bio, BPF_CORE_READ(bio, bi_status));
}

SEC("raw_tp/block_bio_complete")
int BPF_PROG(on_bio_complete, void *queue, struct bio *bio)
{
	RUN_TIMED(TIMED_BIO_COMPLETE, complete_alone(bio));
	return 0;
}

struct completion {
	struct bio *bio;
	__u32 bytes; /* bytes completed, from the start of `bio` on */
	__u32 status;
};

static long complete_bio(__u32 i, void *ctx)
{
	struct completion *done = ctx;
	struct bio *bio = done->bio;
	__u32 size;

	if (!bio)
		return 1;
	size = BPF_CORE_READ(bio, bi_iter.bi_size);
	if (done->bytes < size)
		return 1;
	done->bytes -= size;
	done->bio = BPF_CORE_READ(bio, bi_next);
	end_request(bio, done->status);
	return 0;
}

/*
 * Completes a part of a request: several bios may have been merged. For a split one, its last part
 * counts, which is nearly always the last to complete.
 */
static __always_inline void complete_request(struct request *request, __u32 status, __u32 bytes)
{
	struct completion done = {
		.bio = BPF_CORE_READ(request, bio),
		.bytes = bytes,
		.status = status,
	};

	if (markers.since)
		bpf_loop(MERGED_MAX, complete_bio, &done, 0);
}

SEC("raw_tp/block_rq_complete")
int BPF_PROG(on_request_complete, struct request *request, __u32 status, __u32 bytes)
{
	RUN_TIMED(TIMED_REQUEST_COMPLETE, complete_request(request, status, bytes));
	return 0;
}
