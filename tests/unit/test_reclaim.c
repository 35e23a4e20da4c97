/* SPDX-License-Identifier: MIT */
/* Memory that a session gives back while it goes on: what stays means what it meant before. */

#include <string.h>

#include "lib/stream/record/records.h"
#include "lib/stream/session/markers/marker_feed.h"
#include "tests/unit/session_fixture.h"
#include "tests/unit/test.h"

/* Enough for several rounds. */
#define MARKERS 400000u
#define LEAF_BASE 0x10000000ull

static uint64_t buffer[64];

/* Schema 1, "call", with a field "number". */
static void feed_schema(struct fed *f)
{
	static const char text[] = "callnumber";
	struct rec_schema *rec = (struct rec_schema *)buffer;

	memset(buffer, 0, sizeof(buffer));
	record_init(&rec->rec, REC_SCHEMA, rec_schema_size(1, strlen(text)), SESSION_START_NS, 0,
		    0);
	rec->schema = 1;
	rec->field_count = 1;
	rec->name_size = 4;
	rec->text_size = (__u32)strlen(text);
	rec->fields[0] = (struct rec_schema_field){.type = FIELD_INTEGER, .key_size = 6};
	memcpy((char *)rec_schema_text(rec), text, strlen(text));
	session_feed(f->s, &rec->rec);
}

/* The leaf of its cause's stack tells its number. stack 0: none below the leaf. */
static void feed_marker(struct fed *f, uint64_t number, uint64_t length, uint32_t stack)
{
	struct rec_marker *rec = (struct rec_marker *)buffer;
	uint64_t time = SESSION_START_NS + number * 1000 + length;

	memset(buffer, 0, sizeof(buffer));
	record_init(&rec->rec, REC_MARKER, rec_marker_size(1, 1, 0), time, 10, 10);
	rec->rec.flags = MARKER_CAUSE;
	rec->start = time - length;
	rec->schema = 1;
	rec->value_count = 1;
	rec->stack_count = 1;
	rec->values[0] = (struct rec_value){.field = 0, .type = FIELD_INTEGER, .value = number};
	*(struct rec_marker_stack *)rec_marker_stacks(rec) = (struct rec_marker_stack){
		.time = time,
		.leaf = LEAF_BASE + number,
		.stack_id = stack,
		.pid = 10,
		.tid = 10,
		.flags = stack ? 0 : SAMPLE_NO_STACK,
	};
	session_feed(f->s, &rec->rec);
}

static uint64_t leaf_of(const struct profile *p, stack_id stack)
{
	assert_true(stack < p->stacks.rows.count);
	return p->frames.rows.items[p->stacks.rows.items[stack].frame].offset;
}

TEST_WITH(markers_keep_values_and_stacks, fed_setup, fed_teardown)
{
	const uint64_t addrs[] = {0x1101};
	struct fed *f = *state;
	const struct profile_thread *row;
	uint64_t kept = 0;

	feed_name(f, 0, 10, 10, NAME_SCAN, "app");
	feed_schema(f);
	for (uint64_t i = 0; i < MARKERS; i++) {
		/* Stacks of some come only once others have gone. */
		feed_marker(f, i, 1 + i * 7919 % MARKERS, i % 100000 == 99999 ? 7 : 0);
		feed_leaf(f, i * 1000, 10, 10, LEAF_BASE + MARKERS + i % 1000);
	}
	feed_stack(f, MARKERS * 1000ull, 7, STACK_WHOLE, addrs, 0, 1, NULL);
	assert_in_range(f->p->markers.values.count, 1, 6 * MARKERS_PER_THREAD);
	assert_in_range(f->p->stacks.rows.count, 1, MARKERS / 2);
	feed_end(f, MARKERS * 2000ull);
	row = fed_thread(f, 10, 0, 10);
	vec_for_each(&row->markers, const struct marker *, marker) {
		const struct marker_value *number = marker_value(&f->p->markers, marker, 0);

		if (strcmp(strings_get(&f->p->strings, marker->name), "call") != 0)
			continue;
		kept++;
		assert_int_equal(marker->end - marker->start, 1 + number->number * 7919 % MARKERS);
		assert_int_equal(leaf_of(f->p, marker_cause(&f->p->markers, marker)),
				 LEAF_BASE + number->number);
	}
	assert_int_equal(kept, MARKERS_PER_THREAD);
	kept = 0;
	samples_for_each(&row->samples, sample) {
		if (!sample->weight)
			continue;
		assert_int_equal(leaf_of(f->p, sample->stack), LEAF_BASE + MARKERS + kept++ % 1000);
	}
	assert_int_equal(kept, MARKERS);
}
