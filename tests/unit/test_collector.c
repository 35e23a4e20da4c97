/* SPDX-License-Identifier: MIT */
/* Samples that are sent to collectors: in parts, each once. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/engine.h"
#include "lib/fleet/engine_kind.h"
#include "tests/unit/test.h"

#define PROCESSES 3
#define SAMPLES 8

/* Three processes, each with a sample of each of eight functions. */
static struct profile *make_profile(void)
{
	struct profile *p = profile_new();

	p->meta.start_realtime_ns = 1700000003000000000;
	p->meta.interval_ns = 1000000;
	p->meta.end_ns = 10000000000;
	for (uint32_t i = 0; i < PROCESSES; i++) {
		char name[] = {'p', (char)('0' + i), '\0'};
		struct profile_thread thread = {
			.pid = i + 1,
			.tid = i + 1,
			.name = strings_intern(&p->strings, "t"),
			.process_name = strings_intern(&p->strings, name),
			.process_label = NO_STRING,
			.arguments = NO_STRING,
			.is_main = true,
		};
		thread_id id = threads_add(&p->threads, &thread);

		for (uint32_t k = 0; k < SAMPLES; k++) {
			char text[] = {'f', (char)('0' + k), '\0'};
			const struct func func = {.name = strings_intern(&p->strings, text),
						  .module = NO_MODULE,
						  .file = NO_SOURCE_FILE,
						  .is_named = true};
			const struct frame frame = {.module = NO_MODULE,
						    .symbol = NO_SYMBOL,
						    .func = funcs_intern(&p->funcs, &func)};
			const struct sample sample = {
				.time = k,
				.stack = stacks_intern(&p->stacks, NO_STACK,
						       frames_intern(&p->frames, &frame)),
				.weight = 1 + k,
				.cpu = NO_CPU};

			samples_add(&threads_get(&p->threads, id)->samples, &sample);
		}
	}
	return p;
}

/* A collector that takes `room` requests, each of `max` bytes at most. */
struct narrow {
	size_t max, room, taken, asked;
};

static int narrow_send(void *ctx, const struct engine_request *r, struct strbuf *answer,
		       struct error *err)
{
	struct narrow *c = ctx;

	c->asked++;
	if (r->size > c->max)
		return 413;
	if (c->taken == c->room)
		return 503;
	c->taken++;
	return 200;
}

static int push(const char *address, const struct profile *p, struct narrow *c, uint64_t done,
		struct fleet_pushed *pushed)
{
	static const char *const labels[] = {"a=b", NULL};
	const struct fleet_origin origin = {.host = "h", .labels = labels, .done = done};
	struct fleet_url url;
	struct engine engine = {.url = &url, .send = narrow_send, .ctx = c};
	struct error err = {0};
	int ret;

	assert_int_equal(fleet_url_parse(&url, address, 0, &err), 0);
	ret = fleet_push(&engine, p, &origin, pushed, &err);
	fleet_url_release(&url);
	return ret;
}

TEST(each_resource_of_pyroscope_is_a_request)
{
	struct profile *p = make_profile();
	struct narrow c = {.max = SIZE_MAX, .room = 2};
	struct fleet_pushed pushed;

	assert_int_equal(push("pyroscope+http://c", p, &c, 0, &pushed), -EREMOTEIO);
	assert_int_equal(pushed.samples, 72);
	c = (struct narrow){.max = SIZE_MAX, .room = 9};
	assert_int_equal(push("pyroscope+http://c", p, &c, 72, &pushed), 0);
	assert_int_equal(pushed.samples, 36);
	assert_int_equal(c.taken, 1);
	/* Others take all of it. */
	c.taken = 0;
	assert_int_equal(push("parca+http://c", p, &c, 0, &pushed), 0);
	assert_int_equal(pushed.samples, 108);
	assert_int_equal(c.taken, 1);
	profile_free(p);
}

TEST(parts_are_halves_not_crumbs)
{
	static const char *const addresses[] = {"otlp+http://c", "otlp+grpc://c",
						"pyroscope+http://c", "parca+http://c"};
	struct profile *p = make_profile();

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		struct narrow c = {.max = SIZE_MAX, .room = 99};
		struct fleet_pushed pushed;
		size_t whole;

		assert_int_equal(push(addresses[i], p, &c, 0, &pushed), 0);
		whole = c.taken;
		for (c.max = 4096; push(addresses[i], p, &c, 0, &pushed) == 0;) {
			assert_int_equal(pushed.samples, 108);
			if (c.taken > whole)
				break;
			c = (struct narrow){.max = c.max - 8, .room = 99};
		}
		assert_true(c.taken > whole && c.taken <= whole + PROCESSES + 1);
		c = (struct narrow){.max = 10, .room = 99};
		assert_int_equal(push(addresses[i], p, &c, 0, &pushed), -EMSGSIZE);
	}
	profile_free(p);
}

/* A collector that answers by what was counted. */
struct choosy {
	int faults, switches; /* statuses of requests with these */
	size_t asked, of_clock;
};

static bool has(const struct engine_request *r, const char *text)
{
	return memmem(r->body, r->size, text, strlen(text));
}

static int choosy_send(void *ctx, const struct engine_request *r, struct strbuf *answer,
		       struct error *err)
{
	struct choosy *c = ctx;

	c->asked++;
	c->of_clock += has(r, "nanoseconds");
	assert_int_equal(has(r, "nanoseconds") + has(r, "page_faults") + has(r, "switches"), 1);
	assert_false(has(r, "page-faults"));
	if (has(r, "page_faults") && c->faults != 200)
		strbuf_adds(answer, "no such type");
	return has(r, "page_faults") ? c->faults : has(r, "switches") ? c->switches : 200;
}

static int push_choosy(const struct profile *p, struct choosy *c, uint64_t done,
		       struct fleet_pushed *pushed, struct error *err)
{
	static const char *const labels[] = {NULL};
	const struct fleet_origin origin = {.host = "h", .labels = labels, .done = done};
	struct fleet_url url;
	struct engine engine = {.url = &url, .send = choosy_send, .ctx = c};
	int ret;

	assert_int_equal(fleet_url_parse(&url, "otlp+http://c", 0, err), 0);
	url.is_unpacked = true;
	ret = fleet_push(&engine, p, &origin, pushed, err);
	fleet_url_release(&url);
	return ret;
}

TEST(a_refused_type_leaves_the_others)
{
	struct profile *p = make_profile();
	struct choosy c = {.faults = 400, .switches = 503};
	struct fleet_pushed pushed;
	struct error err = {0};

	for (uint32_t i = 0; i < 2; i++) {
		const struct sample sample = {
			.time = 100,
			.stack = 0,
			.weight = 10 + i,
			.cpu = NO_CPU,
			.event = profile_event(p, i ? "switches" : "page-faults")};

		samples_add(&threads_get(&p->threads, i)->samples, &sample);
	}
	/* Repeats only messages that may still pass. */
	assert_int_equal(push_choosy(p, &c, 0, &pushed, &err), -EREMOTEIO);
	assert_non_null(strstr(err.text, "503"));
	assert_int_equal(c.asked, 3);
	assert_int_equal(c.of_clock, 1);
	assert_int_equal(pushed.samples, 108);
	assert_int_equal(pushed.done, 118);
	assert_false(pushed.is_whole);
	c.switches = 200;
	assert_int_equal(push_choosy(p, &c, pushed.done, &pushed, &err), 0);
	assert_int_equal(c.asked, 4);
	assert_int_equal(pushed.samples, 11);
	assert_true(pushed.is_whole);
	/* A refusal is told when the rest is there. */
	assert_int_equal(push_choosy(p, &c, 0, &pushed, &err), -EREMOTEIO);
	assert_non_null(strstr(err.text, "the collector rejected 1 profile: "));
	assert_non_null(strstr(err.text, "no such type"));
	assert_int_equal(pushed.samples, 119);
	assert_true(pushed.is_whole);
	profile_free(p);
}
