/* SPDX-License-Identifier: MIT */
#include "lib/stream/record/records.h"

#include "lib/model/facts/facts.h"

static const char *const cause_names[LOST_CAUSE_COUNT] = {
	[LOST_RING_FULL] = "ring-full", [LOST_STACK] = "stack",	      [LOST_EVENT] = "event",
	[LOST_MAPPING] = "mapping",	[LOST_TRACKING] = "tracking", [LOST_NO_RING] = "no-ring",
	[LOST_CAPTURE] = "capture",
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

size_t rec_resource_size(size_t size)
{
	return sizeof(struct rec_resource) + padded(size);
}

size_t rec_event_name_size(size_t name_size)
{
	return sizeof(struct rec_event_name) + padded(name_size);
}

size_t rec_section_size(size_t name_size)
{
	return sizeof(struct rec_section) + padded(name_size);
}

size_t rec_thread_name_size(size_t name_size)
{
	return sizeof(struct rec_thread_name) + padded(name_size);
}

size_t rec_symbol_size(size_t name_size)
{
	return sizeof(struct rec_symbol) + padded(name_size);
}

size_t rec_arguments_size(size_t folder_size, size_t arguments_size)
{
	return sizeof(struct rec_arguments) + padded(folder_size + arguments_size);
}

/* Arguments copied from the kernel can end in the middle of one; those from user space never do. */
static bool arguments_end(const struct rec_arguments *rec)
{
	size_t size = rec->arguments_size;

	return !size || !rec->text[rec->folder_size + size - 1];
}

size_t rec_schema_size(unsigned int field_count, size_t text_size)
{
	return sizeof(struct rec_schema) + field_count * sizeof(struct rec_schema_field) +
	       padded(text_size);
}

size_t rec_marker_size(unsigned int value_count, unsigned int stack_count, size_t text_size)
{
	return sizeof(struct rec_marker) + value_count * sizeof(struct rec_value) +
	       stack_count * sizeof(struct rec_marker_stack) + padded(text_size);
}

size_t rec_meta_size(size_t key_size, size_t value_size)
{
	return sizeof(struct rec_meta) + padded(key_size + value_size);
}

size_t rec_file_size(size_t size)
{
	return sizeof(struct rec_file) + padded(size);
}

static size_t rec_labels_size(unsigned int count)
{
	return sizeof(struct rec_labels) + count * sizeof(struct rec_label);
}

size_t rec_resumed_size(uint8_t flags)
{
	return sizeof(struct rec_resumed) + (flags & RUN_WOKEN ? sizeof(struct run_waker) : 0);
}

static bool labels_hold(const struct rec_labels *rec)
{
	if (rec->count > LABELS_MAX || rec->set >= LABEL_SETS)
		return false;
	for (unsigned int i = 0; i < rec->count; i++) {
		if (rec->labels[i].key_size > LABEL_KEY_MAX ||
		    rec->labels[i].value_size > LABEL_VALUE_MAX)
			return false;
	}
	return true;
}

size_t rec_counter_info_size(const struct rec_counter_info *info)
{
	return sizeof(*info) +
	       padded((size_t)info->name_size + info->category_size + info->description_size +
		      info->label_size + info->unit_size + info->color_size);
}

const char *rec_schema_text(const struct rec_schema *schema)
{
	return (const char *)(schema->fields + schema->field_count);
}

const struct rec_marker_stack *rec_marker_stacks(const struct rec_marker *marker)
{
	return (const struct rec_marker_stack *)(marker->values + marker->value_count);
}

const char *rec_marker_text(const struct rec_marker *marker)
{
	return (const char *)(rec_marker_stacks(marker) + marker->stack_count);
}

static bool schema_holds(const struct rec_schema *rec)
{
	size_t size = (size_t)rec->name_size + rec->chart_size + rec->table_size +
		      rec->tooltip_size;

	for (unsigned int i = 0; i < rec->field_count; i++) {
		const struct rec_schema_field *field = &rec->fields[i];

		if (!field->type || field->type >= FIELD_TYPE_COUNT)
			return false;
		size += (size_t)field->key_size + field->label_size;
	}
	return size <= rec->text_size;
}

static bool value_holds(const struct rec_marker *rec, const struct rec_value *value)
{
	if (!value->type || value->type >= FIELD_TYPE_COUNT)
		return false;
	if (value->type == FIELD_STRING)
		return value->value <= rec->text_size &&
		       value->size <= rec->text_size - value->value;
	return value->type != FIELD_STACK || value->value < rec->stack_count;
}

static bool marker_holds(const struct rec_marker *rec)
{
	for (unsigned int i = 0; i < rec->value_count; i++) {
		if (!value_holds(rec, &rec->values[i]))
			return false;
	}
	return rec->start <= rec->rec.time &&
	       (size_t)rec->name_size + rec->category_size <= rec->text_size &&
	       (rec->stack_count || !(rec->rec.flags & MARKER_CAUSE));
}

static bool wait_holds(const struct rec_wait *rec)
{
	return rec->reason.state < WAIT_STATE_COUNT && rec->start <= rec->sample.rec.time;
}

static bool resumed_holds(const struct rec_resumed *rec)
{
	return rec->reason.state < WAIT_STATE_COUNT && rec->start <= rec->rec.time;
}

static size_t stack_record_size(const struct rec_stack *rec)
{
	return sizeof(*rec) + stack_record_body_size(stack_record_depth(rec), rec->run_count);
}

/* True if the runs cover exactly `depth` frames. */
static bool stack_body_is_valid(const struct stack_body *body)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < body->run_count; i++)
		count += body->runs[i].count;
	return count == body->depth;
}

static bool stack_record_is_valid(const struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);

	return stack_body_is_valid(&body);
}

#define RECORD(kind, name, type, size, epoch, needed, holds, ...) \
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

uint64_t rec_module_contents(const struct rec_module *module)
{
	uint64_t hash = 0;

	if (!module->build_id_size)
		memcpy(&hash, module->build_id, sizeof(hash));
	return hash;
}

const char *rec_code_text(const struct rec_code *code)
{
	return (const char *)(code->lines + code->line_count);
}

bool rec_code_dump(const struct rec_code *code, struct rec_code_dump *dump)
{
	if (!(code->rec.flags & CODE_DUMPED) || code->text_size < sizeof(*dump))
		return false;
	memcpy(dump, rec_code_text(code) + code->text_size - sizeof(*dump), sizeof(*dump));
	return true;
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

/* Runs are aligned to 8 bytes. */
static size_t lows_size(uint32_t depth)
{
	return (size_t)(depth + 1) / 2 * 8;
}

size_t stack_record_body_size(uint32_t depth, uint32_t run_count)
{
	return lows_size(depth) + run_count * sizeof(struct rec_run);
}

struct stack_body stack_body_at(const void *words, uint32_t depth, uint32_t run_count)
{
	return (struct stack_body){
		.lows = words,
		.runs = (const struct rec_run *)((const char *)words + lows_size(depth)),
		.depth = depth,
		.run_count = run_count,
	};
}

struct stack_body stack_record_body(const struct rec_stack *rec)
{
	return stack_body_at(rec->lows, stack_record_depth(rec), rec->run_count);
}

void stack_record_clear_padding(struct rec_stack *rec)
{
	struct stack_body body = stack_record_body(rec);
	struct rec_run *runs = (struct rec_run *)body.runs;

	if (body.depth % 2)
		rec->lows[body.depth] = 0;
	for (uint32_t i = 0; i < body.run_count; i++)
		runs[i].reserved = 0;
}

uint32_t stack_body_unpack(const struct stack_body *body, uint32_t skip, uint64_t *addrs,
			   uint8_t *kinds)
{
	uint32_t at = 0, done = 0;

	for (uint32_t i = 0; i < body->run_count; i++) {
		const struct rec_run *run = &body->runs[i];
		uint32_t end = at + run->count < body->depth ? at + run->count : body->depth;

		for (at = at > skip ? at : skip < end ? skip : end; at < end; at++, done++) {
			addrs[done] = (uint64_t)run->high << 32 | body->lows[at];
			kinds[done] = run->kind;
		}
	}
	return done;
}

/* Appends a frame to the runs. Returns the new number of runs. */
static uint32_t add_to_runs(struct rec_run *runs, uint32_t count, uint64_t addr, uint8_t kind)
{
	struct rec_run *last = count ? &runs[count - 1] : NULL;
	uint32_t high = (uint32_t)(addr >> 32);

	if (last && last->high == high && last->kind == kind) {
		last->count++;
		return count;
	}
	runs[count] = (struct rec_run){.high = high, .count = 1, .kind = kind};
	return count + 1;
}

struct rec_stack *stack_record_new(const uint64_t *addrs, const uint8_t *kinds,
				   uint16_t kernel_depth, uint16_t user_depth)
{
	uint32_t depth = (uint32_t)kernel_depth + user_depth, run_count = 0;
	size_t size = sizeof(struct rec_stack) + stack_record_body_size(depth, depth);
	struct rec_stack *rec = xcalloc(1, size);
	struct rec_run *runs = (struct rec_run *)((char *)rec->lows + lows_size(depth));

	for (uint32_t i = 0; i < depth; i++) {
		rec->lows[i] = (uint32_t)addrs[i];
		run_count = add_to_runs(runs, run_count, addrs[i], kinds[i]);
	}
	size = sizeof(*rec) + stack_record_body_size(depth, run_count);
	record_init(&rec->rec, REC_STACK, size, 0, 0, 0);
	rec->run_count = (uint16_t)run_count;
	rec->kernel_depth = kernel_depth;
	rec->user_depth = user_depth;
	return rec;
}
