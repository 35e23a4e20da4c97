/* SPDX-License-Identifier: MIT */
#include "lib/record/record.h"

#include "lib/record/stack_record.h"

#include <string.h>

static const char *const cause_names[LOST_CAUSE_COUNT] = {
	[LOST_RING_FULL] = "ring-full", [LOST_STACK] = "stack",	      [LOST_EVENT] = "event",
	[LOST_MAPPING] = "mapping",	[LOST_TRACKING] = "tracking", [LOST_NO_RING] = "no-ring",
};

static size_t padded(size_t size)
{
	return (size + 7) & ~(size_t)7;
}

size_t rec_module_size(unsigned int segment_count, size_t path_size)
{
	return sizeof(struct rec_module) + segment_count * sizeof(struct rec_segment) +
	       padded(path_size);
}

size_t rec_code_size(unsigned int line_count, size_t text_size)
{
	return sizeof(struct rec_code) + line_count * sizeof(struct rec_code_line) +
	       padded(text_size);
}

size_t rec_container_size(size_t cgroup_size)
{
	return sizeof(struct rec_container) + padded(cgroup_size);
}

size_t rec_event_name_size(size_t name_size)
{
	return sizeof(struct rec_event_name) + padded(name_size);
}

size_t rec_section_size(size_t name_size)
{
	return sizeof(struct rec_section) + padded(name_size);
}

size_t rec_symbol_size(size_t name_size)
{
	return sizeof(struct rec_symbol) + padded(name_size);
}

size_t rec_arguments_size(size_t folder_size, size_t arguments_size)
{
	return sizeof(struct rec_arguments) + padded(folder_size + arguments_size);
}

/* The kernel's text can end in the middle of an argument; that of user space never does. */
static bool arguments_end(const struct rec_arguments *rec)
{
	size_t size = rec->arguments_size;

	return !size || !rec->text[rec->folder_size + size - 1];
}

static size_t stack_record_size(const struct rec_stack *rec)
{
	return sizeof(*rec) + stack_record_body_size(stack_record_depth(rec), rec->run_count);
}

static bool stack_record_is_valid(const struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);

	return stack_body_is_valid(&body);
}

#define RECORD(kind, name, type, size, needed, holds, ...) \
	static bool is_valid_##kind(const struct rec *rec) \
	{ \
		const struct type *r = (const struct type *)rec; \
\
		return record_size(rec) >= (size) && record_size(rec) >= (needed) && (holds); \
	}
#include "bpf/record.def"
#undef RECORD

typedef bool is_valid_fn(const struct rec *rec);

static is_valid_fn *const validators[REC_KIND_COUNT] = {
#define RECORD(kind, ...) [REC_##kind] = is_valid_##kind,
#include "bpf/record.def"
#undef RECORD
};

bool record_is_valid(const struct rec *rec, size_t available)
{
	if (available < sizeof(*rec) || record_size(rec) > available)
		return false;
	return rec->kind < REC_KIND_COUNT && validators[rec->kind] && validators[rec->kind](rec);
}

const char *lost_cause_name(unsigned int cause)
{
	return cause < LOST_CAUSE_COUNT ? cause_names[cause] : "unknown";
}

const char *rec_module_path(const struct rec_module *module)
{
	return (const char *)(module->segments + module->segment_count);
}

const char *rec_code_text(const struct rec_code *code)
{
	return (const char *)(code->lines + code->line_count);
}

void record_init(struct rec *rec, unsigned int kind, size_t size, __u64 time, __u32 pid, __u32 tid)
{
	memset(rec, 0, sizeof(*rec));
	rec->words = (__u16)(size / 8);
	rec->kind = (__u8)kind;
	rec->time = time;
	rec->pid = pid;
	rec->tid = tid;
}
