// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Labels of goroutines (pprof.Do of Go's runtime/pprof): sends those of the goroutine that a
 * sampled thread runs, if they have changed. The system stack works for the thread's goroutine and
 * gets its labels, as in Go's own profiler. All addresses come from the target and are untrusted.
 */
#include "bpf/runtimes/labels.bpf.h"

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
	__u32 visits, padding;
	struct go_pair pair;
};

PER_CPU(struct go_walk, go_walks, own_go_walk)

struct go_loop {
	struct go_walk *w;
	struct label_scratch *l;
};

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
static __always_inline __u8 read_text(struct label_scratch *l, struct rec_label *label, char *to,
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
		l->is_unreadable = 1;
		return 0;
	}
	return size;
}

/* Reads item `i` of the slice into w->pair. */
static __always_inline bool read_item(struct go_walk *w, struct label_scratch *l, __u32 i)
{
	if (read_user(&w->pair, sizeof(w->pair), w->items + i * sizeof(w->pair)))
		return true;
	l->is_unreadable = 1;
	return false;
}

/* Reads slot `i` of the map's buckets into w->pair. False: it is empty. */
static __always_inline bool read_slot(struct go_walk *w, struct label_scratch *l, __u32 i)
{
	__u64 bucket = w->items + (i / BUCKET_SLOTS) * sizeof(struct go_bucket);
	__u32 slot = i % BUCKET_SLOTS;
	__u8 top;

	if (!read_user(&top, 1, bucket + slot)) {
		l->is_unreadable = 1;
		return false;
	}
	if (top < BUCKET_FILLED)
		return false;
	bucket += BUCKET_SLOTS + slot * sizeof(struct go_string);
	if (read_user(&w->pair.key, sizeof(w->pair.key), bucket) &&
	    read_user(&w->pair.value, sizeof(w->pair.value),
		      bucket + BUCKET_SLOTS * sizeof(struct go_string)))
		return true;
	l->is_unreadable = 1;
	return false;
}

__noinline int go_read_label(struct go_walk *w, struct label_scratch *l, __u32 i)
{
	struct rec_label *label;
	__u32 found;

	if (!w || !l)
		return 0;
	found = l->found;
	if (found >= LABELS_MAX)
		return 0;
	if (w->layout.is_map ? !read_slot(w, l, i) : !read_item(w, l, i))
		return 1;
	label = &l->labels[found];
	__builtin_memset(label, 0, sizeof(*label));
	label->key_size = read_text(l, label, label->key, LABEL_KEY_MAX, &w->pair.key);
	label->value_size = read_text(l, label, label->value, LABEL_VALUE_MAX, &w->pair.value);
	l->found = found + 1;
	return 1;
}

LOOP_CALLBACK(read_label, go_loop, go_read_label(loop->w, loop->l, i))

/* Sets the address of the labels, and the number of visits. False: unreadable. */
static __always_inline bool find_items(struct go_walk *w, struct label_scratch *l, __u64 labels)
{
	struct go_slice slice;
	struct go_map map;
	__u64 at;

	if (!w->layout.is_map) {
		if (!read_user(&slice, sizeof(slice), labels))
			return false;
		w->items = slice.items;
		l->total = slice.count;
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
	l->total = map.count;
	w->visits = BUCKET_SLOTS * (map.bucket_bits ? BUCKETS_MAX : 1);
	if (map.bucket_bits == 1)
		w->visits = BUCKET_SLOTS * 2;
	return true;
}

/* Reads the labels of the goroutine. */
static __always_inline void read_labels(struct go_walk *w, struct label_scratch *l, __u64 goroutine)
{
	struct go_loop loop = {.w = w, .l = l};
	__u64 labels;

	if (!read_user(&labels, 8, goroutine + w->layout.labels)) {
		l->is_unreadable = 1;
		return;
	}
	if (!labels)
		return;
	if (!find_items(w, l, labels)) {
		l->is_unreadable = 1;
		return;
	}
	bpf_loop(w->visits, read_label, &loop, 0);
}

static __always_inline void find_go_labels(struct stack_scratch *s,
					   const struct runtime_layout *layout,
					   struct label_scratch *l)
{
	struct go_walk *w = own_go_walk();
	__u64 goroutine;

	if (!w)
		return;
	w->layout = layout->go;
	w->visits = 0;
	goroutine = find_goroutine(s, w);
	if (goroutine)
		read_labels(w, l, goroutine);
}

LABEL_PROGRAMS(go, RUNTIME_GO, LABELS_OF_WORK, find_go_labels)
