/* SPDX-License-Identifier: MIT */
#include "cmd/browse/screen.h"

#include "cmd/browse/term.h"

/* Colours of term.h: shades for code, the kernel, waits. */
enum { SHADES = 12, KERNEL_FIRST = 12, KERNEL_SHADES = 6, IDLE_FIRST = 18, IDLE_SHADES = 2 };

static const struct query_node *node_of(const struct model *m, uint32_t node)
{
	return &m->tree.nodes.items[node];
}

static const char *name_of(const struct model *m, uint32_t node)
{
	return query_keys_text(m->tree.keys,
			       m->tree.keys->rows.items[node_of(m, node)->key].function);
}

static void add_box(struct flame *f, uint32_t node, int level, int column, int width)
{
	vec_push(&f->boxes, (struct flame_box){node, level, column, width});
	if (level >= f->levels)
		f->levels = level + 1;
}

/*
 * Lays out the children of a box, or all roots, within its columns in proportion to their weights.
 */
static void add_children(struct flame *f, const struct model *m, uint32_t first, int level,
			 double column, double width, uint64_t weight)
{
	double at = column;

	for (; first != QUERY_NO_NODE && weight; first = node_of(m, first)->next_sibling) {
		double own = width * (double)node_of(m, first)->total / (double)weight;
		int left = (int)(at + 0.5), right = (int)(at + own + 0.5);

		if (right > left)
			add_box(f, first, level, left, right - left);
		at += own;
	}
}

/* Shows the callers of the zoomed node over the full width. */
static int add_callers(struct flame *f, const struct model *m, uint32_t node)
{
	uint32_t parent = node_of(m, node)->parent;
	int level = parent == QUERY_NO_NODE ? 0 : add_callers(f, m, parent);

	add_box(f, node, level, 0, f->columns);
	return level + 1;
}

static uint32_t find_path(const struct model *m, uint64_t path)
{
	for (uint32_t i = 0; path && i < m->tree.nodes.count; i++) {
		if (m->paths[i] == path)
			return i;
	}
	return QUERY_NO_NODE;
}

void flame_make(struct flame *f, const struct model *m, int columns)
{
	size_t next = 0;

	vec_clear(&f->boxes);
	f->levels = 0;
	f->columns = columns;
	f->zoom = find_path(m, f->zoom_path);
	if (f->zoom != QUERY_NO_NODE) {
		add_callers(f, m, f->zoom);
		next = f->boxes.count - 1;
	} else {
		add_children(f, m, m->tree.first_root, 0, 0, columns, m->query.weight);
	}
	for (; next < f->boxes.count; next++) {
		const struct flame_box box = f->boxes.items[next];
		const struct query_node *node = node_of(m, box.node);

		add_children(f, m, node->first_child, box.level + 1, box.column, box.width,
			     node->total);
	}
	f->cursor = 0;
	for (size_t i = 0; i < f->boxes.count && f->cursor_path; i++) {
		if (m->paths[f->boxes.items[i].node] == f->cursor_path)
			f->cursor = i;
	}
}

uint32_t flame_node(const struct flame *f)
{
	return f->cursor < f->boxes.count ? f->boxes.items[f->cursor].node : QUERY_NO_NODE;
}

static int color_of(const struct model *m, uint32_t node)
{
	_cleanup_(strbuf_release) struct strbuf name = {0};
	const struct query *q = &m->query;
	stack_id stack = node_of(m, node)->stack;
	uint64_t hash = hash_bytes(name_of(m, node), strlen(name_of(m, node)), 0);

	if (stack != NO_STACK)
		query_category_name(q->profile, q->categories[stack], &name);
	if (text_starts_with(strbuf_text(&name), "Kernel"))
		return KERNEL_FIRST + (int)(hash % KERNEL_SHADES);
	if (text_starts_with(strbuf_text(&name), "Idle"))
		return IDLE_FIRST + (int)(hash % IDLE_SHADES);
	return (int)(hash % SHADES);
}

static int lines_of(const struct flame *f, int levels)
{
	return f->is_dense ? (levels + 1) / 2 : levels;
}

static void keep_in_sight(struct flame *f)
{
	int level = f->cursor < f->boxes.count ? f->boxes.items[f->cursor].level : 0;
	int height = f->is_dense ? 2 * f->height : f->height;

	f->top = MIN(f->top, level);
	if (level >= f->top + height)
		f->top = level - height + 1;
	if (f->top > 0 && f->levels - f->top < height)
		f->top = f->levels > height ? f->levels - height : 0;
	if (f->is_dense)
		f->top &= ~1;
}

static void draw_names(const struct flame *f, const struct model *m)
{
	vec_for_each(&f->boxes, const struct flame_box *, box) {
		_cleanup_free_ char *name = xasprintf(" %s", name_of(m, box->node));
		int line = box->level - f->top;
		bool is_cursor = (size_t)(box - f->boxes.items) == f->cursor;

		if (line < 0 || line >= f->height)
			continue;
		text_to_line(name);
		term_block(f->line + line, box->column, box->width, color_of(m, box->node),
			   is_cursor, box->width > 3 ? name : "");
	}
}

/* Fills an array of colours first, since a line shows two levels. */
static void draw_halves(const struct flame *f, const struct model *m)
{
	size_t cells = (size_t)(2 * f->height) * (size_t)f->columns;
	_cleanup_free_ int *colors = xmalloc((cells + 1) * sizeof(*colors));

	for (size_t i = 0; i < cells; i++)
		colors[i] = -1;
	vec_for_each(&f->boxes, const struct flame_box *, box) {
		int level = box->level - f->top;
		bool is_cursor = (size_t)(box - f->boxes.items) == f->cursor;
		int color = is_cursor ? TERM_COLORS - 1 : color_of(m, box->node);

		for (int i = 0; level >= 0 && level < 2 * f->height && i < box->width; i++)
			colors[level * f->columns + box->column + i] = color;
	}
	for (int line = 0; line < f->height; line++) {
		for (int column = 0; column < f->columns; column++) {
			const int *upper = &colors[2 * line * f->columns + column];

			if (upper[0] >= 0 || upper[f->columns] >= 0)
				term_halves(f->line + line, column, upper[0], upper[f->columns]);
		}
	}
}

void flame_draw(struct flame *f, const struct model *m, int line, int height)
{
	f->line = line;
	f->height = height;
	f->is_dense &= term_has_colors() && term_is_unicode();
	keep_in_sight(f);
	if (f->is_dense)
		draw_halves(f, m);
	else
		draw_names(f, m);
	if (lines_of(f, f->levels - f->top) > height)
		term_text(line + height - 1, f->columns - 6, 6, TERM_TITLE, false, " more ");
}

static void set_cursor(struct flame *f, const struct model *m, size_t box)
{
	f->cursor = box;
	f->cursor_path = m->paths[f->boxes.items[box].node];
}

/* Moves to the nearest box on another level, or on the same one. */
static void walk(struct flame *f, const struct model *m, int levels, int direction)
{
	const struct flame_box *from;
	size_t best = f->cursor;
	int distance = -1;

	if (f->cursor >= f->boxes.count)
		return;
	from = &f->boxes.items[f->cursor];
	vec_for_each(&f->boxes, const struct flame_box *, box) {
		int away = direction ? direction * (box->column - from->column) : 0;

		if (box->level != from->level + levels || box == from || away < 0)
			continue;
		/*
		 * A caller contains the cursor's columns. Among callees, choose the widest within
		 * them.
		 */
		if (levels < 0 &&
		    !(box->column <= from->column && from->column < box->column + box->width))
			continue;
		if (levels > 0 && (node_of(m, box->node)->parent != from->node))
			continue;
		if (levels > 0)
			away = f->columns - box->width;
		if (distance < 0 || away < distance) {
			distance = away;
			best = (size_t)(box - f->boxes.items);
		}
	}
	set_cursor(f, m, best);
}

static void zoom(struct flame *f, const struct model *m, uint32_t node)
{
	f->zoom_path = node == QUERY_NO_NODE ? 0 : m->paths[node];
	f->top = 0;
	flame_make(f, m, f->columns);
}

static void click(struct flame *f, const struct model *m, bool zooms)
{
	int row, column, level;

	term_mouse(&row, &column);
	level = f->top + (row - f->line) * (f->is_dense ? 2 : 1);
	vec_for_each(&f->boxes, const struct flame_box *, box) {
		if (box->level != level || column < box->column ||
		    column >= box->column + box->width)
			continue;
		set_cursor(f, m, (size_t)(box - f->boxes.items));
		if (zooms)
			zoom(f, m, box->node);
		return;
	}
}

static bool zoom_key(struct flame *f, const struct model *m, int key)
{
	if (key == TERM_KEY_ENTER)
		zoom(f, m, flame_node(f));
	else if ((key == TERM_KEY_ESCAPE || key == TERM_KEY_DELETE) && f->zoom != QUERY_NO_NODE)
		zoom(f, m, node_of(m, f->zoom)->parent);
	else if (key == TERM_KEY_HOME || key == 'g')
		zoom(f, m, QUERY_NO_NODE);
	else if (key == 'z')
		f->is_dense = !f->is_dense;
	else
		return false;
	return true;
}

bool flame_key(struct flame *f, const struct model *m, int key)
{
	if (!f->boxes.count)
		return false;
	switch (key) {
	case TERM_KEY_UP:
	case 'k':
		walk(f, m, -1, 0);
		return true;
	case TERM_KEY_DOWN:
	case 'j':
		walk(f, m, 1, 0);
		return true;
	case TERM_KEY_LEFT:
	case 'h':
		walk(f, m, 0, -1);
		return true;
	case TERM_KEY_RIGHT:
	case 'l':
		walk(f, m, 0, 1);
		return true;
	case TERM_KEY_PRESS:
	case TERM_KEY_CLICK:
	case TERM_KEY_DOUBLE_CLICK:
		click(f, m, key == TERM_KEY_DOUBLE_CLICK);
		return true;
	default:
		return zoom_key(f, m, key);
	}
}

bool flame_find(struct flame *f, const struct model *m, bool (*is_found)(void *ctx, const char *),
		void *ctx, int direction)
{
	size_t count = f->boxes.count;

	for (size_t i = 1; i <= count; i++) {
		size_t at = (f->cursor + (direction > 0 ? i : count - i)) % count;

		if (is_found(ctx, name_of(m, f->boxes.items[at].node))) {
			set_cursor(f, m, at);
			return true;
		}
	}
	return false;
}
