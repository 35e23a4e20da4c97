/* SPDX-License-Identifier: MIT */
/* prof top on a terminal. */
#include <inttypes.h>
#include <poll.h>

#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"
#include "cmd/browse/top.h"
#include "cmd/command.h"
#include "lib/base/cleanup.h"

#define PERIOD_MS 250
#define WAIT_MS 100
#define WINDOW_NS_MIN 1000000000ull
#define WINDOW_NS_MAX 60000000000ull

static bool renew(void *ctx, struct screen *s, bool is_frozen)
{
	struct top *t = ctx;
	uint64_t number, end_ns;

	moving_hold(t->moving, is_frozen);
	top_read(t);
	if (is_frozen) {
		/* Rows would pile up. */
		moving_profile(t->moving, false, &number);
		return !t->has_ended;
	}
	end_ns = moving_end(t->moving);
	s->model.profile = (struct profile *)moving_profile(t->moving, false, &number);
	/* Each filter that can be gone back to is of the same time. */
	vec_for_each(&s->model.filters, struct query_filter *, filter)
		top_filter(t, end_ns, filter);
	t->counts = moving_count(t->moving);
	t->until_ns = end_ns;
	t->has_waits = model_filter(&s->model)->include_idle;
	return !t->has_ended;
}

/* Returns the CPUs that were in use on average. */
static double cpus(const struct top *t, const struct query *q)
{
	uint64_t window_ns = t->options.window_ns, waits = 0;

	if (window_ns > t->until_ns)
		window_ns = t->until_ns;
	for (int i = 0; t->has_waits && i < QUERY_WAIT_COUNT; i++)
		waits += q->waits[i];
	return waits > q->weight || !window_ns
		       ? 0
		       : (double)(q->weight - waits) * (double)q->profile->meta.interval_ns /
				 (double)window_ns;
}

static void describe(void *ctx, const struct query *q, struct strbuf *out)
{
	const struct top *t = ctx;

	strbuf_addf(out, "%g s  ", (double)t->options.window_ns / 1e9);
	strbuf_add_grouped(out, q->samples);
	strbuf_adds(out, " samples");
	if (!q->event)
		strbuf_addf(out, "  %.2f CPUs", cpus(t, q));
	if (t->counts.held)
		strbuf_addf(out, "  %" PRIu64 " await names", t->counts.held);
	if (t->counts.lost)
		strbuf_addf(out, "  %" PRIu64 " lost", t->counts.lost);
}

static void stretch(void *ctx, int seconds)
{
	struct top *t = ctx;
	uint64_t step = WINDOW_NS_MIN, now = t->options.window_ns;

	if (seconds > 0 && now < WINDOW_NS_MAX)
		t->options.window_ns = now + step;
	else if (seconds < 0 && now > WINDOW_NS_MIN)
		t->options.window_ns = now > step + WINDOW_NS_MIN ? now - step : WINDOW_NS_MIN;
	moving_keep(t->moving, t->options.window_ns);
}

/* Waits until the recorder is at work; it may ask for a password, or fail, on the terminal. */
static void await_records(struct top *t)
{
	while (!t->has_ended && !top_is_interrupted() && !moving_end(t->moving)) {
		struct pollfd ready = {.fd = t->fd, .events = POLLIN};

		poll(&ready, 1, WAIT_MS);
		top_read(t);
	}
}

int top_screen(struct top *t)
{
	const struct screen_source source = {
		.ctx = t,
		.command = "top",
		.debug_dirs = t->options.output.debug_dirs.items,
		.writer = {READER_UNKNOWN, READER_UNKNOWN},
		.period_ms = PERIOD_MS,
		.renew = renew,
		.describe = describe,
		.stretch = stretch,
	};
	struct error err = {0};
	struct screen s;
	int status;

	await_records(t);
	if (t->has_ended || top_is_interrupted())
		return 0;
	if (term_open(&err)) {
		error_hint(&err, "prof top --batch needs none");
		return command_fail("top", EXIT_USAGE, &err);
	}
	screen_init(&s);
	s.model.by = t->options.by;
	s.model.order = t->options.by_total ? QUERY_ORDER_TOTAL : QUERY_ORDER_SELF;
	s.view = t->options.is_inverted ? VIEW_INVERTED
		 : t->options.is_tree	? VIEW_TREE
					: VIEW_FUNCTIONS;
	model_filter(&s.model)->include_idle = t->options.has_waits;
	status = screen_run(&s, &source);
	term_close();
	screen_release(&s);
	return status;
}
