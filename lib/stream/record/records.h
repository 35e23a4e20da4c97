/* SPDX-License-Identifier: MIT */
/* Reading and building records in user space: bounds, names of kinds, constructors. */
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
