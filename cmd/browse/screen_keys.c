/* SPDX-License-Identifier: MIT */
#include "cmd/browse/screen.h"
#include "cmd/browse/term.h"
#include "lib/query/pattern.h"

static struct rows *rows_of(struct screen *s)
{
	return &s->rows[s->view];
}

/* Returns the function under the cursor, stored in the model; NULL if there is none. */
static const char *function_here(struct screen *s)
{
	struct model *m = &s->model;
	const char *name = NULL;
	uint32_t node;

	if (!m->has_query)
		return NULL;
	if (s->view == VIEW_FLAME) {
		node = flame_node(&s->flame);
		if (node != QUERY_NO_NODE)
			name = query_keys_text(
				m->tree.keys,
				m->tree.keys->rows.items[m->tree.nodes.items[node].key].function);
	} else if (s->view <= VIEW_INVERTED && rows_of(s)->cursor < model_count(m)) {
		name = model_function(m, rows_of(s)->cursor);
	} else if (s->view >= VIEW_LINES) {
		name = s->detail_function;
	}
	return name && *name ? model_keep(m, name) : NULL;
}

/* Returns an expression that matches only this function. */
static const char *expression_of(struct model *m, const char *function)
{
	_cleanup_free_ char *expression = pattern_of_name(function);

	return model_keep(m, expression);
}

/* Applies a filter by the function under the cursor. */
static void filter_by_function(struct screen *s, int key)
{
	struct query_filter filter = *model_filter(&s->model);
	const char *function = function_here(s);

	if (!function) {
		screen_say(s, "no function is selected");
		return;
	}
	if (key == 'f')
		filter.focus = expression_of(&s->model, function);
	else if (key == 'i')
		filter.ignore = expression_of(&s->model, function);
	else if (key == 'm')
		filter.hide = expression_of(&s->model, function);
	else
		filter.root = function;
	model_push(&s->model, &filter);
	screen_update(s);
}

static void switch_filter(struct screen *s, int key)
{
	struct query_filter filter = *model_filter(&s->model);

	if (key == 'w')
		filter.include_idle = !filter.include_idle;
	else if (key == 'K')
		filter.no_kernel = !filter.no_kernel;
	else if (key == 'O')
		filter.own = !filter.own;
	else
		filter.fold_recursion = !filter.fold_recursion;
	model_push(&s->model, &filter);
	screen_update(s);
}

static void undo(struct screen *s, bool all)
{
	bool has_undone = false;

	while (model_undo(&s->model)) {
		has_undone = true;
		if (!all)
			break;
	}
	if (!has_undone)
		screen_say(s, "nothing to undo");
	screen_update(s);
}

static void say_command(struct screen *s)
{
	static const char *const forms[VIEW_COUNT] = {
		[VIEW_TREE] = " --tree", [VIEW_FLAME] = " --tree", [VIEW_INVERTED] = " --inverted"};
	_cleanup_(strbuf_release) struct strbuf text = {0};

	if (forms[s->view])
		strbuf_adds(&text, forms[s->view]);
	if (s->view == VIEW_FUNCTIONS && s->model.by)
		strbuf_addf(&text, " --by %s", query_by_names[s->model.by]);
	if (s->detail_function && s->view >= VIEW_LINES)
		strbuf_addf(&text, " --annotate '%s'%s", s->detail_function,
			    s->view == VIEW_ASSEMBLY ? " --asm" : "");
	model_describe(model_filter(&s->model), &text);
	screen_say(s, "prof report%s%s%s", strbuf_text(&text), s->source->path ? " " : "",
		   s->source->path ? s->source->path : "");
}

static void open_row(struct screen *s, int key)
{
	struct rows *r = rows_of(s);
	size_t row = r->cursor;
	struct rows_source rows;
	bool is_open;

	if (row >= model_count(&s->model))
		return;
	is_open = model_is_open(&s->model, row);
	screen_rows(s, &rows);
	if (key == TERM_KEY_LEFT || key == 'h') {
		if (is_open)
			model_toggle(&s->model, row);
		else
			rows_go(r, &rows, model_parent(&s->model, row));
	} else if (key == TERM_KEY_ENTER || key == TERM_KEY_DOUBLE_CLICK || !is_open) {
		model_toggle(&s->model, row);
	}
}

static void choose_order(struct screen *s)
{
	static const char *const names[] = {"self", "total", "name"};

	s->model.order = (enum query_order)((s->model.order + 1) % 3);
	rows_reset(rows_of(s));
	screen_say(s, "by %s", names[s->model.order]);
	screen_update(s);
}

static void choose_by(struct screen *s)
{
	s->model.by = (enum query_by)((s->model.by + 1) % QUERY_BY_COUNT);
	rows_reset(rows_of(s));
	screen_update(s);
}

static void show_callers(struct screen *s)
{
	const char *function = function_here(s);

	if (!function) {
		screen_say(s, "no function is selected");
		return;
	}
	s->model.function = function;
	rows_reset(&s->rows[VIEW_INVERTED]);
	screen_show(s, VIEW_INVERTED);
}

static void open_function(struct screen *s, enum view view)
{
	const char *function = function_here(s);

	if (function)
		screen_open(s, function, view);
	else
		screen_say(s, "no function is selected");
}

static void go_back(struct screen *s)
{
	if (s->model.function && s->view == VIEW_INVERTED) {
		s->model.function = NULL;
		screen_show(s, s->before);
	} else if (s->view >= VIEW_LINES) {
		screen_show(s, s->before < VIEW_LINES ? s->before : VIEW_FUNCTIONS);
	} else if (s->model.filters.count > 1) {
		undo(s, false);
	}
}

static void show_next(struct screen *s, int direction)
{
	enum view view = s->view;

	do {
		view = (enum view)(((int)view + direction + VIEW_COUNT) % VIEW_COUNT);
	} while (!screen_has(s, view));
	if (view == VIEW_LINES || view == VIEW_ASSEMBLY)
		screen_open(s, s->detail_function, view);
	else
		screen_show(s, view);
}

static void show_number(struct screen *s, enum view view)
{
	if (view == VIEW_LINES || view == VIEW_ASSEMBLY)
		open_function(s, view);
	else if (screen_has(s, view))
		screen_show(s, view);
}

/* Handles keys of the current view. */
static bool view_key(struct screen *s, int key)
{
	struct rows_source rows;

	if (s->view == VIEW_FLAME && flame_key(&s->flame, &s->model, key))
		return true;
	if (s->view == VIEW_THREADS && screen_threads_key(s, key))
		return true;
	if ((s->view == VIEW_TREE || s->view == VIEW_INVERTED) &&
	    (key == TERM_KEY_LEFT || key == TERM_KEY_RIGHT || key == 'h' || key == 'l' ||
	     key == TERM_KEY_ENTER || key == TERM_KEY_DOUBLE_CLICK)) {
		open_row(s, key);
		return true;
	}
	screen_rows(s, &rows);
	return s->view != VIEW_FLAME && rows_key(rows_of(s), &rows, key);
}

static void help_key(struct screen *s, int key)
{
	if (key == TERM_KEY_DOWN || key == 'j' || key == ' ')
		s->help_top++;
	else if (key == TERM_KEY_UP || key == 'k')
		s->help_top--;
	else
		s->has_help = false;
}

static void space_key(struct screen *s)
{
	struct rows_source rows;

	if (s->source->period_ms) {
		s->is_frozen = !s->is_frozen;
		return;
	}
	screen_rows(s, &rows);
	rows_key(rows_of(s), &rows, TERM_KEY_PAGE_DOWN);
}

static void stretch(struct screen *s, int seconds)
{
	if (s->source->stretch)
		s->source->stretch(s->source->ctx, seconds);
	screen_update(s);
}

/* Handles keys that change the selection. False for other keys. */
static bool select_key(struct screen *s, int key)
{
	switch (key) {
	case 'f':
	case 'i':
	case 'm':
	case 'r':
		filter_by_function(s, key);
		return true;
	case 'w':
	case 'K':
	case 'F':
	case 'O':
		switch_filter(s, key);
		return true;
	case 'u':
		undo(s, false);
		return true;
	case 'R':
		undo(s, true);
		return true;
	case 's':
		choose_order(s);
		return true;
	case 'B':
		choose_by(s);
		return true;
	case 'c':
		show_callers(s);
		return true;
	case 'd':
		if (s->source->change_side)
			s->source->change_side(s->source->ctx, s);
		return true;
	default:
		return false;
	}
}

static void act(struct screen *s, int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		s->is_done = true;
		break;
	case '?':
	case TERM_KEY_HELP:
		s->has_help = true;
		break;
	case TERM_KEY_TAB:
		show_next(s, 1);
		break;
	case TERM_KEY_BACK_TAB:
		show_next(s, -1);
		break;
	case '/':
	case ':':
		screen_ask(s, (char)key);
		break;
	case 'n':
		screen_find(s, 1);
		break;
	case 'N':
		screen_find(s, -1);
		break;
	case ' ':
		space_key(s);
		break;
	case 'a':
		open_function(s, VIEW_ASSEMBLY);
		break;
	case TERM_KEY_ENTER:
		open_function(s, VIEW_LINES);
		break;
	case TERM_KEY_ESCAPE:
		go_back(s);
		break;
	case '+':
	case '=':
		stretch(s, 1);
		break;
	case '-':
		stretch(s, -1);
		break;
	case '!':
		say_command(s);
		break;
	default:
		break;
	}
}

void screen_key(struct screen *s, int key)
{
	if (s->prompt && key != TERM_KEY_RESIZE) {
		screen_type(s, key);
		return;
	}
	s->message.size = 0;
	if (key == TERM_KEY_RESIZE)
		screen_update(s);
	else if (key == ('L' & 037))
		term_redraw();
	else if (s->has_help)
		help_key(s, key);
	else if (key >= '1' && key < '1' + VIEW_COUNT)
		show_number(s, (enum view)(key - '1'));
	else if (!view_key(s, key) && !select_key(s, key))
		act(s, key);
}
