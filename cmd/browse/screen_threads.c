/* SPDX-License-Identifier: MIT */
/* Threads over time: one line each, and a selectable range of time. */
#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"
#include "lib/query/timeline.h"

/* Width of the columns before the time: name and share. */
#define NAME_PART 4
#define NAME_MIN 14
#define SHARE_COLUMNS 8

static int compare(const void *a, const void *b, void *ctx)
{
	const struct query *q = ctx;
	thread_id x = *(const thread_id *)a, y = *(const thread_id *)b;

	if (q->thread_weights[x] != q->thread_weights[y])
		return q->thread_weights[x] > q->thread_weights[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

void screen_list_threads(struct screen *s)
{
	const struct query *q = &s->model.query;

	thread_titles_release(&s->titles);
	thread_titles_find(&s->titles, q->profile);
	vec_clear(&s->threads);
	for (thread_id id = 0; id < q->profile->threads.rows.count; id++) {
		if (q->thread_weights[id])
			vec_push(&s->threads, id);
	}
	if (s->threads.count)
		qsort_r(s->threads.items, s->threads.count, sizeof(*s->threads.items), compare,
			(void *)q);
}

/* Finds the displayed time: the selected range, clipped to the recording. */
static void find_span(const struct screen *s, uint64_t *from, uint64_t *until)
{
	const struct query *q = &s->model.query;
	const struct query_filter *filter = &vec_last(&s->model.filters);
	uint64_t start = q->profile->meta.start_ns, end = q->profile->meta.end_ns, last = 0;

	vec_for_each(&q->profile->threads.rows, const struct profile_thread *, row) {
		if (samples_last_time(&row->samples) > last)
			last = samples_last_time(&row->samples);
	}
	end = end > last ? end : last;
	*from = filter->from;
	*until = end > start ? end - start : 1;
	*until = MIN(*until, filter->until);
	if (*until <= *from)
		*until = *from + 1;
}

static int name_width(int columns)
{
	return columns / NAME_PART < NAME_MIN ? NAME_MIN : columns / NAME_PART;
}

static int bins_of(int columns)
{
	int bins = columns - name_width(columns) - SHARE_COLUMNS - 2;

	return bins > 1 ? bins : 1;
}

/* Returns a character for a fraction of a bin's time. */
static const char *level_of(double part)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const letters[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	int level = (int)(part * 8 + 0.999);

	level = level < 0 ? 0 : level > 8 ? 8 : level;
	return term_is_unicode() ? blocks[level] : letters[level];
}

static bool is_in_range(const struct screen *s, const struct query_timeline *t, uint32_t bin)
{
	uint64_t at = t->from + (t->until - t->from) * bin / t->bins;

	return s->range_until && at >= s->range_from && at < s->range_until;
}

static void draw_time(struct screen *s, thread_id id, int line, int column, int bins, uint64_t from,
		      uint64_t until, bool is_cursor)
{
	struct query_timeline t = {.from = from, .until = until, .bins = (uint32_t)bins};
	double bin_ns = (double)(until - from) / bins;

	query_timeline_make(&t, &s->model.query, id);
	for (uint32_t bin = 0; bin < t.bins; bin++) {
		double runs = 0, waits = 0;
		enum term_style style = TERM_PLAIN;

		for (uint32_t kind = 0; kind < t.kinds; kind++) {
			double time = (double)t.times[(size_t)bin * t.kinds + kind];

			if (kind < QUERY_WAIT_COUNT)
				waits += time;
			else
				runs += time;
		}
		if (is_in_range(s, &t, bin))
			style = TERM_SELECTED;
		else if (is_cursor && (int)bin == s->column)
			style = TERM_TITLE;
		else if (runs < waits)
			style = TERM_DIM;
		term_text(line, column + (int)bin, 1, style, true,
			  runs <= 0 && waits > 0 ? (term_is_unicode() ? "·" : "'")
						 : level_of(runs / bin_ns));
	}
	query_timeline_release(&t);
}

/* Returns the titles of a thread and its process, with the pid for main threads. */
static char *full_name(const struct screen *s, thread_id id)
{
	const struct profile_thread *thread = &s->model.query.profile->threads.rows.items[id];
	char *titles = thread_title_whole(&s->titles, id), *full;

	if (!thread->is_main || thread->is_folded)
		return titles;
	full = xasprintf("%s %" PRIu32, titles, thread->pid);
	free(titles);
	return full;
}

/* Omits the process or pid if it does not fit: the end of the thread's title distinguishes it. */
static char *name_of(const struct screen *s, thread_id id, size_t width)
{
	_cleanup_free_ char *full = full_name(s, id);
	_cleanup_free_ char *title = xstrdup(thread_title(&s->titles, id));

	text_to_line(full);
	text_to_line(title);
	return text_cut(text_width(full) <= width ? full : title, width, true);
}

static void draw_head(struct screen *s, int line, int columns, uint64_t from, uint64_t until)
{
	int at = name_width(columns) + SHARE_COLUMNS + 2, bins = bins_of(columns);
	_cleanup_free_ char *left = xasprintf("%.3f s", (double)from / 1e9);
	_cleanup_free_ char *right = xasprintf("%.3f s", (double)until / 1e9);
	_cleanup_free_ char *here = xasprintf(
		"at %.3f s",
		(double)(from + (until - from) * (uint64_t)s->column / (uint64_t)bins) / 1e9);

	term_text(line, 0, columns, TERM_TITLE, true, " THREAD");
	term_text(line, name_width(columns) + 2, SHARE_COLUMNS, TERM_TITLE, false, "SHARE");
	term_text(line, at, bins, TERM_TITLE, false, left);
	if (bins > 40)
		term_text(line, at + bins / 2 - 4, bins / 2, TERM_TITLE, false, here);
	term_text(line, columns - (int)strlen(right), (int)strlen(right), TERM_TITLE, false, right);
}

/* Makes rows of `threads` for the movement keys. */
static void make_rows(struct screen *s, struct rows_source *rows)
{
	*rows = (struct rows_source){.ctx = s, .count = s->threads.count};
}

void screen_draw_threads(struct screen *s, int line, int height)
{
	struct rows *r = &s->rows[VIEW_THREADS];
	const struct query *q = &s->model.query;
	struct rows_source rows;
	uint64_t from, until;
	int lines, columns, bins;

	term_size(&lines, &columns);
	bins = bins_of(columns);
	s->column = s->column < bins ? s->column : bins - 1;
	make_rows(s, &rows);
	r->height = height;
	rows_follow(r, &rows);
	find_span(s, &from, &until);
	draw_head(s, line, columns, from, until);
	for (int i = 1; i < height && r->top + (size_t)i - 1 < s->threads.count; i++) {
		size_t row = r->top + (size_t)i - 1;
		thread_id id = s->threads.items[row];
		bool is_cursor = row == r->cursor;
		enum term_style style = is_cursor ? TERM_SELECTED : TERM_PLAIN;
		_cleanup_free_ char *name = name_of(s, id, (size_t)name_width(columns));
		_cleanup_free_ char *share = xasprintf(
			"%5.1f %%", 100 * (double)q->thread_weights[id] / (double)q->weight);

		term_text(line + i, 0, name_width(columns) + SHARE_COLUMNS + 2, style, true, "");
		term_text(line + i, 1, name_width(columns), style, false, name);
		term_text(line + i, name_width(columns) + 2, SHARE_COLUMNS, style, false, share);
		draw_time(s, id, line + i, name_width(columns) + SHARE_COLUMNS + 2, bins, from,
			  until, is_cursor);
	}
}

/* Returns the time at the left edge of the cursor's column, or its right edge. */
static uint64_t time_at(const struct screen *s, int column)
{
	int lines, columns;
	uint64_t from, until;

	term_size(&lines, &columns);
	find_span(s, &from, &until);
	return from + (until - from) * (uint64_t)column / (uint64_t)bins_of(columns);
}

static void choose_range(struct screen *s, int first, int last)
{
	uint64_t from = time_at(s, first < last ? first : last);
	uint64_t until = time_at(s, (first < last ? last : first) + 1);

	s->range_from = from;
	s->range_until = until;
}

/* Selects the range or, without one, the thread under the cursor. */
static void choose(struct screen *s)
{
	struct query_filter filter = *model_filter(&s->model);
	const struct rows *r = &s->rows[VIEW_THREADS];
	const struct profile_thread *row;
	_cleanup_free_ char *pid = NULL, *tid = NULL;

	if (s->range_until > s->range_from) {
		filter.from = s->range_from;
		filter.until = s->range_until;
	} else if (r->cursor < s->threads.count) {
		row = &s->model.profile->threads.rows.items[s->threads.items[r->cursor]];
		pid = row->incarnation
			      ? xasprintf("%" PRIu32 ".%" PRIu32, row->pid, row->incarnation)
			      : xasprintf("%" PRIu32, row->pid);
		tid = xasprintf("%" PRIu32, row->tid);
		filter.process = model_keep(&s->model, pid);
		filter.thread = model_keep(&s->model, tid);
	}
	s->range_from = s->range_until = 0;
	model_push(&s->model, &filter);
	screen_update(s);
}

static void mouse(struct screen *s, int key)
{
	struct rows *r = &s->rows[VIEW_THREADS];
	int row, column, lines, columns, first;
	struct rows_source rows;

	term_mouse(&row, &column);
	term_size(&lines, &columns);
	first = name_width(columns) + SHARE_COLUMNS + 2;
	make_rows(s, &rows);
	if (row > 2 && r->top + (size_t)row - 3 < rows.count && key != TERM_KEY_RELEASE)
		rows_go(r, &rows, r->top + (size_t)row - 3);
	if (column < first)
		return;
	if (key == TERM_KEY_RELEASE && column - first != s->column)
		choose_range(s, s->column, column - first);
	s->column = column - first;
}

bool screen_threads_key(struct screen *s, int key)
{
	struct rows_source rows;

	switch (key) {
	case TERM_KEY_LEFT:
	case 'h':
		s->column -= s->column > 0;
		return true;
	case TERM_KEY_RIGHT:
	case 'l':
		s->column++;
		return true;
	case '[':
		s->range_from = time_at(s, s->column);
		if (s->range_until <= s->range_from)
			s->range_until = time_at(s, s->column + 1);
		return true;
	case ']':
		s->range_until = time_at(s, s->column + 1);
		return true;
	case TERM_KEY_ENTER:
	case TERM_KEY_DOUBLE_CLICK:
		if (s->threads.count)
			choose(s);
		return true;
	case TERM_KEY_PRESS:
	case TERM_KEY_CLICK:
	case TERM_KEY_RELEASE:
		mouse(s, key);
		return true;
	default:
		make_rows(s, &rows);
		return rows_key(&s->rows[VIEW_THREADS], &rows, key);
	}
}
