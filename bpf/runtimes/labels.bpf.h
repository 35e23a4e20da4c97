/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends the labels of a sampled thread if they have changed, then its sample. */
#pragma once

#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/pending.bpf.h"

#define THREADS (1 << 12) /* a power of two */
/* Time after which labels already sent are sent again: they may have been lost. */
#define REPEAT_NS 1000000000ull

/* The labels last sent for a thread. Threads that share a slot send theirs more often. */
struct label_thread {
	__u64 key; /* thread and process */
	__u64 hash; /* of the labels */
	__u64 time; /* when they were sent */
};

struct label_threads {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREADS);
	__type(key, __u32);
	__type(value, struct label_thread);
};

struct label_scratch {
	__u64 hash;
	__u64 total; /* number of labels */
	__u32 found, is_unreadable;
	__u64 head[sizeof(struct rec_labels) / 8]; /* labels_of() */
	struct rec_label labels[LABELS_MAX];
};

struct label_threads label_threads SEC(".maps");
PER_CPU(struct label_scratch, label_scratches, own_label_scratch)

__u64 label_samples = 0, label_found = 0, label_unreadable = 0;

#define labels_of(l) ((struct rec_labels *)(l)->head)

struct label_loop {
	struct label_scratch *l;
};

static __always_inline bool read_user(void *to, __u32 size, __u64 from)
{
	return !bpf_probe_read_user(to, size, (const void *)from);
}

static long hash_word(__u32 i, void *ctx)
{
	struct label_scratch *l = ((struct label_loop *)ctx)->l;

	if (i >= sizeof(l->labels) / 8)
		return 1;
	l->hash = mix_bits(l->hash + ((__u64 *)l->labels)[i]) | 1;
	return 0;
}

/*
 * Sends the labels of that set if they differ from the thread's last ones. False: no room.
 */
static __always_inline bool send_labels(struct label_scratch *l, __u32 set, const struct rec *like,
					__u64 key)
{
	__u32 slot = mix_bits(key) & (THREADS - 1), found = l->found, size;
	struct label_thread *thread = bpf_map_lookup_elem(&label_threads, &slot);
	struct bpf_counters *count = own_counters();
	struct rec_labels *rec = labels_of(l);
	struct label_loop loop = {.l = l};
	void *ring = own_ring();
	__u64 time = like->time;

	if (found > LABELS_MAX || !thread || !count || !ring)
		return false;
	l->hash = found;
	bpf_loop(found * (sizeof(struct rec_label) / 8), hash_word, &loop, 0);
	if (thread->key == key && thread->hash == l->hash && time - thread->time < REPEAT_NS)
		return true;
	size = sizeof(l->head) + found * sizeof(struct rec_label);
	barrier_var(size);
	if (size > sizeof(l->head) + sizeof(l->labels))
		return false;
	rec->rec = *like;
	rec->rec.kind = REC_LABELS;
	rec->rec.flags = 0;
	rec->rec.weight = 0;
	rec->rec.words = size / 8;
	rec->count = found;
	rec->more = l->total > found ? (l->total - found > 0xffff ? 0xffff : l->total - found) : 0;
	rec->set = set;
	if (!emit_output(count, ring, l->head, size, BPF_RB_NO_WAKEUP))
		return false;
	thread->key = key;
	thread->hash = l->hash;
	thread->time = time;
	return true;
}

/* Reads the thread's labels into l->labels. */
typedef void find_labels_fn(struct stack_scratch *s, const struct runtime_layout *layout,
			    struct label_scratch *l);

/* False: the ring has no room for the labels. */
static __always_inline bool take_labels(struct stack_scratch *s, struct label_scratch *l,
					__u32 kind, __u32 set, find_labels_fn *find,
					const struct rec *like)
{
	const struct runtime_layout *layout = layout_of(s, kind);

	if (!layout)
		return true;
	l->found = l->is_unreadable = 0;
	l->total = 0;
	__sync_fetch_and_add(&label_samples, 1);
	find(s, layout, l);
	if (l->is_unreadable) {
		__sync_fetch_and_add(&label_unreadable, 1);
		l->found = 0;
		l->total = 0;
	}
	if (l->found)
		__sync_fetch_and_add(&label_found, 1);
	return send_labels(l, set, like, (__u64)like->tid << 32 | s->space.serial);
}

static __always_inline void finish_labelled(__u32 kind, __u32 set, find_labels_fn *find)
{
	struct runtime_scratch *m = own_runtime_scratch();
	struct label_scratch *l = own_label_scratch();
	struct bpf_counters *losses = own_counters();
	struct stack_scratch *s;

	s = own_stack();
	if (!s || !m || !l || !losses)
		return;
	if (take_labels(s, l, kind, set, find, &m->pending.sample.rec))
		send_pending(s, m);
	else
		lose_pending(m, losses);
}

/* Defines the programs on_NAME() and on_NAME_tracepoint(). */
#define LABEL_PROGRAMS(name, kind, set, find) \
	SEC("perf_event") \
	int on_##name(void *ctx) \
	{ \
		finish_labelled(kind, set, find); \
		end_pending_run(); \
		return 0; \
	} \
	SEC("tracepoint") \
	int on_##name##_tracepoint(void *ctx) \
	{ \
		finish_labelled(kind, set, find); \
		end_pending_run(); \
		return 0; \
	}
