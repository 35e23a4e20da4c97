/* SPDX-License-Identifier: MIT */
#include "lib/record/record.h"

#include "lib/record/stack_record.h"

#include <string.h>

static const char *const kind_names[REC_KIND_COUNT] = {
	[REC_NONE] = "none",
	[REC_SAMPLE] = "sample",
	[REC_STACK] = "stack",
	[REC_FORK] = "fork",
	[REC_NAME] = "name",
	[REC_EXIT] = "exit",
	[REC_MAP] = "map",
	[REC_MODULE] = "module",
	[REC_LOST] = "lost",
	[REC_CPU] = "cpu",
	[REC_COPY] = "copy",
	[REC_CODE] = "code",
	[REC_CONTAINER] = "home",
	[REC_EVENT] = "event",
	[REC_EVENT_NAME] = "event-name",
	[REC_THROTTLED] = "throttled",
	[REC_SECTION] = "section",
	[REC_SYMBOL] = "symbol",
	[REC_LOADED] = "loaded",
	[REC_USER] = "user",
	[REC_EXEC] = "exec",
	[REC_ARGUMENTS] = "arguments",
};

static const char *const cause_names[LOST_CAUSE_COUNT] = {
	[LOST_RING_FULL] = "ring-full", [LOST_STACK] = "stack",	      [LOST_EVENT] = "event",
	[LOST_MAPPING] = "mapping",	[LOST_TRACKING] = "tracking", [LOST_NO_RING] = "no-ring",
};

/* The part that every record of the kind has; 0 for kinds that cannot be read. */
static const __u16 fixed_sizes[REC_KIND_COUNT] = {
	[REC_SAMPLE] = sizeof(struct rec_sample),
	[REC_STACK] = sizeof(struct rec_stack),
	[REC_FORK] = sizeof(struct rec_fork),
	[REC_NAME] = sizeof(struct rec_name),
	[REC_EXIT] = sizeof(struct rec_exit),
	[REC_MAP] = sizeof(struct rec_map),
	[REC_MODULE] = sizeof(struct rec_module),
	[REC_LOST] = sizeof(struct rec_lost),
	[REC_CPU] = sizeof(struct rec_cpu),
	[REC_COPY] = sizeof(struct rec_copy),
	[REC_CODE] = sizeof(struct rec_code),
	[REC_CONTAINER] = sizeof(struct rec_container),
	[REC_EVENT] = sizeof(struct rec_event),
	[REC_EVENT_NAME] = sizeof(struct rec_event_name),
	[REC_THROTTLED] = sizeof(struct rec_throttled),
	[REC_SECTION] = sizeof(struct rec_section),
	[REC_SYMBOL] = sizeof(struct rec_symbol),
	[REC_LOADED] = sizeof(struct rec_loaded),
	[REC_USER] = sizeof(struct rec_user),
	[REC_EXEC] = sizeof(struct rec_exec),
	[REC_ARGUMENTS] = sizeof(struct rec_arguments),
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

static size_t needed_size(const struct rec *rec)
{
	if (rec->kind == REC_STACK) {
		const struct rec_stack *stack = (const struct rec_stack *)rec;

		return sizeof(*stack) +
		       stack_record_body_size(stack_record_depth(stack), stack->run_count);
	}
	if (rec->kind == REC_MODULE) {
		const struct rec_module *module = (const struct rec_module *)rec;

		return rec_module_size(module->segment_count, module->path_size);
	}
	if (rec->kind == REC_CODE) {
		const struct rec_code *code = (const struct rec_code *)rec;

		return rec_code_size(code->line_count, code->text_size);
	}
	if (rec->kind == REC_CONTAINER)
		return rec_container_size(((const struct rec_container *)rec)->cgroup_size);
	if (rec->kind == REC_EXEC) {
		const struct rec_exec *exec = (const struct rec_exec *)rec;

		return rec_arguments_size(exec->folder_size, exec->arguments_size);
	}
	if (rec->kind == REC_ARGUMENTS) {
		const struct rec_arguments *arguments = (const struct rec_arguments *)rec;

		return rec_arguments_size(arguments->folder_size, arguments->arguments_size);
	}
	if (rec->kind == REC_COPY) {
		const struct rec_copy *copy = (const struct rec_copy *)rec;

		return sizeof(*copy) + (size_t)copy->kernel_depth * sizeof(__u64) +
		       copy->stack_size;
	}
	if (rec->kind == REC_EVENT_NAME)
		return rec_event_name_size(((const struct rec_event_name *)rec)->name_size);
	if (rec->kind == REC_SECTION)
		return rec_section_size(((const struct rec_section *)rec)->name_size);
	if (rec->kind == REC_SYMBOL)
		return rec_symbol_size(((const struct rec_symbol *)rec)->name_size);
	return fixed_sizes[rec->kind];
}

bool record_is_valid(const struct rec *rec, size_t available)
{
	if (available < sizeof(*rec) || record_size(rec) > available)
		return false;
	if (rec->kind >= REC_KIND_COUNT || !fixed_sizes[rec->kind] ||
	    record_size(rec) < fixed_sizes[rec->kind])
		return false;
	if (rec->kind == REC_MODULE &&
	    ((const struct rec_module *)rec)->build_id_size > REC_BUILD_ID_MAX)
		return false;
	if (record_size(rec) < needed_size(rec))
		return false;
	if (rec->kind == REC_ARGUMENTS)
		return arguments_end((const struct rec_arguments *)rec);
	if (rec->kind == REC_STACK) {
		struct stack_body body = stack_record_body((const struct rec_stack *)rec);

		return stack_body_is_valid(&body);
	}
	return true;
}

const char *record_kind_name(unsigned int kind)
{
	return kind < REC_KIND_COUNT ? kind_names[kind] : "unknown";
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

void record_init(struct rec *rec, enum rec_kind kind, size_t size, __u64 time, __u32 pid, __u32 tid)
{
	memset(rec, 0, sizeof(*rec));
	rec->words = (__u16)(size / 8);
	rec->kind = (__u8)kind;
	rec->time = time;
	rec->pid = pid;
	rec->tid = tid;
}
