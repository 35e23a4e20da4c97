// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Labels of goroutines (pprof.Do of Go's runtime/pprof): sends those of the goroutine that a
 * sampled thread runs, if they have changed. The system stack works for the thread's goroutine and
 * gets its labels, as in Go's own profiler. All addresses come from the target and are untrusted.
 */
#include "bpf/capture_stack.bpf.h"
#include "bpf/runtimes/pending.bpf.h"

#define THREADS (1 << 12) /* a power of two */
/* Time after which labels already sent are sent again: they may have been lost. */
#define REPEAT_NS 1000000000ull

/* The labels last sent for a thread. Threads that share a slot send theirs more often. */
struct go_thread {
	__u64 key; /* thread and process */
	__u64 hash; /* of the labels */
	__u64 time; /* when they were sent */
};

struct go_threads {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, THREADS);
	__type(key, __u32);
	__type(value, struct go_thread);
};

/* A Go string, and a label in a slice. */
struct go_string {
	__u64 text, size;
};

struct go_pair {
	struct go_string key, value;
};

struct go_slice {
	__u64 items, count, capacity;
};

/* A Go map up to 1.23, and a bucket of it (src/runtime/map.go in Go's source). */
#define BUCKET_SLOTS 8
#define BUCKET_FILLED 5 /* smallest tophash of an occupied slot */
/* Limit of buckets to visit: a map of at most LABELS_MAX labels has one. */
#define BUCKETS_MAX 4

struct go_map {
	__u64 count;
	__u8 flags, bucket_bits;
	__u16 overflow;
	__u32 seed;
	__u64 buckets;
};

struct go_bucket {
	__u8 tops[BUCKET_SLOTS];
	struct go_string keys[BUCKET_SLOTS], values[BUCKET_SLOTS];
	__u64 overflow;
};

struct go_walk {
	struct go_labels_layout layout;
	__u64 items; /* items of the slice, or buckets of the map */
	__u64 hash;
	__u64 total; /* number of labels */
	__u32 visits, found, is_unreadable, padding;
	struct go_pair pair;
	__u64 head[sizeof(struct rec_labels) / 8]; /* labels_of() */
	struct rec_label labels[LABELS_MAX];
};

struct go_threads go_threads SEC(".maps");
PER_CPU(struct go_walk, go_walks, own_go_walk)

__u64 go_samples = 0, go_labelled = 0, go_unreadable = 0;

#define labels_of(w) ((struct rec_labels *)(w)->head)

struct go_loop {
	struct go_walk *w;
};

static __always_inline bool read_user(void *to, __u32 size, __u64 from)
{
	return !bpf_probe_read_user(to, size, (const void *)from);
}

/* Finds the thread's goroutine. Returns 0 if it runs none or its data is inconsistent. */
static __always_inline __u64 find_goroutine(struct stack_scratch *s, struct go_walk *w)
{
	__u64 g = 0, m, current, own_m, thread = thread_pointer_of(bpf_get_current_task_btf());
	__u32 reg = w->layout.g_reg & (WALK_OTHER_REGS - 1);

	if (!w->layout.tls)
		g = s->frame.other[reg];
	else if (!thread || !read_user(&g, 8, thread + w->layout.tls))
		return 0;
	if (!read_user(&m, 8, g + w->layout.m) || !read_user(&current, 8, m + w->layout.current) ||
	    !current || !read_user(&own_m, 8, current + w->layout.m) || own_m != m)
		return 0;
	return current;
}

/* Copies one of the strings; limits its size again for the verifier. */
static __always_inline __u8 read_text(struct go_walk *w, struct rec_label *label, char *to,
				      __u32 max, const struct go_string *from)
{
	__u64 size = from->size;

	if (size > max) {
		label->flags |= LABEL_CUT;
		size = max;
	}
	barrier_var(size);
	if (size > max)
		return 0;
	if (size && bpf_probe_read_user(to, size, (const void *)from->text)) {
		w->is_unreadable = 1;
		return 0;
	}
	return size;
}

/* Reads item `i` of the slice into w->pair. */
static __always_inline bool read_item(struct go_walk *w, __u32 i)
{
	if (read_user(&w->pair, sizeof(w->pair), w->items + i * sizeof(w->pair)))
		return true;
	w->is_unreadable = 1;
	return false;
}

/* Reads slot `i` of the map's buckets into w->pair. False: it is empty. */
static __always_inline bool read_slot(struct go_walk *w, __u32 i)
{
	__u64 bucket = w->items + (i / BUCKET_SLOTS) * sizeof(struct go_bucket);
	__u32 slot = i % BUCKET_SLOTS;
	__u8 top;

	if (!read_user(&top, 1, bucket + slot)) {
		w->is_unreadable = 1;
		return false;
	}
	if (top < BUCKET_FILLED)
		return false;
	bucket += BUCKET_SLOTS + slot * sizeof(struct go_string);
	if (read_user(&w->pair.key, sizeof(w->pair.key), bucket) &&
	    read_user(&w->pair.value, sizeof(w->pair.value),
		      bucket + BUCKET_SLOTS * sizeof(struct go_string)))
		return true;
	w->is_unreadable = 1;
	return false;
}

__noinline int go_read_label(struct go_walk *w, __u32 i)
{
	struct rec_label *label;
	__u32 found;

	if (!w)
		return 0;
	found = w->found;
	if (found >= LABELS_MAX)
		return 0;
	if (w->layout.is_map ? !read_slot(w, i) : !read_item(w, i))
		return 1;
	label = &w->labels[found];
	__builtin_memset(label, 0, sizeof(*label));
	label->key_size = read_text(w, label, label->key, LABEL_KEY_MAX, &w->pair.key);
	label->value_size = read_text(w, label, label->value, LABEL_VALUE_MAX, &w->pair.value);
	w->found = found + 1;
	return 1;
}

LOOP_CALLBACK(read_label, go_loop, go_read_label(loop->w, i))

static long hash_word(__u32 i, void *ctx)
{
	struct go_walk *w = ((struct go_loop *)ctx)->w;

	if (i >= sizeof(w->labels) / 8)
		return 1;
	w->hash = mix_bits(w->hash + ((__u64 *)w->labels)[i]) | 1;
	return 0;
}

/* Sets the address of the labels, and the number of visits. False: unreadable. */
static __always_inline bool find_items(struct go_walk *w, __u64 labels)
{
	struct go_slice slice;
	struct go_map map;
	__u64 at;

	if (!w->layout.is_map) {
		if (!read_user(&slice, sizeof(slice), labels))
			return false;
		w->items = slice.items;
		w->total = slice.count;
		w->visits = slice.count < LABELS_MAX ? slice.count : LABELS_MAX;
		return true;
	}
	if (!read_user(&at, 8, labels))
		return false;
	if (!at)
		return true;
	if (!read_user(&map, sizeof(map), at))
		return false;
	w->items = map.buckets;
	w->total = map.count;
	w->visits = BUCKET_SLOTS * (map.bucket_bits ? BUCKETS_MAX : 1);
	if (map.bucket_bits == 1)
		w->visits = BUCKET_SLOTS * 2;
	return true;
}

/* Reads the labels of the goroutine. */
static __always_inline void read_labels(struct go_walk *w, __u64 goroutine)
{
	struct go_loop loop = {.w = w};
	__u64 labels;

	if (!read_user(&labels, 8, goroutine + w->layout.labels)) {
		w->is_unreadable = 1;
		return;
	}
	if (!labels)
		return;
	if (!find_items(w, labels)) {
		w->is_unreadable = 1;
		return;
	}
	bpf_loop(w->visits, read_label, &loop, 0);
}

/* Sends the labels if they differ from the thread's last ones. False: no room. */
static __always_inline bool send_labels(struct go_walk *w, const struct rec *like, __u64 key)
{
	__u32 slot = mix_bits(key) & (THREADS - 1), found = w->found, size;
	struct go_thread *thread = bpf_map_lookup_elem(&go_threads, &slot);
	struct bpf_counters *count = own_counters();
	struct rec_labels *rec = labels_of(w);
	struct go_loop loop = {.w = w};
	void *ring = own_ring();
	__u64 time = like->time;

	if (found > LABELS_MAX || !thread || !count || !ring)
		return false;
	w->hash = found;
	bpf_loop(found * (sizeof(struct rec_label) / 8), hash_word, &loop, 0);
	if (thread->key == key && thread->hash == w->hash && time - thread->time < REPEAT_NS)
		return true;
	size = sizeof(w->head) + found * sizeof(struct rec_label);
	barrier_var(size);
	if (size > sizeof(w->head) + sizeof(w->labels))
		return false;
	rec->rec = *like;
	rec->rec.kind = REC_LABELS;
	rec->rec.flags = 0;
	rec->rec.weight = 0;
	rec->rec.words = size / 8;
	rec->count = found;
	rec->more = w->total > found ? (w->total - found > 0xffff ? 0xffff : w->total - found) : 0;
	rec->reserved = 0;
	if (!emit_output(count, ring, w->head, size, BPF_RB_NO_WAKEUP))
		return false;
	thread->key = key;
	thread->hash = w->hash;
	thread->time = time;
	return true;
}

static __always_inline bool go_begin(struct stack_scratch *s, struct go_walk *w)
{
	__u32 number = s->space.runtimes[0].layout;
	struct runtime_layout *layout = bpf_map_lookup_elem(&runtime_layouts, &number);

	if (!layout || layout->kind != RUNTIME_GO)
		return false;
	w->layout = layout->go;
	w->found = w->is_unreadable = w->visits = 0;
	w->total = 0;
	return true;
}

/* False: the ring has no room for the labels. */
static __always_inline bool take_labels(struct stack_scratch *s, struct go_walk *w,
					const struct rec *like)
{
	__u64 goroutine;

	__sync_fetch_and_add(&go_samples, 1);
	goroutine = find_goroutine(s, w);
	if (goroutine)
		read_labels(w, goroutine);
	if (w->is_unreadable) {
		__sync_fetch_and_add(&go_unreadable, 1);
		w->found = 0;
		w->total = 0;
	}
	if (w->found)
		__sync_fetch_and_add(&go_labelled, 1);
	return send_labels(w, like, (__u64)like->tid << 32 | s->space.serial);
}

static __always_inline void finish_sample(void)
{
	struct runtime_scratch *m = own_runtime_scratch();
	struct bpf_counters *losses = own_counters();
	struct stack_scratch *s;
	struct go_walk *w;

	s = own_stack();
	w = own_go_walk();
	if (!s || !m || !w || !losses)
		return;
	if (go_begin(s, w) && !take_labels(s, w, &m->pending.sample.rec))
		lose_pending(m, losses);
	else
		send_pending(s, m);
}

SEC("perf_event")
int on_go(void *ctx)
{
	finish_sample();
	end_pending_run();
	return 0;
}

SEC("tracepoint")
int on_go_tracepoint(void *ctx)
{
	finish_sample();
	end_pending_run();
	return 0;
}
