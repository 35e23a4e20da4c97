/* SPDX-License-Identifier: MIT */
/* Samples of many machines: rows that are sent, and what is made of answers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/fleet/collector.h"
#include "lib/fleet/fleet_push.h"
#include "lib/fleet/fleet_read.h"
#include "lib/fleet/request_process.h"
#include "lib/fleet/sql.h"
#include "tests/unit/test.h"

#define URL "clickhouse+http://db/prof"
#define NOW 1800000000u

/* Keeps the rows of each table. `known` answers what windows are there. */
struct tables {
	struct strbuf stacks, samples, windows, known;
	size_t inserts;
	bool is_failing;
};

static int fake_send(void *ctx, const struct engine_request *r, struct strbuf *answer,
		     struct error *err)
{
	struct tables *t = ctx;
	const char *insert = strstr(r->url, "INSERT%20INTO%20prof_");
	const uint64_t one = 1;

	if (insert && t->is_failing) {
		strbuf_adds(answer, "Code: 242\nsecond line");
		return 500;
	}
	if (insert) {
		insert += strlen("INSERT%20INTO%20prof_");
		strbuf_add(*insert == 'w'		       ? &t->windows
			   : strncmp(insert, "stacks", 6) == 0 ? &t->stacks
							       : &t->samples,
			   r->body, r->size);
		t->inserts++;
	} else if (strstr(r->body, "SELECT DISTINCT window_id")) {
		strbuf_add(answer, strbuf_text(&t->known), t->known.size);
	} else {
		strbuf_add(answer, &one, sizeof(one));
	}
	return 200;
}

static void tables_release(struct tables *t)
{
	strbuf_release(&t->stacks);
	strbuf_release(&t->samples);
	strbuf_release(&t->windows);
	strbuf_release(&t->known);
}

static const char hostile[] = "x'\\\"; DROP TABLE prof_stacks; --\n\xff";

/* Two threads, three windows; the frame is there twice, with the same contents. */
static struct profile *make_profile(void)
{
	struct profile *p = profile_new();
	struct func func = {.module = NO_MODULE, .file = NO_SOURCE_FILE, .is_named = true};
	struct frame frame = {.module = NO_MODULE, .symbol = NO_SYMBOL, .offset = 16};
	stack_id stacks[2];

	func.name = strings_intern(&p->strings, hostile);
	frame.func = funcs_intern(&p->funcs, &func);
	stacks[0] = stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
	frame.tier = 1;
	stacks[1] = stacks_intern(&p->stacks, NO_STACK, frames_intern(&p->frames, &frame));
	p->meta.start_ns = 5000000000;
	p->meta.start_realtime_ns = 1700000003000000000;
	p->meta.interval_ns = 1000000;
	p->meta.end_ns = p->meta.start_ns + 30000000000;
	for (uint32_t i = 0; i < 2; i++) {
		struct profile_thread thread = {
			.pid = 1,
			.tid = i + 1,
			.name = strings_intern(&p->strings, "t"),
			.process_name = strings_intern(&p->strings, "exe"),
			.process_label = NO_STRING,
			.arguments = NO_STRING,
			.is_main = !i,
		};
		thread_id id = threads_add(&p->threads, &thread);

		for (uint64_t second = 0; second < 30; second++) {
			const struct sample sample = {.time = p->meta.start_ns +
							      second * 1000000000,
						      .stack = second == 29 ? NO_STACK : stacks[i],
						      .weight = 3,
						      .cpu = NO_CPU};

			samples_add(&threads_get(&p->threads, id)->samples, &sample);
		}
	}
	return p;
}

static int push(struct tables *t, const struct profile *p, struct fleet_pushed *pushed,
		struct error *err)
{
	static const char *const labels[] = {"a=b", NULL};
	const struct fleet_origin origin = {
		.host = "h", .service = hostile, .labels = labels, .lost = 7};
	struct fleet_url url;
	struct engine engine = {.url = &url, .send = fake_send, .ctx = t};
	int ret;

	assert_int_equal(fleet_url_parse(&url, URL, NOW, NULL), 0);
	url.is_unpacked = true;
	ret = fleet_push(&engine, p, &origin, pushed, err);
	fleet_url_release(&url);
	return ret;
}

struct window_row {
	uint32_t time;
	uint64_t id, batch, ticks, lost;
};

static struct window_row take_window(struct bytes *b)
{
	struct window_row row = {.time = bytes_u32(b), .id = bytes_u64(b), .batch = bytes_u64(b)};

	bytes_skip(b, 4);
	free(rows_take_text(b));
	bytes_skip(b, 16);
	assert_int_equal(rows_take_count(b, 1), 1);
	free(rows_take_text(b));
	row.ticks = bytes_u64(b);
	bytes_skip(b, 8);
	row.lost = bytes_u64(b);
	bytes_skip(b, 24);
	free(rows_take_text(b));
	return row;
}

/* Sums of the samples sent, by window, as an engine would give them. */
static void add_up(const struct tables *t, struct fleet_answers *a)
{
	const uint64_t overview[] = {3, 1, 1700000000, 1700000030, 7, 1, 1000000};
	struct bytes b;

	bytes_init(&b, t->samples.text, t->samples.size);
	for (size_t i = 0; i < sizeof(overview) / sizeof(*overview); i++)
		rows_add_u64(&a->windows, overview[i]);
	while (bytes_left(&b)) {
		uint32_t time = bytes_u32(&b);

		bytes_skip(&b, 8);
		free(rows_take_text(&b));
		for (int i = 0; i < 4; i++) {
			char *text = rows_take_text(&b);

			if (i == 0) {
				rows_add_text(&a->samples, text);
				rows_add_u64(&a->samples, time - 1700000000);
			} else if (i == 3) {
				assert_string_equal(text, "clock");
				rows_add_text(&a->samples, text);
			}
			free(text);
		}
		rows_add_u64(&a->samples, bytes_u64(&b));
		assert_int_equal(bytes_u8(&b), 0);
		strbuf_add(&a->samples, bytes_take(&b, STACK_KEY_SIZE), STACK_KEY_SIZE);
		rows_add_u64(&a->samples, bytes_u64(&b));
	}
	assert_false(b.failed);
	strbuf_add(&a->stacks, t->stacks.text, t->stacks.size);
}

static void answers_release(struct fleet_answers *a)
{
	strbuf_release(&a->windows);
	strbuf_release(&a->samples);
	strbuf_release(&a->stacks);
}

TEST(what_is_sent_comes_back)
{
	struct profile *p = make_profile(), *back;
	struct fleet_answers a = {0};
	struct tables t = {0};
	struct fleet_pushed pushed;
	struct fleet_url url;
	uint64_t named = 0, unknown = 0;

	assert_int_equal(push(&t, p, &pushed, NULL), 0);
	assert_int_equal(pushed.samples, 180);
	assert_int_equal(pushed.windows, 4);
	assert_int_equal(t.inserts, 3);
	add_up(&t, &a);
	assert_int_equal(fleet_url_parse(&url, URL, NOW, NULL), 0);
	assert_int_equal(fleet_build(&back, &url, &a, NULL), 0);
	assert_int_equal(back->threads.rows.count, 1);
	assert_string_equal(strings_get(&back->strings, back->threads.rows.items[0].name), hostile);
	samples_for_each(&back->threads.rows.items[0].samples, sample) {
		*(sample->stack == NO_STACK ? &unknown : &named) += sample->weight;
		assert_true(sample->time < back->meta.end_ns);
	}
	assert_int_equal(named, 174);
	assert_int_equal(unknown, 6);
	/* Frames that differ only in what is not sent are one. */
	assert_int_equal(back->stacks.rows.count, 1);
	assert_string_equal(strings_get(&back->strings, back->funcs.rows.items[0].name), hostile);
	assert_int_equal(back->frames.rows.items[0].offset, 16);
	assert_int_equal(back->meta.interval_ns, 1000000);
	profile_free(back);
	fleet_url_release(&url);
	answers_release(&a);
	tables_release(&t);
	profile_free(p);
}

TEST(windows_add_up_to_the_whole)
{
	struct profile *p = make_profile();
	struct tables t = {0};
	struct fleet_pushed pushed;
	uint64_t ticks = 0, lost = 0;
	struct bytes b;
	struct window_row row;

	assert_int_equal(push(&t, p, &pushed, NULL), 0);
	bytes_init(&b, t.windows.text, t.windows.size);
	for (uint32_t time = 1700000000; bytes_left(&b); time += FLEET_WINDOW_S) {
		row = take_window(&b);
		assert_int_equal(row.time, time);
		ticks += row.ticks;
		lost += row.lost;
	}
	assert_false(b.failed);
	assert_int_equal(ticks, 180);
	assert_int_equal(lost, 7);
	tables_release(&t);
	profile_free(p);
}

TEST(known_windows_are_not_sent_again)
{
	struct profile *p = make_profile();
	struct tables t = {0}, again = {0};
	struct fleet_pushed pushed;
	struct window_row first, second;
	struct bytes b;

	assert_int_equal(push(&t, p, &pushed, NULL), 0);
	bytes_init(&b, t.windows.text, t.windows.size);
	first = take_window(&b);
	rows_add_u64(&again.known, first.id);
	assert_int_equal(push(&again, p, &pushed, NULL), 0);
	assert_int_equal(pushed.known, 1);
	assert_int_equal(pushed.windows, 3);
	second = take_window(&b);
	bytes_init(&b, again.windows.text, again.windows.size);
	assert_int_equal(take_window(&b).batch, second.batch);
	/* An answer that is cut off. */
	again.known.size = 5;
	assert_int_equal(push(&again, p, &pushed, NULL), -EBADMSG);
	tables_release(&t);
	tables_release(&again);
	profile_free(p);
}

/* The row that makes a window count comes last. */
TEST(a_window_that_failed_does_not_count)
{
	struct profile *p = make_profile();
	struct tables t = {.is_failing = true};
	struct fleet_pushed pushed;
	struct error err = {0};

	assert_int_equal(push(&t, p, &pushed, &err), -EREMOTEIO);
	assert_non_null(strstr(err.text, "db:8123 answered with status 500: Code: 242"));
	assert_null(strchr(err.text, '\n'));
	assert_int_equal(t.windows.size, 0);
	p->meta.start_realtime_ns = 0;
	assert_int_equal(push(&t, p, &pushed, &err), -EINVAL);
	tables_release(&t);
	profile_free(p);
}

TEST(damaged_answers)
{
	struct profile *p = make_profile(), *back;
	struct fleet_answers a = {0};
	struct tables t = {0};
	struct fleet_pushed pushed;
	struct fleet_url url;
	size_t whole;

	assert_int_equal(push(&t, p, &pushed, NULL), 0);
	add_up(&t, &a);
	assert_int_equal(fleet_url_parse(&url, URL, NOW, NULL), 0);
	whole = a.samples.size;
	for (a.samples.size = whole - 1; a.samples.size > whole - 20; a.samples.size--)
		assert_int_equal(fleet_build(&back, &url, &a, NULL), -EBADMSG);
	a.samples.size = whole;
	whole = a.stacks.size;
	for (a.stacks.size = whole - 1; a.stacks.size > 0; a.stacks.size--) {
		int ret = fleet_build(&back, &url, &a, NULL);

		/* A row may end there: its samples have no stack then. */
		if (!ret)
			profile_free(back);
		else
			assert_int_equal(ret, -EBADMSG);
	}
	a.windows.size--;
	assert_int_equal(fleet_build(&back, &url, &a, NULL), -EBADMSG);
	fleet_url_release(&url);
	answers_release(&a);
	tables_release(&t);
	profile_free(p);
}

static int keep_send(void *ctx, const struct engine_request *r, struct strbuf *answer,
		     struct error *err)
{
	strbuf_add(ctx, r->body, r->size);
	strbuf_addf(answer, "%c%c%c%c%c%c", 1 << 3 | 2, 4, 1 << 3, 9, 2 << 3 | 2, 0);
	return 200;
}

TEST(what_a_collector_refuses)
{
	static const char *const labels[] = {NULL};
	const struct fleet_origin origin = {
		.host = "h", .service = hostile, .labels = labels, .lost = 7};
	struct profile *p = make_profile();
	struct strbuf body = {0}, words = {0}, answer = {0};
	struct fleet_url url;
	struct engine engine = {.url = &url, .send = keep_send, .ctx = &body};
	struct fleet_pushed pushed;
	uint64_t refused;
	struct error err = {0};

	assert_int_equal(fleet_url_parse(&url, "otlp+http://c", NOW, NULL), 0);
	url.is_unpacked = true;
	assert_int_equal(fleet_push(&engine, p, &origin, &pushed, &err), -EREMOTEIO);
	assert_non_null(strstr(err.text, "the collector rejected 9 profiles"));
	assert_int_equal(pushed.samples, 180);
	/* A profile that was sent again is the same. */
	engine.ctx = &words;
	assert_int_equal(fleet_push(&engine, p, &origin, &pushed, &err), -EREMOTEIO);
	assert_int_equal(words.size, body.size);
	assert_memory_equal(words.text, body.text, body.size);
	collector_refused(&body, &refused, &answer, &err);
	assert_int_equal(refused, 0);
	strbuf_release(&body);
	strbuf_release(&words);
	strbuf_release(&answer);
	fleet_url_release(&url);
	profile_free(p);
}

/* Takes what is small enough, and that often. */
struct narrow_collector {
	size_t max, taken, largest;
	int room;
};

static int narrow_send(void *ctx, const struct engine_request *r, struct strbuf *answer,
		       struct error *err)
{
	struct narrow_collector *c = ctx;

	if (r->size > c->largest)
		c->largest = r->size;
	if (r->size > c->max)
		return 413;
	if (!c->room)
		return 503;
	c->room--;
	c->taken++;
	return 200;
}

TEST(requests_that_are_too_large_are_halved_and_go_on)
{
	static const char *const labels[] = {NULL};
	struct fleet_origin origin = {.host = "h", .service = "s", .labels = labels, .lost = 7};
	struct profile *p = make_profile();
	struct narrow_collector c = {.max = SIZE_MAX, .room = 1};
	struct fleet_url url;
	struct engine engine = {.url = &url, .send = narrow_send, .ctx = &c};
	struct fleet_pushed pushed;

	assert_int_equal(fleet_url_parse(&url, "otlp+http://c", NOW, NULL), 0);
	url.is_unpacked = true;
	assert_int_equal(fleet_push(&engine, p, &origin, &pushed, NULL), 0);
	assert_int_equal(c.taken, 1);
	c.max = c.largest - 1;
	c.room = 1;
	assert_int_equal(fleet_push(&engine, p, &origin, &pushed, NULL), -EREMOTEIO);
	assert_true(pushed.samples > 0 && pushed.samples < 180);
	origin.done = pushed.samples;
	c.room = 100;
	assert_int_equal(fleet_push(&engine, p, &origin, &pushed, NULL), 0);
	assert_int_equal(origin.done + pushed.samples, 180);
	assert_true(c.taken > 1);
	/* Nothing is left. */
	origin.done = 180;
	c.taken = 0;
	assert_int_equal(fleet_push(&engine, p, &origin, &pushed, NULL), 0);
	assert_int_equal(c.taken, 0);
	/* One sum cannot be halved. */
	origin.done = 0;
	c.max = 10;
	assert_int_equal(fleet_push(&engine, p, &origin, &pushed, NULL), -EMSGSIZE);
	fleet_url_release(&url);
	profile_free(p);
}

TEST(lists)
{
	struct strbuf answer = {0};
	struct fleet_cells cells = {0};

	rows_add_text(&answer, "a");
	for (int i = 0; i < 5; i++)
		rows_add_text(&answer, "1");
	assert_int_equal(fleet_list_read(&fleet_lists[0], &answer, &cells, NULL), 0);
	assert_int_equal(cells.cells.count, 6);
	answer.size--;
	assert_int_equal(fleet_list_read(&fleet_lists[0], &answer, &cells, NULL), -EBADMSG);
	fleet_cells_release(&cells);
	strbuf_release(&answer);
}

TEST(messages_to_the_process)
{
	struct request_message m;

	assert_true(request_message_read(&m,
					 "u\0a\0\0\0"
					 "7\0grpc\0A: b\0C: d\0\0body",
					 28));
	assert_true(m.is_grpc);
	assert_string_equal(m.url, "u");
	assert_int_equal(m.headers.count, 2);
	assert_string_equal(m.headers.items[1], "C: d");
	assert_null(m.headers.items[2]);
	assert_int_equal(m.size, 4);
	assert_string_equal(m.tls_files[FLEET_TLS_CA], "a");
	assert_int_equal(m.timeout_ns, 7);
	vec_release(&m.headers);
	assert_false(request_message_read(&m, "", 0));
	assert_false(request_message_read(&m,
					  "u\0\0\0\0"
					  "7\0\0A: b\0",
					  13));
	assert_false(request_message_read(&m, "\0\0", 2));
}
