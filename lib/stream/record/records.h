/* SPDX-License-Identifier: MIT */
/* Records in user space: bounds, names of kinds, constructors, sources and receivers. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

static inline size_t record_size(const struct rec *rec)
{
	return (size_t)rec->words * 8;
}

/*
 * True if the record, of which `available` bytes can be read, is complete and consistent: its kind
 * is in record.def, and its size covers the fixed part and every array it announces. Checked once,
 * when the record enters user space; all readers of records rely on it.
 */
bool record_is_valid(const struct rec *rec, size_t available);

/* Returns the key of lost_by in --stats: "ring-full", "stack", … */
const char *lost_cause_name(unsigned int cause);

/* Returns the path of a module record: path_size bytes, not NUL-terminated. */
const char *rec_module_path(const struct rec_module *module);
/*
 * Returns the hash of the contents of a file without a build id, see binary_contents_hash(); 0:
 * unknown.
 */
uint64_t rec_module_contents(const struct rec_module *module);

/* Returns the text of a code record: text_size bytes, perhaps not NUL-terminated. */
const char *rec_code_text(const struct rec_code *code);

/* Copies the location of the code bytes. Returns false if no dump has them. */
bool rec_code_dump(const struct rec_code *code, struct rec_code_dump *dump);

/* Returns the size of a rec_container, including padding. */
size_t rec_container_size(size_t cgroup_size);
size_t rec_resource_size(size_t size);
/* Returns the size of a rec_arguments or rec_exec. */
size_t rec_arguments_size(size_t folder_size, size_t arguments_size);
size_t rec_module_size(unsigned int segment_count, size_t path_size);
size_t rec_code_size(unsigned int line_count, size_t text_size);
size_t rec_event_name_size(size_t name_size);
size_t rec_section_size(size_t name_size);
size_t rec_thread_name_size(size_t name_size);
size_t rec_symbol_size(size_t name_size);
size_t rec_schema_size(unsigned int field_count, size_t text_size);
size_t rec_marker_size(unsigned int value_count, unsigned int stack_count, size_t text_size);
size_t rec_meta_size(size_t key_size, size_t value_size);
size_t rec_file_size(size_t size);
/* Returns the size of a rec_resumed with these flags. */
size_t rec_resumed_size(uint8_t flags);

/* Returns the waker of a record with RUN_WOKEN. */
static inline struct run_waker *rec_resumed_waker(struct rec_resumed *rec)
{
	return (struct run_waker *)(rec + 1);
}

/* Returns the size of a rec_counter_info with the sizes of texts in `info`. */
size_t rec_counter_info_size(const struct rec_counter_info *info);

/* Return the texts of these records, not NUL-terminated. */
const char *rec_schema_text(const struct rec_schema *schema);
const struct rec_marker_stack *rec_marker_stacks(const struct rec_marker *marker);
const char *rec_marker_text(const struct rec_marker *marker);

/*
 * Fills in the common part; `size` in bytes, a multiple of 8. `kind` may be a kind of
 * live_record.h.
 */
void record_init(struct rec *rec, unsigned int kind, size_t size, __u64 time, __u32 pid, __u32 tid);

/* Packs and unpacks the frames in the body of a stack record, see struct rec_stack. */

/*
 * Returns a record of these frames, innermost first, without an outer stack. The caller frees it
 * and fills in time, pids, flags and id.
 */
struct rec_stack *stack_record_new(const uint64_t *addrs, const uint8_t *kinds,
				   uint16_t kernel_depth, uint16_t user_depth);

/* Returns the number of frames in the record itself. */
static inline uint32_t stack_record_depth(const struct rec_stack *rec)
{
	return (uint32_t)rec->kernel_depth + rec->user_depth;
}

/* Returns the number of bytes after the fixed part. */
size_t stack_record_body_size(uint32_t depth, uint32_t run_count);

/* The body of a record, in any memory. */
struct stack_body {
	const uint32_t *lows;
	const struct rec_run *runs;
	uint32_t depth, run_count;
};

struct stack_body stack_record_body(const struct rec_stack *rec);
/* Returns the body with `depth` frames in `run_count` runs at `words`. */
struct stack_body stack_body_at(const void *words, uint32_t depth, uint32_t run_count);

/* Clears unused bytes, in which BPF programs leave garbage that compresses badly. */
void stack_record_clear_padding(struct rec_stack *rec);
/* Stores the frames except the innermost `skip` ones. Returns their number, at most depth. */
uint32_t stack_body_unpack(const struct stack_body *body, uint32_t skip, uint64_t *addrs,
			   uint8_t *kinds);

/* A source of records: the live machine or a capture file. One of the three seams. */

/* The receiver of records. */

/* The record is valid during the call only. */
typedef void record_sink_fn(void *ctx, const struct rec *rec);

struct file_set;
struct source;

enum source_result {
	SOURCE_END = 0, /* no more records */
	SOURCE_RECORD = 1, /* *rec is the next record, valid until the next call */
	SOURCE_IDLE = 2, /* no record for now: the caller may do other work */
};

struct source_ops {
	/* Returns an enum source_result, or a negative errno. Records arrive in time order. */
	int (*next)(struct source *s, const struct rec **rec, struct error *err);
};

struct source {
	const struct source_ops *ops;
	struct file_set *files; /* by module_id; may be NULL; owned by the source */
};

static inline int source_next(struct source *s, const struct rec **rec, struct error *err)
{
	return s->ops->next(s, rec, err);
}
