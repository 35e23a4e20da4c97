/* SPDX-License-Identifier: MIT */
/* Markers and counters: which are kept, and which count as lost. Golden cases cover the rest. */

#include <string.h>

#include "lib/stream/record/records.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

#define MS 1000000ull

static uint64_t buffer[64];

/* Schema 1, "call", with a field "size" of bytes and one "holder" of a stack. */
static void feed_schema(struct fed *f)
{
	static const char text[] = "callsizeholder";
	struct rec_schema *rec = (struct rec_schema *)buffer;

	memset(buffer, 0, sizeof(buffer));
	record_init(&rec->rec, REC_SCHEMA, rec_schema_size(2, strlen(text)), SESSION_START_NS, 0,
		    0);
	rec->schema = 1;
	rec->field_count = 2;
	rec->name_size = 4;
	rec->text_size = (__u32)strlen(text);
	rec->fields[0] = (struct rec_schema_field){.type = FIELD_BYTES, .key_size = 4};
	rec->fields[1] = (struct rec_schema_field){.type = FIELD_STACK, .key_size = 6};
	memcpy((char *)rec_schema_text(rec), text, strlen(text));
	assert_true(record_is_valid(&rec->rec, sizeof(buffer)));
	session_feed(f->s, &rec->rec);
}

static void feed_marker(struct fed *f, uint64_t time, uint32_t schema, uint8_t size_type,
			uint32_t stack)
{
	struct rec_marker *rec = (struct rec_marker *)buffer;

	memset(buffer, 0, sizeof(buffer));
	record_init(&rec->rec, REC_MARKER, rec_marker_size(2, 1, 0), SESSION_START_NS + time, 10,
		    10);
	rec->start = SESSION_START_NS;
	rec->schema = schema;
	rec->value_count = 2;
	rec->stack_count = 1;
	rec->values[0] = (struct rec_value){.field = 0, .type = size_type, .value = 4096};
	rec->values[1] = (struct rec_value){.field = 1, .type = FIELD_STACK};
	*(struct rec_marker_stack *)rec_marker_stacks(rec) =
		(struct rec_marker_stack){.leaf = 0x1000, .stack_id = stack, .pid = 10, .tid = 10};
	assert_true(record_is_valid(&rec->rec, sizeof(buffer)));
	session_feed(f->s, &rec->rec);
}

static const struct marker_value *value_by_key(struct fed *f, const struct marker *marker,
					       const char *key)
{
	const struct schemas *schemas = &f->p->markers.schemas;
	uint32_t field = schema_find_field(schemas, schemas_get(schemas, marker->schema),
					   strings_intern(&f->p->strings, key));

	return marker_value(&f->p->markers, marker, field);
}

TEST_WITH(values_are_found_by_their_keys, fed_setup, fed_teardown)
{
	const uint64_t addrs[] = {0x1101};
	struct fed *f = *state;
	const struct profile_thread *row;

	feed_name(f, 0, 10, 10, NAME_SCAN, "app");
	feed_schema(f);
	feed_marker(f, 2 * MS, 1, FIELD_BYTES, 7);
	feed_marker(f, 2 * MS, 1, FIELD_BYTES, 8);
	feed_stack(f, 3 * MS, 7, STACK_WHOLE, addrs, 0, 1, NULL);
	feed_end(f, 10 * MS);
	row = fed_thread(f, 10, 0, 10);
	assert_int_equal(row->markers.count, 2);
	assert_int_equal(value_by_key(f, &row->markers.items[0], "size")->number, 4096);
	assert_int_not_equal(value_by_key(f, &row->markers.items[0], "holder")->stack, NO_STACK);
	/* The other's stack never came, which is not a lost sample. */
	assert_int_equal(value_by_key(f, &row->markers.items[1], "holder")->stack, NO_STACK);
	assert_int_equal(f->p->stats.lost_marker_values, 1);
	assert_int_equal(f->p->stats.lost[LOST_STACK], 0);
	assert_int_equal(f->p->stats.cpu_samples, 0);
}

TEST_WITH(what_does_not_fit_is_counted, fed_setup, fed_teardown)
{
	struct rec_counter counter = {.counter = 3};
	struct fed *f = *state;

	feed_name(f, 0, 10, 10, NAME_SCAN, "app");
	feed_marker(f, MS, 1, FIELD_BYTES, 7);
	feed_schema(f);
	feed_marker(f, 2 * MS, 2, FIELD_BYTES, 7);
	feed_marker(f, 2 * MS, 1, FIELD_DURATION, 7);
	record_init(&counter.rec, REC_COUNTER, sizeof(counter), SESSION_START_NS, 0, 0);
	session_feed(f->s, &counter.rec);
	feed_end(f, 10 * MS);
	assert_int_equal(fed_thread(f, 10, 0, 10)->markers.count, 1);
	assert_int_equal(f->p->stats.lost_markers, 2);
	/* Both the size and the stack. */
	assert_int_equal(f->p->stats.lost_marker_values, 2);
	assert_int_equal(f->p->stats.lost_counter_values, 1);
}
