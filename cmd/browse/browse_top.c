/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "cmd/browse/browse_programs.h"
#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"
#include "cmd/command.h"
#include "cmd/options/top_options.h"
#include "cmd/text/profile_summary.h"
#include "cmd/text/query_listing.h"
#include "lib/query/select.h"
#include "lib/recording/moving.h"

/* The data of prof top: the latest seconds of a recorder's records, as rows. */

struct top {
	struct top_options options;
	struct moving *moving;
	int fd; /* descriptor that delivers the records */
	pid_t recorder;
	bool has_ended; /* no more data will come */
	/* State of the view, which may be frozen. */
	struct moving_counts counts;
	uint64_t until_ns;
	bool has_waits;

	struct error err; /* reason of the end, unless the recorder ended normally */
};

#define STEP_MS 100
/* Applies to trees in windows for display only. */
#define TREE_MIN_SHARE 0.005

static void list(const struct top *t, const struct query *q, struct listing *l)
{
	const struct query_listing_options how = {
		.unit = QUERY_UNIT_SAMPLES,
		.limit = t->options.limit,
	};

	if (t->options.is_tree) {
		const struct query_tree_options options = {
			.by = t->options.by,
			.kind = t->options.is_inverted ? QUERY_TREE_INVERTED : QUERY_TREE_PLAIN,
			.min_share = TREE_MIN_SHARE,
		};
		struct query_tree tree;

		query_tree_make(&tree, q, &options);
		query_listing_tree(l, q, &tree, &how);
		query_tree_release(&tree);
	} else {
		struct query_table table;

		query_table_make(&table, q, t->options.by, NULL);
		if (t->options.by_total)
			query_table_sort(&table, QUERY_ORDER_TOTAL);
		query_listing_table(l, q, &table, &how);
		query_table_release(&table);
	}
}

static void top_filter(const struct top *t, uint64_t until_ns, struct query_filter *filter);

/* Prints a window as one line: JSON strings escape line ends. */
static void print(struct top *t, const struct profile *p, uint64_t until_ns)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	const struct import_counts counts = {0};
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct listing l = {0};
	struct query q;

	top_filter(t, until_ns, &filter);
	filter.include_idle = t->options.has_waits;
	if (query_select(&q, p, &filter, NULL))
		return;
	list(t, &q, &l);
	strbuf_addf(
		&out,
		"{\"schema\": \"prof-top/1\", \"from\": %.9f, \"until\": %.9f, \"lost\": %" PRIu64
		", \"summary\": ",
		(double)filter.from / 1e9, (double)filter.until / 1e9,
		moving_count(t->moving).lost);
	profile_summary_json(&q, &counts, &out);
	strbuf_addf(&out, ", \"%s\": ", t->options.is_tree ? "tree" : "rows");
	listing_print_json(&l, &out);
	strbuf_addch(&out, '}');
	for (size_t i = 0; i < out.size; i++) {
		if (out.text[i] == '\n')
			out.text[i] = ' ';
	}
	strbuf_addch(&out, '\n');
	fwrite(out.text, 1, out.size, stdout);
	fflush(stdout);
	listing_release(&l);
	query_release(&q);
}

static bool top_is_interrupted(void);
static void top_read(struct top *t);

/* Prints windows until the recording ends. Returns the exit status. */
static int top_batch(struct top *t)
{
	uint64_t next = t->options.window_ns, number;

	while (!t->has_ended && !ferror(stdout) && !top_is_interrupted()) {
		struct pollfd ready = {.fd = t->fd, .events = POLLIN};
		const struct profile *p;

		poll(&ready, 1, STEP_MS);
		top_read(t);
		p = moving_profile(t->moving, moving_end(t->moving) >= next, &number);
		for (; p && moving_end(t->moving) >= next; next += t->options.every_ns)
			print(t, p, next);
	}
	return 0;
}

/* prof top on a terminal. */

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
		/* Discard rows while the view is frozen: they would accumulate. */
		moving_profile(t->moving, false, &number);
		return !t->has_ended;
	}
	end_ns = moving_end(t->moving);
	s->model.profile = (struct profile *)moving_profile(t->moving, false, &number);
	/* Apply the time to all filters on the undo stack. */
	vec_for_each(&s->model.filters, struct query_filter *, filter)
		top_filter(t, end_ns, filter);
	t->counts = moving_count(t->moving);
	t->until_ns = end_ns;
	t->has_waits = model_filter(&s->model)->include_idle;
	return !t->has_ended;
}

/* Returns the mean number of busy CPUs. */
static double cpus(const struct top *t, const struct query *q)
{
	uint64_t window_ns = t->options.window_ns, waits = 0;

	window_ns = MIN(window_ns, t->until_ns);
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
	strbuf_addf(out, " %s", text_counted(q->samples, "sample", "samples"));
	if (!q->event)
		strbuf_addf(out, "  %.2f CPUs", cpus(t, q));
	if (t->counts.held)
		strbuf_addf(out, "  %" PRIu64 " not named yet", t->counts.held);
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

/* Waits until the recorder has started. It may prompt for a password, or fail, on the terminal. */
static void await_records(struct top *t)
{
	while (!t->has_ended && !top_is_interrupted() && !moving_end(t->moving)) {
		struct pollfd ready = {.fd = t->fd, .events = POLLIN};

		poll(&ready, 1, WAIT_MS);
		top_read(t);
	}
}

/* Shows windows on the terminal. */
static int top_screen(struct top *t)
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
		error_hint(&err, "use prof top --batch");
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

static const char name[] = "top";

/* Number of waits for the recorder to end. */
#define END_STEPS 100
#define END_STEP_MS 50

static volatile sig_atomic_t is_interrupted;

static void on_signal(int signal)
{
	is_interrupted = 1;
}

/* True after a signal that ends prof top. */
static bool top_is_interrupted(void)
{
	return is_interrupted;
}

static void handle_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction action = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Sets the filter's time range: [until - window, until). */
static void top_filter(const struct top *t, uint64_t until_ns, struct query_filter *filter)
{
	filter->from = until_ns > t->options.window_ns ? until_ns - t->options.window_ns : 0;
	filter->until = until_ns;
}

/* Reads the available records. */
static void top_read(struct top *t)
{
	int ret = moving_read(t->moving, &t->err);

	t->has_ended = ret <= 0;
}

/* Ends the recorder. Returns the exit status. */
static int end(struct top *t, int status)
{
	int recorder = 0;

	kill(t->recorder, SIGTERM);
	/* Read its last records, so that the pipe has room for them. */
	for (int i = 0; i < END_STEPS && !t->has_ended; i++) {
		struct pollfd ready = {.fd = t->fd, .events = POLLIN};

		poll(&ready, 1, END_STEP_MS);
		top_read(t);
	}
	close(t->fd);
	while (waitpid(t->recorder, &recorder, 0) < 0 && errno == EINTR)
		;
	if (t->err.code)
		return command_fail(name, EXIT_REFUSED, &t->err);
	/* The recorder has reported the reason. */
	if (!status && t->has_ended && WIFEXITED(recorder) && WEXITSTATUS(recorder) &&
	    WEXITSTATUS(recorder) < EXIT_SIGNAL_BASE)
		status = WEXITSTATUS(recorder);
	return status;
}

/*
 * Returns freed memory to the system at once, for hours of use. Debug information is loaded into
 * large buffers in short-lived threads.
 */
static void limit_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int show(struct top *t, const char *const *words)
{
	const struct identity owner = identity_of_invoker();
	struct moving_options options = {
		.keep_ns = t->options.window_ns + t->options.every_ns,
		.dirs = t->options.output.debug_dirs.items,
		.no_symbols = t->options.output.no_symbols,
	};
	struct identity before;
	uint64_t fd, pid;
	int status;

	if (!text_to_u64(words[0], 10, &fd) || !text_to_u64(words[1], 10, &pid))
		return EXIT_USAGE;
	t->fd = (int)fd;
	t->recorder = (pid_t)pid;
	(void)fcntl(t->fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(t->fd, F_SETFL, O_NONBLOCK);
	/* Do not query servers for debug files: the view would freeze meanwhile. */
	unsetenv("DEBUGINFOD_URLS");
	/* Root must not read files that the invoking user cannot read. */
	before = identity_assume_files(&owner);
	if (before.failure)
		return EXIT_REFUSED;
	t->moving = moving_new(t->fd, &options);
	handle_signals();
	limit_memory();
	status = t->options.batch ? top_batch(t) : top_screen(t);
	status = end(t, status);
	moving_free(t->moving);
	identity_restore_files(&before);
	return status;
}

int top_show(int argc, char **argv)
{
	struct top t = {0};
	struct error err = {0};
	int ret;

	top_options_init(&t.options);
	ret = top_options_parse(&t.options, argc - 2, argv + 2, &err);
	ret = ret ? command_fail_usage(name, &err) : show(&t, (const char *const *)argv);
	top_options_release(&t.options);
	return ret;
}
