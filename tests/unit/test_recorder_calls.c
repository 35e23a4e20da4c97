/* SPDX-License-Identifier: MIT */
/* System calls and the like as the kernel sends them, and the markers that become of them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "bpf/live_record.h"
#include "lib/model/facts/facts.h"
#include "lib/live/instruments.h"
#include "lib/stream/record/records.h"
#include "tests/machine/machine.h"
#include "tests/machine/recording.h"
#include "tests/machine/rings.h"
#include "tests/machine/tasks.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define PID FIRST_PID
#define US 1000ull

static struct strbuf seen; /* "read 40us fd=3 result=1 cause; " of each marker */
static const struct rec_schema *schema;
static uint64_t schema_words[512];

static void add_value(const struct rec_marker *rec, const struct rec_value *value)
{
	const char *key = rec_schema_text(schema) + schema->name_size + schema->chart_size +
			  schema->table_size + schema->tooltip_size;
	const struct rec_schema_field *field = schema->fields;

	for (; field < schema->fields + value->field; field++)
		key += field->key_size + field->label_size;
	strbuf_addf(&seen, " %.*s=", field->key_size, key);
	if (value->type == FIELD_STRING)
		strbuf_addf(&seen, "%.*s", (int)value->size, rec_marker_text(rec) + value->value);
	else
		strbuf_addf(&seen, "%" PRId64, (int64_t)value->value);
}

static void see(void *ctx, const struct rec *rec)
{
	const struct rec_marker *marker = (const struct rec_marker *)rec;

	if (rec->kind == REC_SCHEMA) {
		assert_true(rec->words <= sizeof(schema_words) / 8);
		memcpy(schema_words, rec, rec->words * 8ul);
		schema = (const struct rec_schema *)schema_words;
	}
	if (rec->kind != REC_MARKER)
		return;
	assert_non_null(schema);
	strbuf_addf(&seen, "%.*s %uus", marker->name_size, rec_marker_text(marker),
		    (unsigned int)((rec->time - marker->start) / US));
	for (uint32_t i = 0; i < marker->value_count; i++)
		add_value(marker, &marker->values[i]);
	strbuf_addf(&seen, "%s; ", rec->flags & MARKER_CAUSE ? " cause" : "");
}

static int setup(void **state)
{
	schema = NULL;
	recording_prepare("0-1");
	recording.on_record = see;
	return 0;
}

static int teardown(void **state)
{
	recording_release(&recording);
	strbuf_release(&seen);
	return machine_stop() ? -1 : 0;
}

static void begin(const char *option, const char *value)
{
	recording_set(&recording, option, value);
	assert_int_equal(recording_begin(&recording, PID, true), 0);
	task_exec(0, PID, "app", 0x10000, "/bin/app");
	recording_rounds(&recording, 2);
}

static void expect(const char *text)
{
	recording_rounds(&recording, 3);
	assert_string_equal(strbuf_text(&seen), text);
	strbuf_reset(&seen);
}

static struct rec_call make_call(int32_t number, uint64_t argument, int64_t result)
{
	struct rec_call call = {.number = number, .argument = argument, .result = result};

	record_init(&call.rec, REC_CALL, sizeof(call), clock_monotonic_ns(), PID, PID);
	call.start = call.rec.time - 40 * US;
	return call;
}

static void send(struct rec_call call, uint8_t flags)
{
	call.rec.flags = flags;
	assert_true(ring_write(1, &call, sizeof(call), NULL));
}

#if defined(__aarch64__)
#define READ 63
#define OPENAT 56
#define POLL 73
#define POLL_NAME "ppoll"
#else
#define READ 0
#define OPENAT 257
#define POLL 7
#define POLL_NAME "poll"
#endif

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(calls_become_markers)
{
	begin("syscalls", NULL);
	assert_non_null(schema);
	send(make_call(READ, 3, 1), 0);
	expect("read 40us fd=3 result=1 cause; ");
	send(make_call(READ, 5, -EAGAIN), 0);
	expect("read 40us fd=5 error=EAGAIN cause; ");
	send(make_call(READ, 5, -512), 0);
	expect("read 40us fd=5 error=ERESTARTSYS cause; ");
	/* Neither -1 nor an address is a descriptor; nor is any number an error. */
	send(make_call(READ, 0xffffffff, -5000), 0);
	expect("read 40us result=-5000 cause; ");
	send(make_call(READ, 1ull << 40, -3000), 0);
	expect("read 40us result=-3000 cause; ");
	send(make_call(100000, 3, 0), 0);
	send(make_call(-1, 3, 0), 0);
	expect("call 100000 40us result=0 cause; call -1 40us result=0 cause; ");
}

CASE(calls_of_32_bit_programs)
{
	begin("syscalls", "0");
	send(make_call(3, 4, 1), CALL_COMPAT);
#if defined(__aarch64__)
	expect("call 3 40us result=1 cause; ");
#else
	expect("read 40us fd=4 result=1 cause; ");
#endif
}

CASE(a_path_is_kept)
{
	uint64_t words[(sizeof(struct rec_call) + 16) / 8] = {0};
	struct rec_call *call = (struct rec_call *)words;

	begin("syscalls", "0.5");
	*call = make_call(OPENAT, 0xffffff9c, -ENOENT);
	call->rec.words = sizeof(words) / 8;
	call->path_size = 9;
	memcpy(call->path, "/etc/none, and more", 16);
	assert_true(ring_write(0, call, sizeof(words), NULL));
	expect("openat 40us path=/etc/none error=ENOENT cause; ");
	/* More than the record has. */
	call->path_size = 17;
	assert_true(ring_write(0, call, sizeof(words), NULL));
	expect("");
}

CASE(calls_that_have_not_returned)
{
	struct rec_call rows[3];

	begin("syscalls", "1");
	fake_clock_pass(10000 * US);
	for (int i = 0; i < 3; i++) {
		rows[i] = make_call(READ, 7 + (uint64_t)i, 0);
		rows[i].rec.flags = CALL_OPEN;
		rows[i].start = clock_monotonic_ns() - 5000 * US;
	}
	rows[1].start = clock_monotonic_ns() - 500 * US; /* too short */
	rows[2].start = clock_monotonic_ns() + 5000 * US; /* begun after the end */
	machine_set_iterator(rows, sizeof(rows));
	recording_end(&recording);
	assert_string_equal(strbuf_text(&seen), "read 5000us fd=7 state=has not returned; ");
}

static struct rec_task make_task(int32_t number)
{
	struct rec_task task = {.number = number};

	record_init(&task.rec, REC_TASK, sizeof(task), clock_monotonic_ns(), PID, PID);
	task.start = task.rec.time - 70000 * US;
	return task;
}

CASE(long_tasks_become_markers)
{
	struct rec_task task;

	begin("jank", NULL);
	fake_clock_pass(100000 * US);
	task = make_task(POLL);
	assert_true(ring_write(1, &task, sizeof(task), NULL));
	expect(" 70000us call=" POLL_NAME "; ");
	task = make_task(POLL);
	machine_set_iterator(&task, sizeof(task));
	recording_end(&recording);
	assert_non_null(strstr(strbuf_text(&seen), "us call=" POLL_NAME "; "));
}

#define FORMAT \
	"format:\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n" \
	"\tfield:int count;\toffset:8;\tsize:4;\tsigned:1;\n" \
	"\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n"

CASE(fields_of_tracepoints)
{
	uint64_t words[(sizeof(struct rec_tracepoint) + 24) / 8] = {0};
	struct rec_tracepoint *rec = (struct rec_tracepoint *)words;
	const uint32_t fields[] = {0, 0, (uint32_t)-3, 16 | 6u << 16};

	machine_write_file("/sys/kernel/tracing/events/sched/x/id", "300\n");
	machine_write_file("/sys/kernel/tracing/events/sched/x/format", FORMAT);
	begin("event", "sched:x/marker/");
	record_init(&rec->rec, REC_TRACEPOINT, sizeof(words), clock_monotonic_ns(), PID, PID);
	rec->event = 1;
	rec->size = 22;
	memcpy(rec->bytes, fields, sizeof(fields));
	memcpy(rec->bytes + 16, "hello", 6);
	assert_true(ring_write(1, rec, sizeof(words), NULL));
	expect(" 0us count=-3 name=hello cause; ");
	/* The text ends outside, then the other field as well; such an event was not asked for. */
	rec->size = 21;
	assert_true(ring_write(1, rec, sizeof(words), NULL));
	expect(" 0us count=-3 cause; ");
	rec->size = 11;
	assert_true(ring_write(1, rec, sizeof(words), NULL));
	expect(" 0us cause; ");
	rec->event = 2;
	assert_true(ring_write(1, rec, sizeof(words), NULL));
	expect("");
}

CASE(a_tracepoint_without_format)
{
	machine_write_file("/sys/kernel/tracing/events/sched/x/id", "300\n");
	recording_set(&recording, "event", "sched:x/marker/");
	assert_int_not_equal(recording_begin(&recording, PID, true), 0);
	assert_non_null(strstr(recording.err.text, "format"));
}

CASE(refused)
{
	machine_refuse("bpf_raw_tracepoint_open", 0, -EPERM);
	recording_set(&recording, "syscalls", NULL);
	assert_int_not_equal(recording_begin(&recording, PID, true), 0);
}
