/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/session_fixture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/record/records.h"

int fed_setup(void **state)
{
	struct fed *f = calloc(1, sizeof(*f));

	f->p = profile_new();
	f->p->meta.start_ns = SESSION_START_NS;
	f->s = session_new(f->p);
	*state = f;
	return 0;
}

int fed_teardown(void **state)
{
	struct fed *f = *state;

	session_free(f->s);
	profile_free(f->p);
	free(f);
	return 0;
}

static void feed(struct fed *f, struct rec *rec)
{
	assert_true(record_is_valid(rec, record_size(rec)));
	session_feed(f->s, rec);
}

static void init(struct rec *rec, enum rec_kind kind, size_t size, uint64_t time, uint32_t pid,
		 uint32_t tid, unsigned int flags)
{
	record_init(rec, kind, size, SESSION_START_NS + time, pid, tid);
	rec->flags = (uint8_t)flags;
}

void feed_fork(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, uint32_t parent,
	       const char *name)
{
	struct rec_fork rec = {.parent_pid = parent, .parent_tid = parent};

	init(&rec.rec, REC_FORK, sizeof(rec), time, pid, tid, 0);
	memcpy(rec.name, name, strnlen(name, REC_NAME_SIZE));
	feed(f, &rec.rec);
}

void feed_name(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, unsigned int flags,
	       const char *name)
{
	struct rec_name rec = {0};

	init(&rec.rec, REC_NAME, sizeof(rec), time, pid, tid, flags);
	memcpy(rec.name, name, strnlen(name, REC_NAME_SIZE));
	feed(f, &rec.rec);
}

void feed_exit(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, unsigned int flags)
{
	struct rec_exit rec = {0};

	init(&rec.rec, REC_EXIT, sizeof(rec), time, pid, tid, flags);
	feed(f, &rec.rec);
}

void feed_user(struct fed *f, uint64_t time, uint32_t pid, uint32_t uid, uint32_t gid)
{
	struct rec_user rec = {.uid = uid, .gid = gid};

	init(&rec.rec, REC_USER, sizeof(rec), time, pid, pid, 0);
	feed(f, &rec.rec);
}

void feed_module(struct fed *f, uint32_t id, const char *path)
{
	size_t path_size = strlen(path), size = rec_module_size(0, path_size);
	_cleanup_free_ struct rec_module *rec = calloc(1, size);

	init(&rec->rec, REC_MODULE, size, 0, 0, 0, 0);
	rec->module_id = id;
	rec->path_size = (uint16_t)path_size;
	memcpy(rec->segments, path, path_size);
	feed(f, &rec->rec);
}

void feed_map(struct fed *f, uint64_t time, uint32_t pid, uint64_t start, uint64_t end,
	      uint64_t offset, uint32_t module)
{
	struct rec_map rec = {
		.start = start, .end = end, .file_offset = offset, .module_id = module};

	init(&rec.rec, REC_MAP, sizeof(rec), time, pid, pid, pid ? 0 : MAP_KERNEL_SPACE);
	feed(f, &rec.rec);
}

void feed_stack(struct fed *f, uint64_t time, uint32_t id, unsigned int flags,
		const uint64_t *addrs, unsigned int kernel_depth, unsigned int user_depth,
		const uint8_t *kinds)
{
	unsigned int depth = kernel_depth + user_depth;
	_cleanup_free_ uint8_t *usual = calloc(depth + 1, 1);
	_cleanup_free_ struct rec_stack *rec = NULL;

	memset(usual, FRAME_KERNEL, kernel_depth);
	rec = stack_record_new(addrs, kinds ? kinds : usual, (uint16_t)kernel_depth,
			       (uint16_t)user_depth);
	init(&rec->rec, REC_STACK, record_size(&rec->rec), time, 0, 0, flags);
	rec->stack_id = id;
	feed(f, &rec->rec);
}

void feed_sample(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, unsigned int flags,
		 uint64_t leaf, uint32_t stack, uint64_t cpu_time)
{
	struct rec_sample rec = {
		.leaf = leaf, .stack_id = stack, .cpu_time = (uint32_t)(cpu_time >> 4)};

	init(&rec.rec, REC_SAMPLE, sizeof(rec), time, pid, tid, flags);
	rec.rec.weight = 1;
	feed(f, &rec.rec);
}

void feed_leaf(struct fed *f, uint64_t time, uint32_t pid, uint32_t tid, uint64_t leaf)
{
	feed_sample(f, time, pid, tid, SAMPLE_NO_STACK, leaf, 0, 0);
}

void feed_tick(struct fed *f, uint64_t time, uint16_t cpu, uint32_t tid, uint16_t ticks)
{
	struct rec_sample rec = {.leaf = 0x10};

	init(&rec.rec, REC_SAMPLE, sizeof(rec), time, tid, tid, SAMPLE_NO_STACK);
	rec.rec.cpu = cpu;
	rec.rec.weight = ticks;
	feed(f, &rec.rec);
}

void feed_lost(struct fed *f, uint64_t time, uint32_t cause, uint64_t count)
{
	struct rec_lost rec = {.cause = cause, .count = count};

	init(&rec.rec, REC_LOST, sizeof(rec), time, 0, 0, 0);
	feed(f, &rec.rec);
}

void feed_end(struct fed *f, uint64_t time)
{
	session_finish(f->s, SESSION_START_NS + time);
}

struct profile_thread *fed_thread(struct fed *f, uint32_t pid, uint32_t incarnation, uint32_t tid)
{
	struct profile_thread *found = NULL;

	vec_for_each(&f->p->threads.rows, struct profile_thread *, row) {
		if (row->pid != pid || row->incarnation != incarnation || row->tid != tid)
			continue;
		assert_null(found);
		found = row;
	}
	assert_non_null(found);
	return found;
}

static void add_frame(struct fed *f, struct strbuf *text, const struct frame *frame)
{
	strbuf_adds(text, text->size ? " " : "");
	if (frame->kind == PROFILE_FRAME_KERNEL)
		strbuf_adds(text, "k:");
	if (frame->kind == PROFILE_FRAME_SIGNAL)
		strbuf_adds(text, "s:");
	if (frame->kind == PROFILE_FRAME_GUESS)
		strbuf_adds(text, "g:");
	if (frame->module != NO_MODULE)
		strbuf_addf(text, "%s+",
			    strings_get(&f->p->strings,
					modules_get(&f->p->modules, frame->module)->name));
	strbuf_addf(text, "0x%" PRIx64, frame->offset);
}

void fed_expect_stack(struct fed *f, const struct profile_thread *row, size_t index,
		      const char *text)
{
	_cleanup_(strbuf_release) struct strbuf found = {0};
	frame_id frames[256];
	size_t depth = 0;

	assert_true(index < samples_count(&row->samples));
	for (stack_id id = row->samples.open.items[index].stack; id != NO_STACK;
	     id = f->p->stacks.rows.items[id].parent) {
		assert_true(depth < sizeof(frames) / sizeof(*frames));
		frames[depth++] = f->p->stacks.rows.items[id].frame;
	}
	while (depth)
		add_frame(f, &found, frames_get(&f->p->frames, frames[--depth]));
	assert_string_equal(strbuf_text(&found), text);
}

void fed_expect_name(struct fed *f, string_id name, const char *text)
{
	assert_int_not_equal(name, NO_STRING);
	assert_string_equal(strings_get(&f->p->strings, name), text);
}

void fed_expect_number(struct fed *f, const struct marker *marker, uint32_t field, uint64_t number)
{
	const struct marker_value *value = marker_value(&f->p->markers, marker, field);

	assert_true(value->type != FIELD_NONE && value->type != FIELD_STRING);
	assert_int_equal(value->number, number);
}

void fed_expect_text(struct fed *f, const struct marker *marker, uint32_t field, const char *text)
{
	const struct marker_value *value = marker_value(&f->p->markers, marker, field);

	assert_int_equal(value->type, FIELD_STRING);
	fed_expect_name(f, value->string, text);
}
