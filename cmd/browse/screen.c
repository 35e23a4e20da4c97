/* SPDX-License-Identifier: MIT */
#include "cmd/browse/screen.h"

#include <signal.h>

#include "cmd/browse/term.h"
#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "cmd/text/annotation.h"

static const char *const help_lines[] = {
	"Views",
	"  1 functions  2 tree  3 inverted tree  4 flame graph  5 threads over time",
	"  6 lines  7 assembly of a function  8 difference of two files, d other file",
	"Moving",
	"  arrows, hjkl, pages, Ctrl-F Ctrl-B Ctrl-D Ctrl-U, Home End, g G, mouse",
	"  / search by regular expression   n next   N previous   Esc back",
	"Rows",
	"  Enter  functions: lines; trees: open, close; flame: zoom; threads: choose",
	"  right, left  open, close, to the caller       a  assembly",
	"  s  order: self, total, name                   B  by module, file, process ...",
	"  z  half-height rows in the flame graph",
	"Selection (u undoes, R undoes all)",
	"  f  stacks with this function    i  those without    r  stacks begin at it",
	"  m  leave it out, callers get its weight             c  its callers",
	"  K  without the kernel           w  with waits       F  fold recursion",
	"  O  own code only                [ ]  begin, end of a range of time in threads",
	"  :  options of prof report: --process make --time 1..2",
	"More",
	"  space  live: freeze, continue; else page down   + -  live: length of the window",
	"  !  the prof report command for this   Ctrl-L  redraw   q  quit",
};

/* Draws the help on keys. */
static void screen_draw_help(struct screen *s, int line, int height)
{
	int count = (int)(sizeof(help_lines) / sizeof(*help_lines)), rows, columns;

	term_size(&rows, &columns);
	s->help_top = MIN(s->help_top, count - height);
	s->help_top = MAX(s->help_top, 0);
	for (int i = 0; i < height && s->help_top + i < count; i++) {
		const char *text = help_lines[s->help_top + i];

		term_text(line + i, 1, columns - 1, *text == ' ' ? TERM_PLAIN : TERM_BOLD, false,
			  text);
	}
}

/* Lines and instructions of a function. */

static const struct query_listing_options listing_options = {
	.unit = QUERY_UNIT_PERCENT, .for_people = true, .has_errors = true};

static void clear(struct screen *s)
{
	listing_release(&s->detail);
	s->detail = (struct listing){0};
	free(s->detail_title);
	s->detail_title = NULL;
}

/* Moves the cursor to the row with the largest self weight. */
static void go_to_heaviest(struct screen *s, size_t row)
{
	struct rows *r = &s->rows[s->view];

	rows_reset(r);
	r->cursor = row;
	r->top = row > 5 ? row - 5 : 0;
}

static bool open_lines(struct screen *s, const char *function)
{
	struct annotation a;

	annotation_make(&a, &s->model.query, function, s->source->writer);
	if (a.files.count) {
		const struct annotation_file *file = &a.files.items[0];

		clear(s);
		annotation_list_file(&s->detail, file, &s->model.query, &listing_options);
		s->detail_title = xasprintf(
			"%s: %s%s", function, file->path ? file->path : "no source file is known",
			file->path && !file->text ? " (its text is not available)"
			: file->is_changed	  ? " (changed since)"
						  : "");
	} else {
		screen_say(s, "no sample with the function %s", function);
	}
	annotation_release(&a);
	return s->detail_title;
}

static bool open_assembly(struct screen *s, const char *function)
{
	static const char *const none[] = {NULL};
	struct assembly a;
	struct error err = {0};
	const char *const *dirs = s->source->debug_dirs ? s->source->debug_dirs : none;

	clear(s);
	if (assembly_make(&a, s->model.profile, &s->model.query, function, dirs, &err)) {
		screen_say(s, "%s", err.text);
	} else if (!a.functions.count) {
		screen_say(s, "no instruction of %s was sampled", function);
	} else {
		assembly_list_function(&s->detail, &a.functions.items[0], &s->model.query,
				       &listing_options);
		s->detail_title = xasprintf("assembly of %s", function);
	}
	assembly_release(&a);
	return s->detail_title;
}

static size_t heaviest(const struct listing *l)
{
	double best = 0;
	size_t found = 0;

	for (size_t row = 0; l->column_count && row < l->depths.count; row++) {
		const char *cell = l->cells.items[row * l->column_count];
		double share = cell ? strtod(cell, NULL) : 0;

		if (share > best) {
			best = share;
			found = row;
		}
	}
	return found;
}

void screen_open(struct screen *s, const char *function, enum view view)
{
	bool is_open;

	if (!s->model.has_query)
		return;
	is_open = view == VIEW_LINES ? open_lines(s, function) : open_assembly(s, function);
	if (!is_open)
		return;
	s->detail_function = function;
	if (s->view < VIEW_LINES)
		s->before = s->view;
	s->view = view;
	if (s->source->period_ms)
		s->is_frozen = true;
	go_to_heaviest(s, heaviest(&s->detail));
}

/* Input typed by the user: searches, and options of prof report. */

/* Splits text into words at blanks, except within quotes. The model owns the words. */
static void split(struct screen *s, const char *text, char **words, size_t room, int *count)
{
	_cleanup_(strbuf_release) struct strbuf word = {0};
	bool is_word = false;
	char quote = 0;

	for (; *count + 1 < (int)room; text++) {
		if (*text &&
		    (quote ? *text != quote : *text != ' ' && *text != '\'' && *text != '"')) {
			strbuf_addch(&word, *text);
			is_word = true;
		} else if (*text == '\'' || *text == '"') {
			quote = quote ? 0 : *text;
			is_word = true;
		} else {
			if (is_word)
				words[(*count)++] = (char *)model_keep(&s->model,
								       strbuf_text(&word));
			word.size = 0;
			is_word = false;
			if (!*text)
				break;
		}
	}
	words[*count] = NULL;
}

static void fill_options(struct option_table *t, void *ctx)
{
	option_table_add(t, query_options, ctx);
}

/* Applies options of prof report. */
static void take_options(struct screen *s, const char *text)
{
	static char name[] = "filter";
	struct query_filter filter = *model_filter(&s->model);
	char *words[64] = {name};
	struct error err = {0};
	int count = 1;

	/* Restart getopt(). */
	optind = 0;
	split(s, text, words, sizeof(words) / sizeof(*words), &count);
	if (command_parse(count, words, fill_options, &filter, &err) || optind < count) {
		screen_say(s, "%s", err.code ? err.text : "only options are understood here");
		return;
	}
	model_push(&s->model, &filter);
	screen_update(s);
}

static bool is_found(void *ctx, const char *name)
{
	const struct rows *r = ctx;

	return r->has_regex && regexec(&r->regex, name, 0, NULL, 0) == 0;
}

void screen_find(struct screen *s, int direction)
{
	struct rows *r = &s->rows[s->view];
	struct rows_source rows;
	bool found;

	screen_rows(s, &rows);
	if (!r->has_regex) {
		screen_say(s, "no search pattern: press / to enter one");
		return;
	}
	found = s->view == VIEW_FLAME ? flame_find(&s->flame, &s->model, is_found, r, direction)
				      : rows.count && rows_find(r, &rows, direction);
	if (!found)
		screen_say(s, "not found");
}

static void search(struct screen *s, const char *text)
{
	struct error err = {0};

	for (int i = 0; i < VIEW_COUNT; i++) {
		if (rows_search(&s->rows[i], text, &err)) {
			screen_say(s, "%s", err.text);
			return;
		}
	}
	if (*text)
		screen_find(s, 1);
}

static void end_prompt(struct screen *s)
{
	_cleanup_free_ char *text = xstrdup(strbuf_text(&s->typed));
	char prompt = s->prompt;

	s->prompt = 0;
	if (prompt == '/')
		search(s, text);
	else
		take_options(s, text);
}

void screen_type(struct screen *s, int key)
{
	struct strbuf *typed = &s->typed;

	if (key == TERM_KEY_ENTER) {
		end_prompt(s);
	} else if (key == TERM_KEY_ESCAPE || (key == TERM_KEY_DELETE && !typed->size)) {
		s->prompt = 0;
	} else if (key == TERM_KEY_DELETE) {
		while (typed->size && ((uint8_t)typed->text[typed->size - 1] & 0xc0) == 0x80)
			typed->size--;
		typed->size -= typed->size > 0;
	} else if (key == ('U' & 037)) {
		typed->size = 0;
	} else if (key >= ' ' && key < TERM_KEY_UP) {
		strbuf_add_utf8(typed, (uint32_t)key);
	}
	if (typed->text)
		typed->text[typed->size] = '\0';
}

void screen_ask(struct screen *s, char prompt)
{
	s->prompt = prompt;
	s->typed.size = 0;
	strbuf_adds(&s->typed, "");
	if (s->typed.text)
		s->typed.text[0] = '\0';
}

#define NS_PER_MS 1000000ull
/* Smaller screens have no room for rows. */
#define LINES_MIN 5
#define COLUMNS_MIN 20

static const char *const titles[VIEW_COUNT] = {
	"1 functions", "2 tree",  "3 inverted", "4 flame",
	"5 threads",   "6 lines", "7 assembly", "8 difference",
};

void screen_init(struct screen *s)
{
	*s = (struct screen){.flame.zoom = QUERY_NO_NODE};
	model_init(&s->model);
}

void screen_release(struct screen *s)
{
	model_release(&s->model);
	vec_release(&s->flame.boxes);
	for (int i = 0; i < VIEW_COUNT; i++)
		rows_release(&s->rows[i]);
	listing_release(&s->detail);
	listing_release(&s->difference);
	strbuf_release(&s->difference_line);
	vec_release(&s->threads);
	thread_titles_release(&s->titles);
	free(s->detail_title);
	strbuf_release(&s->typed);
	strbuf_release(&s->message);
}

void screen_say(struct screen *s, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		alloc_failed();
	va_end(args);
	text_to_line(text);
	s->message.size = 0;
	strbuf_adds(&s->message, text);
}

static double share_of(void *ctx, size_t row)
{
	const struct model *m = ctx;

	return m->query.weight ? (double)model_total(m, row) / (double)m->query.weight : 0;
}

static double self_share_of(void *ctx, size_t row)
{
	const struct model *m = ctx;

	return m->query.weight ? (double)model_self(m, row) / (double)m->query.weight : 0;
}

static uint64_t id_of(void *ctx, size_t row)
{
	return model_id(ctx, row);
}

static const char *name_of(void *ctx, size_t row)
{
	return model_name(ctx, row);
}

static const char *mark_of(void *ctx, size_t row)
{
	if (!model_has_children(ctx, row))
		return "  ";
	return model_is_open(ctx, row) ? "- " : "+ ";
}

static void list_rows(void *ctx, struct listing *l, size_t first, size_t count)
{
	model_list(ctx, l, first, count);
}

/* Returns cells of part of a complete listing. */
static void list_detail(void *ctx, struct listing *l, size_t first, size_t count)
{
	const struct listing *all = ctx;

	for (size_t i = 0; i < all->column_count; i++)
		l->columns[i] = all->columns[i];
	l->column_count = all->column_count;
	for (size_t row = first; row < first + count; row++) {
		listing_add_row(l, all->depths.items[row]);
		for (size_t i = 0; i < all->column_count; i++) {
			const char *cell = all->cells.items[row * all->column_count + i];

			listing_add_cell(l, cell ? xstrdup(cell) : NULL);
		}
	}
}

static const char *detail_name(void *ctx, size_t row)
{
	const struct listing *all = ctx;

	size_t name = all->column_count - (all->columns[0].keeps_end ? 2 : 1);

	return all->cells.items[row * all->column_count + name];
}

void screen_rows(struct screen *s, struct rows_source *rows)
{
	if (s->view >= VIEW_LINES) {
		struct listing *l = s->view == VIEW_DIFFERENCE ? &s->difference : &s->detail;

		*rows = (struct rows_source){
			.ctx = l,
			.count = l->column_count ? l->depths.count : 0,
			.name = detail_name,
			.list = list_detail,
		};
		return;
	}
	*rows = (struct rows_source){
		.ctx = &s->model,
		.count = model_count(&s->model),
		.id = id_of,
		.name = name_of,
		.list = list_rows,
		.share = s->model.form == MODEL_TABLE ? self_share_of : share_of,
		.mark = s->model.form == MODEL_TABLE ? NULL : mark_of,
	};
}

static void update_difference(struct screen *s)
{
	struct error err = {0};

	listing_release(&s->difference);
	s->difference = (struct listing){0};
	s->difference_line.size = 0;
	if (s->source->compare(s->source->ctx, s, &s->difference, &s->difference_line, &err))
		screen_say(s, "%s", err.text);
}

static void update_flame(struct screen *s)
{
	int rows, columns;

	term_size(&rows, &columns);
	flame_make(&s->flame, &s->model, columns);
}

void screen_update(struct screen *s)
{
	struct model *m = &s->model;
	struct rows_source rows;
	struct error err = {0};

	if (s->view == VIEW_TREE || s->view == VIEW_FLAME)
		m->form = MODEL_TREE;
	else if (s->view == VIEW_INVERTED)
		m->form = m->function ? MODEL_CALLERS : MODEL_INVERTED;
	else
		m->form = MODEL_TABLE;
	if (!m->profile)
		return;
	if (model_update(m, &err)) {
		screen_say(s, "%s", err.text);
		/* Undo the invalid filter. */
		if (!model_undo(m) || model_update(m, &err))
			return;
	}
	if (s->view == VIEW_FLAME)
		update_flame(s);
	if (s->view == VIEW_THREADS)
		screen_list_threads(s);
	if (s->view == VIEW_DIFFERENCE)
		update_difference(s);
	screen_rows(s, &rows);
	rows_follow(&s->rows[s->view], &rows);
}

bool screen_has(const struct screen *s, enum view view)
{
	if (view == VIEW_DIFFERENCE)
		return s->source->compare;
	return view < VIEW_LINES || s->detail_function;
}

void screen_show(struct screen *s, enum view view)
{
	if (view != s->view)
		s->before = s->view;
	s->view = view;
	if (view == VIEW_TREE || view == VIEW_FLAME)
		s->model.function = NULL;
	screen_update(s);
}

static void draw_title(const struct screen *s, int columns)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	const struct model *m = &s->model;

	strbuf_addf(&text, " prof %s  ", s->source->command);
	if (m->has_query)
		s->source->describe(s->source->ctx, &m->query, &text);
	if (s->is_frozen)
		strbuf_adds(&text, "  [frozen]");
	if (s->is_over)
		strbuf_adds(&text, "  [ended]");
	term_text(0, 0, columns, TERM_TITLE, true, strbuf_text(&text));
}

/* Draws the names of the views, and the selection. */
static void draw_views(struct screen *s, int columns)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct query_filter filter = *model_filter(&s->model);
	int at = 1;

	for (int i = 0; i < VIEW_COUNT; i++) {
		bool is_shown = i == (int)s->view;

		/* A detail's title takes their place. */
		if (!is_shown && (s->view >= VIEW_LINES || !screen_has(s, (enum view)i)))
			continue;
		at += term_text(1, at, columns - at, is_shown ? TERM_BOLD : TERM_DIM, false,
				titles[i]);
		at += term_text(1, at, columns - at, TERM_PLAIN, false, "  ");
	}
	if (s->view == VIEW_FUNCTIONS)
		strbuf_addf(&text, "by %s", query_by_names[s->model.by]);
	if (s->model.function && s->view == VIEW_INVERTED)
		strbuf_addf(&text, "callers of %s", s->model.function);
	if (s->view == VIEW_DIFFERENCE)
		strbuf_adds(&text, strbuf_text(&s->difference_line));
	if (s->detail_title && (s->view == VIEW_LINES || s->view == VIEW_ASSEMBLY))
		strbuf_adds(&text, s->detail_title);
	/* A live view shows its time elsewhere. */
	if (s->source->period_ms) {
		filter.from = 0;
		filter.until = UINT64_MAX;
	}
	model_describe(&filter, &text);
	if (text.size && at < columns) {
		_cleanup_free_ char *copy = xstrdup(strbuf_text(&text));

		text_to_line(copy);
		term_text(1, at, columns - at, TERM_WARM, false, copy);
	}
}

static void draw_footer(struct screen *s, int line, int columns)
{
	static const char *const keys[VIEW_COUNT] = {
		[VIEW_FUNCTIONS] = "Enter lines  s sort  B by  ",
		[VIEW_TREE] = "Enter open  ",
		[VIEW_INVERTED] = "Enter open  ",
		[VIEW_FLAME] = "Enter zoom  Esc out  ",
		[VIEW_THREADS] = "Enter choose  [ ] range  ",
		[VIEW_LINES] = "a assembly  ",
		[VIEW_ASSEMBLY] = "6 lines  ",
		[VIEW_DIFFERENCE] = "1-5 views of one side  d the other side  ",
	};
	_cleanup_(strbuf_release) struct strbuf text = {0};

	term_cursor(-1, 0);
	if (s->prompt) {
		strbuf_addf(&text, "%c%s", s->prompt, strbuf_text(&s->typed));
		term_cursor(line,
			    term_text(line, 0, columns - 1, TERM_PLAIN, false, strbuf_text(&text)));
		return;
	}
	if (s->message.size) {
		term_text(line, 0, columns, TERM_BOLD, false, strbuf_text(&s->message));
		return;
	}
	strbuf_adds(&text, " q quit  ? help  / find  Tab view  ");
	if (s->source->period_ms)
		strbuf_addf(&text, "space %s  ", s->is_frozen ? "go on" : "freeze");
	strbuf_adds(&text, keys[s->view]);
	strbuf_adds(&text, ": filter  u undo");
	term_text(line, 0, columns, TERM_DIM, false, strbuf_text(&text));
}

/* Describes the box under the cursor below the flame graph. */
static void draw_box(struct screen *s, int line, int columns)
{
	const struct model *m = &s->model;
	uint32_t node = flame_node(&s->flame);
	const struct query_listing_options how = {
		.unit = QUERY_UNIT_PERCENT, .for_people = true, .has_errors = true};
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct listing l = {0};

	if (node == QUERY_NO_NODE)
		return;
	query_listing_nodes(&l, &m->query, &m->tree, &node, 1, &how);
	strbuf_adds(&text, " ");
	/* Names come first, as they matter most. */
	for (size_t i = 2; i < l.column_count; i++)
		strbuf_addf(&text, "%s  ", l.cells.items[i] ? l.cells.items[i] : "");
	strbuf_addf(&text, "total %s  self %s", l.cells.items[1], l.cells.items[0]);
	text_to_line(text.text);
	term_text(line, 0, columns, TERM_BOLD, false, strbuf_text(&text));
	listing_release(&l);
}

static void draw_view(struct screen *s, int line, int height, int columns)
{
	struct rows_source rows;

	if (!s->model.has_query || !s->model.query.weight) {
		term_text(line + 1, 2, columns - 2, TERM_DIM, false,
			  s->model.has_query ? "no samples match: u goes back, w shows waits"
					     : "waiting for samples");
		return;
	}
	switch (s->view) {
	case VIEW_FLAME:
		flame_draw(&s->flame, &s->model, line, height - 1);
		draw_box(s, line + height - 1, columns);
		break;
	case VIEW_THREADS:
		screen_draw_threads(s, line, height);
		break;
	default:
		screen_rows(s, &rows);
		rows_draw(&s->rows[s->view], &rows, line, height);
	}
}

static void draw(struct screen *s)
{
	int lines, columns;

	term_size(&lines, &columns);
	term_begin();
	if (lines < LINES_MIN || columns < COLUMNS_MIN) {
		term_text(0, 0, columns, TERM_PLAIN, false, "too small");
		term_end();
		return;
	}
	draw_title(s, columns);
	draw_views(s, columns);
	if (s->has_help)
		screen_draw_help(s, 2, lines - 3);
	else
		draw_view(s, 2, lines - 3, columns);
	draw_footer(s, lines - 1, columns);
	term_end();
}

/*
 * Updates the data if it is due. Returns the milliseconds until the next update, -1 if there is
 * none.
 */
static int renew(struct screen *s, uint64_t *next_ns)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t period_ns = (uint64_t)s->source->period_ms * NS_PER_MS;

	if (!period_ns || s->is_over)
		return -1;
	if (now >= *next_ns) {
		s->is_over = !s->source->renew(s->source->ctx, s, s->is_frozen);
		if (!s->is_frozen)
			screen_update(s);
		draw(s);
		*next_ns = now + period_ns;
		now = clock_monotonic_ns();
	}
	return *next_ns > now ? (int)((*next_ns - now) / NS_PER_MS) + 1 : 1;
}

int screen_run(struct screen *s, const struct screen_source *source)
{
	uint64_t next_ns = 0;
	int number = 0;

	s->source = source;
	screen_update(s);
	draw(s);
	while (!s->is_done && !term_is_ended(&number)) {
		int key = term_key(renew(s, &next_ns));

		if (key == TERM_KEY_NONE)
			continue;
		screen_key(s, key);
		draw(s);
	}
	return number && number != SIGINT ? EXIT_SIGNAL_BASE + number : 0;
}
