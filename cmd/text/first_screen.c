/* SPDX-License-Identifier: MIT */
#include "cmd/text/profile_summary.h"

#include "cmd/text/query_listing.h"
#include "lib/model/meaning/titles.h"
#include "lib/query/advice_rules.h"
#include "lib/query/digest.h"
#include "lib/query/summary.h"

/* Number of steps that a path begins with if it is too long for all. */
#define STEPS_FIRST 2
#define JSON_WAITS_MAX 100
#define PROCESSES_MAX 6
#define MODULES_MAX 4
#define HELD_MAX 4
/* A screen of text has this many lines, if not too many rows were asked for. */
#define LINES_MAX 40
/* Smaller shares of modules, places of waits and held memory are omitted. */
#define SHARE_MIN 0.02
/* A process is named if it exceeds this share of the time in which several ran. */
#define PROCESS_MIN 0.5
/* Blocked time is shown if it exceeds this share of the time in which threads ran. */
#define BLOCKED_MIN 0.1

/* Columns of a name in a line of text. */
#define LINE_NAME_WIDTH 80
/* Samples below which the line after a recording names no hottest function. */
#define SAMPLES_MIN 5

/* Maximum numbers of rows: the first that fit the screen count. */
static const struct screen_rows {
	uint8_t advice, waits, steps, branches;
	bool has_functions;
} screen_rows[] = {
	{3, 6, 8, UINT8_MAX, true},
	{3, 4, 8, UINT8_MAX, false},
	{2, 3, 6, 2, false},
	{1, 1, 4, 0, false},
};

struct printer {
	const struct screen_rows *rows;
	const struct query *q;
	const struct first_screen_options *options;
	const struct digest *a;
	struct strbuf *out;
};

static double percent(uint64_t weight, uint64_t of)
{
	return of ? 100 * (double)weight / (double)of : 0;
}

static double seconds(const struct query *q, uint64_t weight)
{
	return (double)weight * (double)q->profile->meta.interval_ns / 1e9;
}

static const char *text_of(const struct digest *a, string_id id, const char *otherwise)
{
	const char *text = query_keys_text(&a->keys, id);

	return *text ? text : otherwise;
}

static const char *function_of(const struct digest *a, uint32_t key)
{
	return text_of(a, a->keys.rows.items[key].function, "(no frame)");
}

/* Returns the kind of a wait in lower case, "lock"; the category's name if it has no kind. */
static char *kind_of(const struct query *q, const struct wait_place *place)
{
	_cleanup_free_ char *kind = wait_text_kind(
		q->profile, (struct frame_category){place->category, place->subcategory});

	if (!place->is_in_loop)
		return steal(kind);
	return xasprintf("%s in an event loop", strcmp(kind, "timer") == 0 ? "sleep" : kind);
}

static void add_heading(const struct printer *p, const char *text)
{
	listing_print_heading(text, p->options->is_markdown, p->out);
}

/* Prints untrusted text as a line of its own. */
static void add_line(const struct printer *p, char *text)
{
	text_to_line(text);
	if (p->options->is_markdown) {
		strbuf_adds(p->out, "\n");
		listing_markdown_code(text, p->out);
		strbuf_addch(p->out, '\n');
	} else {
		listing_print_line(text, p->options->width, p->out);
	}
}

static void print_listing(const struct printer *p, struct listing *l)
{
	listing_print_section(l, p->options->is_markdown, p->options->width, p->out);
}

static void add_place_columns(struct listing *l)
{
	listing_add_column(l, "FUNCTION", LISTING_TEXT);
	listing_add_column(l, "MODULE", LISTING_TEXT);
	listing_add_column(l, "LINE", LISTING_TEXT);
}

static void add_place(const struct printer *p, struct listing *l, uint32_t key, uint32_t line)
{
	const char *module = query_keys_text(&p->a->keys, p->a->keys.rows.items[key].module);

	listing_add_cell(l, xstrdup(function_of(p->a, key)));
	listing_add_cell(l, *module ? xstrdup(module) : NULL);
	listing_add_cell(l, query_listing_place(&p->a->keys, key, line));
}

/* Weight of a thread, or of the threads of a process so far. */
struct process_share {
	uint32_t pid, incarnation;
	thread_id thread; /* one of them */
	uint64_t weight;
};

ORDER(compare_processes, struct process_share,
      COMPARE(a->pid, b->pid) ?: COMPARE(a->incarnation, b->incarnation) ?: COMPARE(a->thread, b->thread))

/* Appends ", 96.1 % of it in cc1 tables.c", if one of several processes ran for most of the time.
 */
static void add_heaviest_process(const struct query *q, struct strbuf *line)
{
	VEC(struct process_share) shares = {0};
	struct process_share most = {0}, sum = {0};
	const struct profile_thread *of;
	_cleanup_free_ char *title = NULL;
	struct thread_titles titles;

	for (thread_id id = 0; id < q->profile->threads.rows.count; id++) {
		const struct profile_thread *thread = &q->profile->threads.rows.items[id];

		vec_push(&shares, ((struct process_share){thread->pid, thread->incarnation, id,
							  q->thread_weights[id]}));
	}
	vec_sort(&shares, compare_processes);
	vec_for_each(&shares, const struct process_share *, share) {
		if (share->pid != sum.pid || share->incarnation != sum.incarnation)
			sum = (struct process_share){share->pid, share->incarnation, share->thread,
						     0};
		sum.weight += share->weight;
		if (sum.weight > most.weight)
			most = sum;
	}
	vec_release(&shares);
	if ((double)most.weight <= PROCESS_MIN * (double)q->weight)
		return;
	thread_titles_find(&titles, q->profile);
	of = &q->profile->threads.rows.items[most.thread];
	/* The title of many short-lived processes has their share of everything. */
	title = text_cut(of->is_folded ? strings_get(&q->profile->strings, of->process_name)
				       : process_title(&titles, most.thread),
			 LINE_NAME_WIDTH, true);
	strbuf_addf(line, ", %.1f %% of it in %s", percent(most.weight, q->weight), title);
	thread_titles_release(&titles);
}

static void print_times(const struct printer *p)
{
	const struct query *q = p->q;
	_cleanup_(strbuf_release) struct strbuf line = {0};
	_cleanup_free_ bool *selected = NULL;
	size_t threads = 0;

	if (q->event || (!q->cpu_ns && q->weight))
		return;
	selected = query_select_threads(q->profile, p->options->filter);
	for (thread_id id = 0; id < q->profile->threads.rows.count; id++)
		threads += selected[id];
	strbuf_addf(&line, "ran %.3f s", (double)q->cpu_ns / 1e9);
	if (profile_process_count(q->profile) > 1)
		add_heaviest_process(q, &line);
	wait_text_add_query(p->a->has_waits ? &p->a->with_waits : q, !p->a->blocked, &line);
	if (threads > 1)
		strbuf_addf(&line, ", in %zu threads", threads);
	add_line(p, line.text);
}

/* Appends "libx.so 81.2 %, app 5.0 %". */
static void add_modules(const struct printer *p, struct strbuf *line)
{
	size_t shown = 0;

	vec_for_each(&p->a->modules, const struct hot_module *, row) {
		if (shown == MODULES_MAX ||
		    (shown && (double)row->weight < SHARE_MIN * (double)p->q->weight))
			break;
		strbuf_addf(line, "%s%s %.1f %%", shown++ ? ", " : "",
			    text_of(p->a, row->module, "code without a module"),
			    percent(row->weight, p->q->weight));
	}
}

/* Appends "off the path: f 29.1 %, g 10.4 %". */
static void add_beside(const struct printer *p, struct strbuf *line)
{
	strbuf_adds(line, "off the path: ");
	vec_for_each(&p->a->beside, const struct hot_step *, step)
		strbuf_addf(line, "%s%s %.1f %%", step == p->a->beside.items ? "" : ", ",
			    function_of(p->a, step->key), percent(step->total, p->q->weight));
}

static void add_step(const struct printer *p, struct listing *l, const struct hot_step *step)
{
	listing_add_row(l, step->depth);
	listing_add_cell(l, query_listing_weight(p->q, &p->options->listing, step->total));
	add_place(p, l, step->key, step->line);
}

static void add_gap(struct listing *l, size_t count)
{
	listing_add_row(l, 0);
	listing_add_cell(l, NULL);
	listing_add_cell(l, xasprintf("(%zu more)", count));
	listing_add_cell(l, NULL);
	listing_add_cell(l, NULL);
}

/* Shows the processes that ran if no function has most of the time. */
static void print_processes(const struct printer *p)
{
	struct query_listing_options options = p->options->listing;
	struct query_table table;
	struct listing l = {0};

	options.limit = PROCESSES_MAX;
	query_table_make(&table, p->q, QUERY_BY_PROCESS, NULL);
	query_listing_table(&l, p->q, &table, &options);
	query_table_release(&table);
	add_heading(p, "What ran");
	print_listing(p, &l);
}

/* Appends "51.2 % in next, 98.5 % in find_keys". */
static void add_hottest_step(const struct printer *p, struct strbuf *line)
{
	const struct hot_step *hottest = digest_hottest(p->a), *whole = digest_whole(p->a);

	strbuf_addf(line, "%.1f %% in %s", percent(hottest->total, p->q->weight),
		    function_of(p->a, hottest->key));
	if (whole)
		strbuf_addf(line, ", %.1f %% in %s", percent(whole->total, p->q->weight),
			    function_of(p->a, whole->key));
}

static void print_hot_path(const struct printer *p)
{
	const struct digest *a = p->a;
	_cleanup_(strbuf_release) struct strbuf line = {0};
	struct listing l = {.is_tree = true};
	size_t path = 0, begin, end;

	while (path < a->steps.count && !a->steps.items[path].depth)
		path++;
	if (!path) {
		print_processes(p);
		return;
	}
	add_hottest_step(p, &line);
	text_to_line(line.text);
	if (p->options->is_markdown) {
		add_heading(p, "Hot path");
		listing_markdown_code(line.text, p->out);
		strbuf_adds(p->out, "\n\n");
	} else {
		strbuf_addf(p->out, "\nHot path: %s\n", line.text);
	}
	listing_add_column(&l, "TOTAL", LISTING_SHARE);
	add_place_columns(&l);
	l.columns[1].is_tree = true;
	begin = path > p->rows->steps ? path - (p->rows->steps - STEPS_FIRST) : 0;
	end = path + p->rows->branches;
	for (size_t i = 0; i < a->steps.count && i < end; i++) {
		if (i < begin && i == STEPS_FIRST)
			add_gap(&l, begin - i);
		if (i >= begin || i < STEPS_FIRST)
			add_step(p, &l, &a->steps.items[i]);
	}
	print_listing(p, &l);
	if (a->beside.count) {
		strbuf_reset(&line);
		add_beside(p, &line);
		add_line(p, line.text);
	}
	if (a->modules.count > 1 || (a->modules.count && a->modules.items[0].module != NO_STRING)) {
		strbuf_reset(&line);
		strbuf_adds(&line, a->steps.count && vec_last(&a->steps).depth ? "the rest is in "
									       : "in ");
		add_modules(p, &line);
		add_line(p, line.text);
	}
}

/* Reports the number of omitted rows, and how to list them. */
static void print_rest(const struct printer *p, size_t count, const char *noun, const char *options)
{
	if (!count)
		return;
	if (p->options->is_markdown)
		strbuf_addf(p->out, "\n%zu more %s\n", count, noun);
	else
		strbuf_addf(p->out, " %zu more %s: %s\n", count, noun, options);
}

/* Returns "unlock cache.c:12", which the caller frees; NULL for DIGEST_NO_KEY. */
static char *function_at(const struct printer *p, uint32_t key, uint32_t line)
{
	_cleanup_free_ char *place = NULL;

	if (key == DIGEST_NO_KEY)
		return NULL;
	place = query_listing_place(&p->a->keys, key, line);
	return xasprintf("%s%s%s", function_of(p->a, key), place ? " " : "", place ? place : "");
}

static bool is_noise(const struct printer *p, const struct query_row *row)
{
	uint64_t weight = p->options->order == QUERY_ORDER_SELF ? row->self : row->total;

	return p->options->leaves_noise_out && (double)weight <= query_error(p->q, weight);
}

static void print_functions(const struct printer *p, size_t most)
{
	const struct query_listing_options *options = &p->options->listing;
	const struct digest *a = p->a;
	struct listing l = {0};
	size_t shown = 0;

	listing_add_column(&l, "SELF", LISTING_SHARE);
	listing_add_column(&l, "TOTAL", LISTING_SHARE);
	add_place_columns(&l);
	listing_add_column(&l, "CALLED BY", LISTING_TEXT);
	vec_for_each(&a->functions, const struct heavy_function *, function) {
		const struct query_row *row = function->row;

		if (shown == most || (shown && is_noise(p, row)) ||
		    (double)row->total < options->min_share * (double)p->q->weight)
			continue;
		listing_add_row(&l, 0);
		listing_add_cell(&l, query_listing_weight(p->q, options, row->self));
		listing_add_cell(&l, query_listing_weight(p->q, options, row->total));
		add_place(p, &l, row->key, row->line);
		listing_add_cell(&l, function_at(p, function->caller, function->caller_line));
		shown++;
	}
	add_heading(p, "Where it ran");
	print_listing(p, &l);
	print_rest(p, a->table.rows.count - shown,
		   text_counted(a->table.rows.count - shown, "function", "functions"),
		   "--by function");
}

/* "unlock cache.c:12", or the name of a thread; NULL if the waker is unknown. */
static char *waker_of(const struct printer *p, const struct wait_place *place)
{
	if (place->waker == DIGEST_NO_KEY && place->waker_name != NO_STRING)
		return xstrdup(strings_get(&p->q->profile->strings, place->waker_name));
	return function_at(p, place->waker, place->waker_line);
}

static void print_waits(const struct printer *p)
{
	const struct digest *a = p->a;
	bool with_wakers = vec_find(
		&a->waits, place, place->waker != DIGEST_NO_KEY || place->waker_name != NO_STRING);
	struct listing l = {0};
	size_t shown = 0;

	listing_add_column(&l, a->idle ? "IDLE" : "BLOCKED", LISTING_SHARE);
	if (!a->idle)
		listing_add_column(&l, "KIND", LISTING_TEXT);
	add_place_columns(&l);
	listing_add_column(&l, "CALLED BY", LISTING_TEXT);
	if (with_wakers)
		listing_add_column(&l, "WOKEN BY", LISTING_TEXT);
	for (; shown < a->waits.count && shown < p->rows->waits; shown++) {
		const struct wait_place *place = &a->waits.items[shown];

		if (shown && (double)place->weight < SHARE_MIN * (double)(a->blocked + a->idle))
			break;
		listing_add_row(&l, 0);
		listing_add_cell(&l, xasprintf("%.3f s", seconds(p->q, place->weight)));
		if (!a->idle)
			listing_add_cell(&l, kind_of(p->q, place));
		add_place(p, &l, place->key, place->line);
		listing_add_cell(&l, function_at(p, place->caller, place->caller_line));
		if (with_wakers)
			listing_add_cell(&l, waker_of(p, place));
	}
	add_heading(p, a->idle ? "Where it idled" : "Where it waited");
	print_listing(p, &l);
	print_rest(p, a->waits.count - shown,
		   text_counted(a->waits.count - shown, "place", "places"),
		   "--by function --category 'Idle*'");
}

static void add_held(const struct printer *p, struct listing *l, const struct held_place *row)
{
	const struct profile *profile = p->q->profile;
	const uint32_t *keys = p->a->keys.of_stacks;
	char text[32];

	text_format_bytes(text, sizeof(text), row->bytes);
	listing_add_row(l, 0);
	listing_add_cell(l, xstrdup(text));
	add_place(p, l, keys[row->stack], digest_line(profile, row->stack));
	listing_add_cell(
		l, row->caller == NO_STACK
			   ? NULL
			   : function_at(p, keys[row->caller], digest_line(profile, row->caller)));
}

/* Shows the functions that hold memory, if allocations were recorded. */
static void print_held(const struct printer *p)
{
	const struct profile *profile = p->q->profile;
	_cleanup_free_ char *heading = NULL;
	struct listing l = {0};
	struct held_memory h;
	size_t shown = 0;

	held_memory_find(&h, p->q, p->options->filter, p->a);
	heading = h.time > profile->meta.start_ns
			  ? xasprintf("What was held after %.2f s, at the peak",
				      (double)(h.time - profile->meta.start_ns) / 1e9)
			  : xstrdup("What is held at the end");
	listing_add_column(&l, "HELD", LISTING_SHARE);
	add_place_columns(&l);
	listing_add_column(&l, "CALLED BY", LISTING_TEXT);
	for (; shown < h.rows.count && shown < HELD_MAX; shown++) {
		if ((double)h.rows.items[shown].bytes < SHARE_MIN * (double)h.bytes)
			break;
		add_held(p, &l, &h.rows.items[shown]);
	}
	if (h.rows.count) {
		add_heading(p, heading);
		print_listing(p, &l);
		print_rest(p, h.rows.count - shown,
			   text_counted(h.rows.count - shown, "function", "functions"),
			   "--event retained");
	} else {
		listing_release(&l);
	}
	vec_release(&h.rows);
}

static void print_error(const struct printer *p)
{
	/* A share of one half has the largest error. */
	double error = query_error(p->q, p->q->weight / 2);
	_cleanup_free_ char *line = NULL;

	if (p->options->listing.has_errors || !(error > 0))
		return;
	line = xasprintf("sampling error: at most ±%.1f percentage points, --errors: of each row",
			 100 * error / (double)p->q->weight);
	strbuf_addch(p->out, '\n');
	listing_print_line(line, p->options->width, p->out);
}

/* Returns the blocked weight except for waits for children, whose own time is more informative. */
static uint64_t blocked_weight(const struct printer *p)
{
	uint64_t weight = p->a->blocked;

	vec_for_each(&p->a->waits, const struct wait_place *, place) {
		if (wait_place_is(p->q->profile, place, IDLE_CHILD))
			weight -= place->weight;
	}
	return weight;
}

/* Sums up the critical path, always of the whole command, regardless of the selection. */
static void print_path(const struct printer *p)
{
	_cleanup_(strbuf_release) struct strbuf first = {0}, second = {0};

	if (!path_summary_text(p->q->profile, &first, &second))
		return;
	add_line(p, first.text);
	if (second.size)
		add_line(p, second.text);
}

/* Returns the last blank at which a line of the width may end, or else the first; NULL: none. */
static char *find_blank(char *text, size_t width)
{
	char *found = NULL;

	for (char *blank = strchr(text, ' '); blank; blank = strchr(blank + 1, ' ')) {
		bool fits;

		*blank = '\0';
		fits = text_width(text) <= width;
		*blank = ' ';
		if (found && !fits)
			break;
		found = blank;
	}
	return found;
}

/* Appends an item of a list, wrapped between words. */
static void add_item(char *text, size_t width, struct strbuf *out)
{
	char *blank;

	strbuf_adds(out, "- ");
	while (width > 2 && text_width(text) > width - 2 && (blank = find_blank(text, width - 2))) {
		*blank = '\0';
		strbuf_addf(out, "%s\n  ", text);
		text = blank + 1;
	}
	strbuf_addf(out, "%s\n", text);
}

static void print_advice(const struct printer *p)
{
	struct advice_list list;
	size_t shown = 0;

	advice_find(&list, p->q, p->options->filter, p->a);
	if (list.rows.count)
		add_heading(p, "Advice");
	for (; shown < list.rows.count && shown < p->rows->advice; shown++) {
		char *text = list.rows.items[shown].text;

		text_to_line(text);
		if (p->options->is_markdown) {
			strbuf_adds(p->out, "- ");
			listing_markdown_code(text, p->out);
			strbuf_addch(p->out, '\n');
		} else {
			add_item(text, p->options->width, p->out);
		}
	}
	print_rest(p, list.rows.count - shown,
		   text_counted(list.rows.count - shown, "rule applies", "rules apply"),
		   "--format json; see prof-advice(7)");
	advice_list_release(&list);
}

static size_t count_lines(const struct strbuf *text)
{
	size_t lines = 0;

	for (size_t i = 0; i < text->size; i++)
		lines += text->text[i] == '\n';
	return lines;
}

/* Returns the number of functions for which the screen has lines, one at least. */
static size_t room_for_functions(const struct printer *p, const struct strbuf *end)
{
	/* A blank line, two of headings, and the number of other functions. */
	size_t used = count_lines(p->out) + count_lines(end) + 4;

	if (!p->options->leaves_noise_out || p->options->is_markdown)
		return SIZE_MAX;
	return used < LINES_MAX ? LINES_MAX - used : 1;
}

bool first_screen_has_rows(const struct query *q)
{
	return q->weight || (!q->event && (q->waits[QUERY_BLOCKED] || q->waits[QUERY_IDLE]));
}

static void print_sections(const struct printer *p)
{
	_cleanup_(strbuf_release) struct strbuf end = {0};
	struct printer at_end = *p;
	uint64_t blocked = p->q->weight ? blocked_weight(p) : p->a->blocked + p->a->idle;
	bool is_blocked = (double)blocked > BLOCKED_MIN * (double)p->q->weight;
	bool mostly_waits = is_blocked && blocked > p->q->weight;

	at_end.out = &end;
	print_times(p);
	print_path(p);
	print_advice(p);
	if (!p->q->event)
		print_held(p);
	if (mostly_waits)
		print_waits(p);
	if (is_blocked && !mostly_waits)
		print_waits(&at_end);
	if (!p->options->is_markdown)
		print_error(&at_end);
	if (p->q->weight) {
		print_hot_path(p);
		if (p->rows->has_functions)
			print_functions(p, room_for_functions(p, &end));
	}
	strbuf_adds(p->out, strbuf_text(&end));
}

void first_screen(const struct query *q, const struct first_screen_options *options,
		  struct strbuf *out)
{
	bool is_limited = options->leaves_noise_out && !options->is_markdown;
	const struct screen_rows *last =
		&screen_rows[sizeof(screen_rows) / sizeof(*screen_rows) - 1];
	size_t begin = out->size;
	struct digest a;
	struct printer p = {screen_rows, q, options, &a, out};

	digest_make(&a, q, options->filter, options->order,
		    options->listing.limit ? options->listing.limit : SIZE_MAX);
	for (;; p.rows++) {
		print_sections(&p);
		if (!is_limited || p.rows == last || count_lines(out) <= LINES_MAX)
			break;
		out->size = begin;
	}
	digest_release(&a);
}

static void add_json_text(const char *name, char *text, struct strbuf *out)
{
	listing_json_text(out, ", ", name, text && *text ? text : NULL);
	free(text);
}

static void add_json_place(const struct printer *p, uint32_t key, uint32_t line)
{
	const struct query_keys *keys = &p->a->keys;

	add_json_text("function", xstrdup(function_of(p->a, key)), p->out);
	add_json_text("module", xstrdup(query_keys_text(keys, keys->rows.items[key].module)),
		      p->out);
	add_json_text("place", query_listing_place(keys, key, line), p->out);
	strbuf_addch(p->out, '}');
}

static void add_advice_json(const struct printer *p, const struct query_filter *filter)
{
	struct advice_list list;

	advice_find(&list, p->q, filter, p->a);
	vec_for_each(&list.rows, const struct advice *, row) {
		strbuf_addf(p->out,
			    "%s{\"rule\": \"%s\", \"value\": %.10g, \"threshold\": %.10g, "
			    "\"weight\": %" PRIu64,
			    row == list.rows.items ? "\n" : ",\n", row->name, row->value,
			    row->threshold, row->weight);
		add_json_text("text", xstrdup(row->text), p->out);
		add_json_text("page", xstrdup(row->page), p->out);
		strbuf_addch(p->out, '}');
	}
	advice_list_release(&list);
}

void first_screen_json(const struct query *q, const struct query_filter *filter, struct strbuf *out)
{
	struct digest a;
	const struct printer p = {.q = q, .a = &a, .out = out};

	digest_make(&a, q, filter, QUERY_ORDER_SELF, 1);
	strbuf_adds(out, "\"advice\": [");
	add_advice_json(&p, filter);
	strbuf_adds(out, "],\n\"hot_path\": [");
	vec_for_each(&a.steps, const struct hot_step *, step) {
		strbuf_addf(out, "%s{\"total\": %" PRIu64 ", \"depth\": %u",
			    step == a.steps.items ? "\n" : ",\n", step->total, step->depth);
		add_json_place(&p, step->key, step->line);
	}
	strbuf_adds(out, "],\n\"waits\": [");
	for (size_t i = 0; i < a.waits.count && i < JSON_WAITS_MAX && !a.idle; i++) {
		const struct wait_place *place = &a.waits.items[i];

		strbuf_addf(out, "%s{\"weight\": %" PRIu64, i ? ",\n" : "\n", place->weight);
		add_json_text("kind", kind_of(q, place), out);
		add_json_text("woken_by", waker_of(&p, place), out);
		add_json_place(&p, place->key, place->line);
	}
	strbuf_adds(out, "]");
	digest_release(&a);
}

/* Returns the weight of a function with its callees, on the hot path and off it. */
static uint64_t whole_weight(const struct digest *a, uint32_t key)
{
	const struct query_row *row = vec_find(&a->table.rows, it, it->key == key);

	return row ? row->total : 0;
}

/*
 * Returns the user's function that ran most, with what it called of the system, of runtimes and of
 * packages, or else the function with the most samples; `weight` becomes the weight of the
 * samples in it.
 */
static const struct query_row *heaviest_function(const struct digest *a, const struct query *q,
						 uint64_t *weight)
{
	const struct query_row *heaviest = a->functions.items[0].row;
	_cleanup_free_ uint64_t *weights = xcalloc(a->keys.rows.count + 1, sizeof(*weights));
	uint64_t most = heaviest->self;

	*weight = heaviest->self;
	for (stack_id id = 0; id < q->profile->stacks.rows.count; id++) {
		if (a->callers[id] != NO_STACK)
			weights[a->keys.of_stacks[a->callers[id]]] += q->weights[id];
	}
	vec_for_each(&a->table.rows, const struct query_row *, row) {
		if (!weights[row->key] || weights[row->key] < most)
			continue;
		most = weights[row->key];
		heaviest = row;
		*weight = row->total;
	}
	return heaviest;
}

/*
 * Returns the end of the hot path if the line names it; NULL for code of the system beside that of
 * the user, and for an outermost function that only calls others: main().
 */
static const struct hot_step *named_end(const struct digest *a)
{
	const struct hot_step *end = a->is_foreign ? NULL : digest_hottest(a);

	return end == a->steps.items && !a->has_callers && a->steps.count > 1 ? NULL : end;
}

static void add_hottest(const struct digest *a, const struct query *q, struct strbuf *out)
{
	const struct hot_step *end = named_end(a);
	const struct hot_step *whole = end ? digest_whole(a) : NULL;
	const struct query_row *first;
	const struct query_key *key;
	_cleanup_free_ char *name = NULL, *place = NULL;
	const char *module;
	uint64_t weight;

	if ((!end && !a->functions.count) ||
	    (double)q->weight * (double)q->weight < SAMPLES_MIN * q->squares)
		return;
	first = end ? NULL : heaviest_function(a, q, &weight);
	weight = end ? whole_weight(a, end->key) : weight;
	key = &a->keys.rows.items[end ? end->key : first->key];
	if (key->function == NO_STRING)
		return;
	name = text_cut(query_keys_text(&a->keys, key->function), LINE_NAME_WIDTH, true);
	module = query_keys_text(&a->keys, key->module);
	/* Prefer the source file to a name in brackets: the kernel, or generated code. */
	if (!*module || *module == '[')
		place = query_listing_place(&a->keys, end ? end->key : first->key,
					    end ? end->line : first->line);
	if (!place && *module)
		place = xstrdup(module);
	strbuf_addf(out, "hottest: %s%s%s%s, %.1f %%", name, place ? " (" : "", place ? place : "",
		    place ? ")" : "", percent(weight, q->weight));
	if (whole) {
		_cleanup_free_ char *of = text_cut(function_of(a, whole->key), LINE_NAME_WIDTH,
						   true);

		strbuf_addf(out, ", and %.1f %% in %s",
			    percent(whole_weight(a, whole->key), q->weight), of);
	} else if (!end && first == a->functions.items[0].row &&
		   a->functions.items[0].caller != DIGEST_NO_KEY) {
		_cleanup_free_ char *caller = text_cut(function_of(a, a->functions.items[0].caller),
						       LINE_NAME_WIDTH, true);

		strbuf_addf(out, ", most for %s", caller);
	}
}

static void add_longest_wait(const struct digest *a, const struct query *q, struct strbuf *out)
{
	const struct wait_place *place = NULL;
	_cleanup_free_ char *kind = NULL, *name = NULL;
	const char *module;

	/* A child's own time is more informative. */
	vec_for_each(&a->waits, const struct wait_place *, row) {
		if (!place && !wait_place_is(q->profile, row, IDLE_CHILD))
			place = row;
	}
	if (!place || (double)place->weight <= BLOCKED_MIN * (double)q->weight)
		return;
	kind = kind_of(q, place);
	name = text_cut(function_of(a, place->key), LINE_NAME_WIDTH, true);
	module = query_keys_text(&a->keys, a->keys.rows.items[place->key].module);
	strbuf_addf(out, "%sblocked in %s", out->size ? "; " : "", name);
	if (text_starts_with(name, "fun_") && *module)
		strbuf_addf(out, " (%s)", module);
	strbuf_adds(out, ": ");
	wait_text_add_seconds(out, seconds(q, place->weight));
	strbuf_addf(out, " s (%s)", kind);
}

void first_screen_line(const struct profile *p, struct strbuf *out)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct digest a;
	struct query q;

	/* A filter without names is always valid. */
	if (query_select(&q, p, &filter, NULL))
		return;
	digest_make(&a, &q, &filter, QUERY_ORDER_SELF, 1);
	if (q.weight && !q.event)
		add_hottest(&a, &q, out);
	if (!q.event)
		add_longest_wait(&a, &q, out);
	if (out->size)
		text_to_line(out->text);
	digest_release(&a);
	query_release(&q);
}
