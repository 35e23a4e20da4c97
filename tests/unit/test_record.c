/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/stream/record/records.h"
#include "lib/stream/record/marker_record.h"
#include "tests/unit/test.h"

static uint64_t buffer[512];

/* Makes a record of that kind that is just large enough. */
static struct rec *make(enum rec_kind kind, size_t size)
{
	struct rec *rec = (struct rec *)buffer;

	memset(buffer, 0, sizeof(buffer));
	record_init(rec, kind, size, 1, 2, 3);
	return rec;
}

TEST(every_kind_needs_its_fixed_part)
{
	static const struct {
		enum rec_kind kind;
		size_t size;
	} kinds[] = {
#define RECORD(kind, name, type, size, ...) {REC_##kind, size},
#include "bpf/record.def"
#undef RECORD
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct rec *rec = make(kinds[i].kind, kinds[i].size);

		assert_true(record_is_valid(rec, kinds[i].size));
		assert_false(record_is_valid(rec, kinds[i].size - 1));
		rec->words--;
		assert_false(record_is_valid(rec, sizeof(buffer)));
	}
}

TEST(rubbish_is_not_valid)
{
	struct rec *rec = make(REC_CPU, sizeof(*rec));

	for (size_t available = 0; available < sizeof(*rec); available++)
		assert_false(record_is_valid(rec, available));
	rec->kind = REC_NONE;
	assert_false(record_is_valid(rec, sizeof(buffer)));
	rec->kind = REC_KIND_COUNT;
	assert_false(record_is_valid(rec, sizeof(buffer)));
	rec->kind = 255;
	assert_false(record_is_valid(rec, sizeof(buffer)));
	rec->kind = REC_CPU;
	rec->words = 0;
	assert_false(record_is_valid(rec, sizeof(buffer)));
	assert_string_equal(lost_cause_name(LOST_CAUSE_COUNT), "unknown");
}

TEST(a_stack_must_hold_what_it_announces)
{
	size_t size = sizeof(struct rec_stack) + stack_record_body_size(9, 2);
	struct rec_stack *stack = (struct rec_stack *)make(REC_STACK, size);
	struct rec_run *runs;

	assert_int_equal(stack_record_body_size(0, 0), 0);
	assert_int_equal(stack_record_body_size(8, 1), 32 + 8);
	assert_int_equal(stack_record_body_size(9, 2), 40 + 16);
	stack->kernel_depth = 4;
	stack->user_depth = 5;
	stack->run_count = 2;
	runs = (struct rec_run *)stack_record_body(stack).runs;
	assert_ptr_equal(runs, stack->lows + 10);
	runs[0].count = 4;
	runs[1].count = 5;
	assert_true(record_is_valid(&stack->rec, size));
	runs[1].count = 6;
	assert_false(record_is_valid(&stack->rec, size));
	runs[1].count = 5;
	stack->run_count = 3;
	assert_false(record_is_valid(&stack->rec, size));
	stack->run_count = 2;
	stack->user_depth = 14;
	assert_false(record_is_valid(&stack->rec, sizeof(buffer)));
	stack->kernel_depth = stack->user_depth = stack->run_count = 0xffff;
	assert_false(record_is_valid(&stack->rec, sizeof(buffer)));
}

TEST(a_module_must_hold_what_it_announces)
{
	struct rec_module *module = (struct rec_module *)make(REC_MODULE, rec_module_size(2, 5));

	assert_int_equal(rec_module_size(2, 5), 64 + 2 * 32 + 8);
	module->segment_count = 2;
	module->path_size = 8;
	assert_true(record_is_valid(&module->rec, sizeof(buffer)));
	assert_ptr_equal(rec_module_path(module), &module->segments[2]);
	module->path_size = 9;
	assert_false(record_is_valid(&module->rec, sizeof(buffer)));
	module->path_size = 0;
	module->segment_count = 3;
	assert_false(record_is_valid(&module->rec, sizeof(buffer)));
	module->segment_count = 0xffff;
	assert_false(record_is_valid(&module->rec, sizeof(buffer)));
	module->segment_count = 0;
	module->build_id_size = REC_BUILD_ID_MAX + 1;
	assert_false(record_is_valid(&module->rec, sizeof(buffer)));
}

TEST(code_must_hold_what_it_announces)
{
	struct rec_code *code = (struct rec_code *)make(REC_CODE, rec_code_size(2, 5));

	assert_int_equal(rec_code_size(2, 5), 56 + 2 * 16 + 8);
	code->line_count = 2;
	code->text_size = 8;
	assert_true(record_is_valid(&code->rec, sizeof(buffer)));
	assert_ptr_equal(rec_code_text(code), &code->lines[2]);
	code->text_size = 9;
	assert_false(record_is_valid(&code->rec, sizeof(buffer)));
	code->text_size = 0;
	code->line_count = 3;
	assert_false(record_is_valid(&code->rec, sizeof(buffer)));
	code->line_count = 0xffffffff;
	assert_false(record_is_valid(&code->rec, sizeof(buffer)));
	code->line_count = 0;
	code->text_size = 0xffffffff;
	assert_false(record_is_valid(&code->rec, sizeof(buffer)));
}

TEST(a_schema_must_hold_what_it_announces)
{
	struct rec_schema *schema = (struct rec_schema *)make(REC_SCHEMA, rec_schema_size(2, 16));

	assert_int_equal(rec_schema_size(2, 16), 48 + 2 * 8 + 16);
	schema->field_count = 2;
	schema->text_size = 16;
	schema->name_size = 4;
	schema->fields[0] = (struct rec_schema_field){FIELD_STRING, 0, 3, 3, 0};
	schema->fields[1] = (struct rec_schema_field){FIELD_STACK, 0, 3, 3, 0};
	assert_true(record_is_valid(&schema->rec, sizeof(buffer)));
	schema->tooltip_size = 1;
	assert_false(record_is_valid(&schema->rec, sizeof(buffer)));
	schema->tooltip_size = 0;
	schema->fields[1].type = FIELD_TYPE_COUNT;
	assert_false(record_is_valid(&schema->rec, sizeof(buffer)));
	schema->fields[1].type = FIELD_NONE;
	assert_false(record_is_valid(&schema->rec, sizeof(buffer)));
	schema->fields[1].type = FIELD_STACK;
	schema->text_size = 17;
	assert_false(record_is_valid(&schema->rec, sizeof(buffer)));
	schema->text_size = 0xffffffff;
	assert_false(record_is_valid(&schema->rec, sizeof(buffer)));
	schema->text_size = 16;
	schema->field_count = 0xffff;
	assert_false(record_is_valid(&schema->rec, sizeof(buffer)));
}

TEST(a_schema_is_built_with_its_texts_in_order)
{
	const struct marker_schema from = {
		.name = "wait",
		.label = "{marker.data.of}",
		.shown = SHOWN_IN_TABLE,
		.fields = {{"of", "Of", FIELD_STRING, VALUE_WORDS},
			   {"stack", NULL, FIELD_STACK, VALUE_NUMBER}},
	};
	struct rec_schema *rec = schema_record_new(&from, 7, 3000);

	assert_true(record_is_valid(&rec->rec, record_size(&rec->rec)));
	assert_int_equal(rec->schema, 7);
	assert_int_equal(rec->rec.time, 3000);
	assert_int_equal(rec->shown, SHOWN_IN_TABLE);
	assert_int_equal(rec->field_count, 2);
	assert_int_equal(rec->fields[1].type, FIELD_STACK);
	assert_int_equal(rec->fields[1].label_size, 0);
	assert_int_equal(rec->text_size, 4 + 3 * 16 + 4 + 5);
	assert_memory_equal(rec_schema_text(rec),
			    "wait{marker.data.of}{marker.data.of}{marker.data.of}ofOfstack",
			    rec->text_size);
	free(rec);
}

TEST(a_marker_must_hold_what_it_announces)
{
	struct rec_marker *marker = (struct rec_marker *)make(REC_MARKER, rec_marker_size(2, 1, 8));

	assert_int_equal(rec_marker_size(2, 1, 8), 48 + 2 * 16 + 32 + 8);
	marker->rec.flags = MARKER_CAUSE;
	marker->value_count = 2;
	marker->stack_count = 1;
	marker->text_size = 8;
	marker->values[0] = (struct rec_value){0, FIELD_STRING, 0, 8, 0};
	marker->values[1] = (struct rec_value){1, FIELD_STACK, 0, 0, 0};
	assert_true(record_is_valid(&marker->rec, sizeof(buffer)));
	marker->values[0].value = 1;
	assert_false(record_is_valid(&marker->rec, sizeof(buffer)));
	marker->values[0].value = UINT64_MAX;
	assert_false(record_is_valid(&marker->rec, sizeof(buffer)));
	marker->values[0].value = 0;
	marker->values[1].value = 1;
	assert_false(record_is_valid(&marker->rec, sizeof(buffer)));
	marker->values[1].value = 0;
	marker->start = marker->rec.time + 1;
	assert_false(record_is_valid(&marker->rec, sizeof(buffer)));
	marker->start = 0;
	marker->name_size = 9;
	assert_false(record_is_valid(&marker->rec, sizeof(buffer)));
	marker->name_size = 8;
	assert_true(record_is_valid(&marker->rec, sizeof(buffer)));
	marker->value_count = 0;
	marker->stack_count = 0;
	assert_false(record_is_valid(&marker->rec, sizeof(buffer)));
}

TEST(a_counter_must_hold_what_it_announces)
{
	struct rec_counter_info *info = (struct rec_counter_info *)make(REC_COUNTER_INFO,
									sizeof(*info) + 16);

	info->name_size = 8;
	info->color_size = 8;
	assert_true(record_is_valid(&info->rec, sizeof(buffer)));
	info->unit_size = 1;
	assert_false(record_is_valid(&info->rec, sizeof(buffer)));
	info->unit_size = 0;
	info->graph = COUNTER_GRAPH_COUNT;
	assert_false(record_is_valid(&info->rec, sizeof(buffer)));
}

TEST(a_wait_has_a_state_and_begins_before_its_stack_is_taken)
{
	struct rec_wait *wait = (struct rec_wait *)make(REC_WAIT, sizeof(*wait));
	struct rec_resumed *resumed;

	wait->start = wait->sample.rec.time;
	wait->reason.state = WAIT_STATE_COUNT - 1;
	assert_true(record_is_valid(&wait->sample.rec, sizeof(buffer)));
	wait->reason.state++;
	assert_false(record_is_valid(&wait->sample.rec, sizeof(buffer)));
	wait->reason.state = 0;
	wait->start++;
	assert_false(record_is_valid(&wait->sample.rec, sizeof(buffer)));
	resumed = (struct rec_resumed *)make(REC_RUN, sizeof(*resumed));
	resumed->start = resumed->rec.time;
	assert_true(record_is_valid(&resumed->rec, sizeof(buffer)));
	resumed->reason.state = WAIT_STATE_COUNT;
	assert_false(record_is_valid(&resumed->rec, sizeof(buffer)));
	resumed->reason.state = 0;
	resumed->start++;
	assert_false(record_is_valid(&resumed->rec, sizeof(buffer)));
}

TEST(causes_have_the_names_of_the_statistics)
{
	assert_string_equal(lost_cause_name(LOST_RING_FULL), "ring-full");
	assert_string_equal(lost_cause_name(LOST_STACK), "stack");
	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++)
		assert_string_not_equal(lost_cause_name(cause), "unknown");
}
