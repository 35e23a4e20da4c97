/* SPDX-License-Identifier: MIT */
#include "lib/format/format.h"

#include <math.h>

#include "lib/format/label_tree.h"

/* Colours of flame graphs: by kind of code, or by the difference between two profiles. */

/* "#rrggbb" */
#define COLOR_SIZE 8

/* Time of a function in two recordings, in samples of each. */
struct time_pair {
	double before, now;
	double scale; /* samples now per sample before */
};

/* The script inside flame graphs. It reads names as text and never as markup. */

extern const char flamegraph_script[];

/* Standard errors that a difference must exceed, as a graph has hundreds of functions. */
#define ERRORS_MIN 3.3
/* Assumed variation between runs, which is unknown. */
#define RUN_NOISE 0.03

#define GREY 0xd0d0d0

/* Front-ends' names of colours, as backgrounds of black text. */
static const struct {
	const char *name;
	uint32_t color;
} kinds[] = {
	{"yellow", 0xf5d547},	{"orange", 0xf29f45},	 {"transparent", 0xdde5ee},
	{"grey", 0xc9c9c9},	{"lightblue", 0x8fc8ee}, {"blue", 0x86abf2},
	{"green", 0x8fce82},	{"red", 0xf0897f},	 {"magenta", 0xe092d6},
	{"purple", 0xb8a0f0},	{"brown", 0xc9a57e},	 {"lightgreen", 0xb5e0a0},
	{"lightred", 0xf5b0a8},
};

static void set(char color[COLOR_SIZE], double red, double green, double blue)
{
	snprintf(color, COLOR_SIZE, "#%02x%02x%02x", (unsigned int)(uint8_t)red,
		 (unsigned int)(uint8_t)green, (unsigned int)(uint8_t)blue);
}

/* Mixes a part of a colour with white. */
static double mix(uint32_t color, int shift, double part)
{
	return 255 - part * (255 - (double)(color >> shift & 0xff));
}

/*
 * Returns the colour of a kind of code, by its name in front-ends. Inlined functions are paler.
 * Labels vary the colour slightly, the same in every graph, so that adjacent boxes differ; NULL: no
 * variation.
 */
static void flamegraph_kind_color(const char *name, bool is_inlined, const char *label,
				  char color[COLOR_SIZE])
{
	uint32_t base = GREY;
	double part = is_inlined ? 0.45 : 1;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name) == 0)
			base = kinds[i].color;
	}
	if (label)
		part -= 0.2 * (double)(hash_bytes(label, strlen(label), 0) % 100) / 100;
	set(color, mix(base, 16, part), mix(base, 8, part), mix(base, 0, part));
}

/*
 * Red for more time, blue for less, stronger for larger differences. Grey if the sampling error and
 * the noise between two runs of the same program explain the difference.
 */
static void flamegraph_difference_color(const struct time_pair *times, char color[COLOR_SIZE])
{
	double before = times->before * times->scale, change = times->now - before;
	double noise = RUN_NOISE * fmax(before, times->now);
	double variance = times->now + before * times->scale + 2 * noise * noise;
	double pale = 210 - 150 * fmin(1, fabs(change) / fmax(before, times->now));

	if (fabs(change) <= ERRORS_MIN * sqrt(variance))
		set(color, mix(GREY, 16, 1), mix(GREY, 8, 1), mix(GREY, 0, 1));
	else if (change > 0)
		set(color, 255, pale, pale);
	else
		set(color, pale, pale, 255);
}

const char flamegraph_script[] =
	"(function () {\n"
	"  'use strict';\n"
	"  function id(name) { return document.getElementById(name); }\n"
	"  var svg = id('flamegraph'), head = id('head'), field = id('field'), detail = "
	"id('detail');\n"
	"  var full = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height, width = "
	"full;\n"
	"  var nodes = Array.from(id('nodes').children).map(function (g) {\n"
	"    var rect = g.querySelector('rect'), title = g.querySelector('title').textContent;\n"
	"    var facts = / \\(([^()]*)\\)$/.exec(title);\n"
	"    return {g: g, rect: rect, text: g.querySelector('text'), y: +rect.getAttribute('y'),\n"
	"            x: rect.getAttribute('x') / full, w: rect.getAttribute('width') / full,\n"
	"            name: facts ? title.slice(0, facts.index) : title, facts: facts ? facts[1] "
	": ''};\n"
	"  });\n"
	"  var of = new Map(nodes.map(function (n) { return [n.g, n]; }));\n"
	"  var root = nodes[0], shown = root, marked = null, back = [], slack = 1e-5;\n"
	"  if (!root) return;\n"
	"  function cut(text, room) {\n"
	"    return text.length <= room ? text : text.slice(0, Math.max(0, room - 1)) + "
	"'\\u2026';\n"
	"  }\n"
	"  function place(n, x, w) {\n"
	"    n.g.style.display = w < 0.1 ? 'none' : '';\n"
	"    n.rect.setAttribute('x', x);\n"
	"    n.rect.setAttribute('width', w);\n"
	"    n.text.setAttribute('x', x + 3);\n"
	"    n.text.textContent = w < 21 ? '' : cut(n.name, Math.floor((w - 6) / 6.7));\n"
	"  }\n"
	"  function within(n, outer) {\n"
	"    return n.x >= outer.x - slack && n.x + n.w <= outer.x + outer.w + slack;\n"
	"  }\n"
	"  function draw() {\n"
	"    nodes.forEach(function (n) {\n"
	"      var above = n.y < shown.y && within(shown, n);\n"
	"      n.g.classList.toggle('faded', above);\n"
	"      if (above) place(n, 0, width);\n"
	"      else if (n.y >= shown.y && within(n, shown))\n"
	"        place(n, (n.x - shown.x) / shown.w * width, n.w / shown.w * width);\n"
	"      else n.g.style.display = 'none';\n"
	"    });\n"
	"    id('back').classList.toggle('off', !back.length);\n"
	"    id('reset').classList.toggle('off', shown === root);\n"
	"  }\n"
	"  function zoom(to) {\n"
	"    if (to === shown) return;\n"
	"    back.push(shown);\n"
	"    shown = to;\n"
	"    draw();\n"
	"  }\n"
	"  function goBack() {\n"
	"    if (!back.length) return;\n"
	"    shown = back.pop();\n"
	"    draw();\n"
	"    describe(marked);\n"
	"  }\n"
	"  function describe(n) {\n"
	"    var facts = n ? n.facts : '';\n"
	"    if (n && shown !== root && n !== shown && within(n, shown) && n.y > shown.y)\n"
	"      facts += ', ' + (100 * n.w / shown.w).toFixed(2) + ' % of what is shown';\n"
	"    detail.textContent = !n ? '' : facts\n"
	"      ? cut(n.name, Math.floor(width / 6.7) - facts.length - 5) + '  (' + facts + ')' : "
	"n.name;\n"
	"  }\n"
	"  function mark(n) {\n"
	"    if (marked) marked.g.classList.remove('marked');\n"
	"    marked = n;\n"
	"    if (n) n.g.classList.add('marked');\n"
	"    describe(n);\n"
	"  }\n"
	"  function search(wanted) {\n"
	"    var found = [], sum = 0, end = -1, re = null, result = '';\n"
	"    try {\n"
	"      re = wanted && new RegExp(wanted, /[A-Z]/.test(wanted) ? '' : 'i');\n"
	"    } catch (e) {\n"
	"      result = 'not a regular expression';\n"
	"    }\n"
	"    field.classList.toggle('wrong', result !== '');\n"
	"    nodes.forEach(function (n) {\n"
	"      var hit = !!re && n !== root && re.test(n.name);\n"
	"      n.g.classList.toggle('found', hit);\n"
	"      if (hit) found.push(n);\n"
	"    });\n"
	"    found.sort(function (a, b) { return a.x - b.x || b.w - a.w; });\n"
	"    found.forEach(function (n) {\n"
	"      if (n.x < end - slack) return;\n"
	"      sum += n.w;\n"
	"      end = n.x + n.w;\n"
	"    });\n"
	"    id('result').textContent = re ? (100 * sum).toFixed(2) + ' % in functions that "
	"match'\n"
	"      : result;\n"
	"  }\n"
	"  function clear() {\n"
	"    field.value = '';\n"
	"    search('');\n"
	"    field.blur();\n"
	"  }\n"
	"  function step(key) {\n"
	"    var from = marked || shown, best = null;\n"
	"    nodes.forEach(function (n) {\n"
	"      var fits = n.g.style.display !== 'none' && (\n"
	"        key === 'ArrowDown' ? n.y > from.y && within(n, from) :\n"
	"        key === 'ArrowUp' ? n.y < from.y && within(from, n) :\n"
	"        n.y === from.y && (key === 'ArrowLeft' ? n.x < from.x : n.x > from.x));\n"
	"      if (!fits) return;\n"
	"      if (!best) best = n;\n"
	"      else if (n.y !== best.y ? key === 'ArrowDown' ? n.y < best.y : n.y > best.y\n"
	"               : key === 'ArrowLeft' ? n.x > best.x : key === 'ArrowRight' ? n.x < "
	"best.x\n"
	"               : n.w > best.w) best = n;\n"
	"    });\n"
	"    if (best) mark(best);\n"
	"    if (best && best.rect.scrollIntoView) best.rect.scrollIntoView({block: 'nearest'});\n"
	"  }\n"
	"  function resize() {\n"
	"    var body = document.body;\n"
	"    width = Math.max(480, (body ? document.documentElement.clientWidth : "
	"window.innerWidth) - 16);\n"
	"    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + height);\n"
	"    svg.setAttribute('width', width);\n"
	"    svg.style.width = width + 'px';\n"
	"    svg.style.height = height + 'px';\n"
	"    id('paper').setAttribute('width', width);\n"
	"    draw();\n"
	"  }\n"
	"  /* The lines above the graph stay in sight. */\n"
	"  function follow() {\n"
	"    head.setAttribute('transform', 'translate(0,' +\n"
	"      Math.max(0, window.scrollY - (document.body ? 8 : 0)) + ')');\n"
	"  }\n"
	"  id('nodes').addEventListener('click', function (e) {\n"
	"    var n = of.get(e.target.parentNode);\n"
	"    if (n) zoom(n);\n"
	"    describe(n);\n"
	"  });\n"
	"  id('nodes').addEventListener('mouseover', function (e) {\n"
	"    describe(of.get(e.target.parentNode) || marked);\n"
	"  });\n"
	"  id('nodes').addEventListener('mouseleave', function () { describe(marked); });\n"
	"  id('back').addEventListener('click', goBack);\n"
	"  id('reset').addEventListener('click', function () { zoom(root); });\n"
	"  field.addEventListener('input', function () { search(field.value); });\n"
	"  window.addEventListener('keydown', function (e) {\n"
	"    var inField = e.target === field;\n"
	"    if ((e.key === 'f' && (e.ctrlKey || e.metaKey)) || (e.key === '/' && !inField)) {\n"
	"      field.focus();\n"
	"      field.select();\n"
	"    } else if (inField && e.key === 'Escape') {\n"
	"      clear();\n"
	"    } else if (inField && e.key === 'Enter') {\n"
	"      field.blur();\n"
	"    } else if (inField || e.ctrlKey || e.altKey || e.metaKey) {\n"
	"      return;\n"
	"    } else if (e.key === 'Escape') {\n"
	"      if (back.length) goBack();\n"
	"      else if (field.value) clear();\n"
	"      else mark(null);\n"
	"    } else if (e.key.startsWith('Arrow')) {\n"
	"      step(e.key);\n"
	"    } else if (e.key === 'Enter' && marked) {\n"
	"      zoom(marked);\n"
	"      describe(marked);\n"
	"    } else {\n"
	"      return;\n"
	"    }\n"
	"    e.preventDefault();\n"
	"  });\n"
	"  window.addEventListener('resize', resize);\n"
	"  window.addEventListener('scroll', follow);\n"
	"  svg.classList.add('live');\n"
	"  resize();\n"
	"})();\n";

/*
 * A flame graph as an SVG image, or of a difference as an HTML page with the image. It is self-
 * contained: a script inside zooms on a click and marks functions found by a search. Without
 * scripts it is a static picture. The root is at the top; siblings are sorted by name, so that two
 * graphs differ only in widths. Functions of all processes and threads are merged, unless each
 * thread is requested.
 */

#define WIDTH 1200.0
#define ROW 17
#define HEADER 78
/* Narrower boxes are invisible. */
#define WIDTH_MIN 0.1
#define CHAR_WIDTH 6.7
#define TEXT_WIDTH_MIN 21
#define DEPTH_MAX 1024
#define LEGEND_NAME_MAX 24
#define LEGEND_WIDTH 1000

struct graph {
	struct label_tree tree;
	uint64_t *totals[LABEL_TREE_SIDES]; /* samples by node */
	double *lefts; /* by node: samples to the left */
	uint32_t *depths; /* by node; UINT32_MAX: not drawn */
	uint64_t sums[LABEL_TREE_SIDES];
	bool has_base; /* colours show the difference to side 1 */
	double scale; /* samples of side 0 per sample of side 1 */
	uint32_t rows; /* number of rows drawn */
	bool is_cut;
	struct outfile *out;
};

static void write_text(const struct graph *g, const char *text)
{
	outfile_write(g->out, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void write_line(const struct graph *g, const char *fmt,
							     ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	write_text(g, text);
}

/* Appends at most `room` characters as XML text, with an ellipsis if truncated. */
static void add_escaped(const char *text, size_t room, struct strbuf *out)
{
	for (; *text; text++) {
		if ((*text & 0xc0) != 0x80 && !room--) {
			strbuf_adds(out, "…");
			return;
		}
		switch (*text) {
		case '&':
			strbuf_adds(out, "&amp;");
			break;
		case '<':
			strbuf_adds(out, "&lt;");
			break;
		case '>':
			strbuf_adds(out, "&gt;");
			break;
		case '"':
			strbuf_adds(out, "&quot;");
			break;
		case '\'':
			strbuf_adds(out, "&#39;");
			break;
		default:
			strbuf_addch(out, *text);
		}
	}
}

/* Ancestors have lower ids. */
static void sum_up(struct graph *g)
{
	size_t count = g->tree.nodes.count;

	for (int side = 0; side < LABEL_TREE_SIDES; side++) {
		g->totals[side] = xcalloc(count + 1, sizeof(uint64_t));
		g->sums[side] = g->tree.rootless[side];
		for (size_t i = count; i-- > 0;) {
			stack_id parent = g->tree.tree.rows.items[i].parent;
			uint64_t *above = parent == NO_STACK ? &g->sums[side]
							     : &g->totals[side][parent];

			g->totals[side][i] += g->tree.nodes.items[i].weight[side];
			*above += g->totals[side][i];
		}
	}
}

static double width_of(const struct graph *g, stack_id node)
{
	return g->sums[0] ? WIDTH * (double)g->totals[0][node] / (double)g->sums[0] : 0;
}

static void place_siblings(struct graph *g, stack_id node, double left, uint32_t depth)
{
	for (; node != NO_STACK; node = g->tree.nodes.items[node].next_sibling) {
		g->lefts[node] = left;
		left += width_of(g, node);
		if (width_of(g, node) < WIDTH_MIN)
			continue;
		if (depth >= DEPTH_MAX) {
			g->is_cut = true;
			continue;
		}
		g->depths[node] = depth;
		if (depth >= g->rows)
			g->rows = depth + 1;
	}
}

static void place_nodes(struct graph *g)
{
	size_t count = g->tree.nodes.count;

	g->lefts = xcalloc(count + 1, sizeof(*g->lefts));
	g->depths = xcalloc(count + 1, sizeof(*g->depths));
	for (size_t i = 0; i < count; i++)
		g->depths[i] = UINT32_MAX;
	/* The first row contains all samples. */
	g->rows = 1;
	place_siblings(g, g->tree.first_root, 0, 1);
	for (stack_id i = 0; i < count; i++) {
		if (g->depths[i] != UINT32_MAX)
			place_siblings(g, g->tree.nodes.items[i].first_child, g->lefts[i],
				       g->depths[i] + 1);
	}
}

static void node_color(const struct graph *g, stack_id node, char color[COLOR_SIZE])
{
	const struct label_node *row = &g->tree.nodes.items[node];
	const struct time_pair times = {
		.before = (double)g->totals[1][node],
		.now = (double)g->totals[0][node],
		.scale = g->scale,
	};

	if (g->has_base)
		flamegraph_difference_color(&times, color);
	else
		flamegraph_kind_color(
			strings_get(&g->tree.labels, g->tree.kinds.items[row->kind].color),
			row->is_inlined, label_tree_text(&g->tree, node), color);
}

static void add_shares(const struct graph *g, stack_id node, struct strbuf *title)
{
	double share = 100 * (double)g->totals[0][node] / (double)g->sums[0];
	double now = (double)g->totals[0][node], before = (double)g->totals[1][node] * g->scale;

	strbuf_adds(title, " (");
	strbuf_add_grouped(title, g->totals[0][node]);
	strbuf_addf(title, " %s, %.2f %%", text_counted(g->totals[0][node], "sample", "samples"),
		    share);
	if (g->has_base && before > 0)
		strbuf_addf(title, ", before %.0f: %+.0f %%", before,
			    100 * (now - before) / before);
	else if (g->has_base)
		strbuf_adds(title, ", new");
	strbuf_addch(title, ')');
}

static void write_node(const struct graph *g, const char *name, const char *title,
		       const char *color, double left, double width, uint32_t depth)
{
	_cleanup_(strbuf_release) struct strbuf text = {0}, whole = {0};
	unsigned int top = HEADER + depth * ROW;

	add_escaped(title, SIZE_MAX, &whole);
	if (width >= TEXT_WIDTH_MIN)
		add_escaped(name, (size_t)((width - 6) / CHAR_WIDTH), &text);
	write_line(g,
		   "<g><title>%s</title><rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" "
		   "fill=\"%s\"/><text x=\"%.2f\" y=\"%u\">%s</text></g>\n",
		   strbuf_text(&whole), left, top, width, ROW - 1, color, left + 3, top + 12,
		   strbuf_text(&text));
}

static void write_nodes(const struct graph *g)
{
	for (stack_id i = 0; i < g->tree.nodes.count && !outfile_failed(g->out); i++) {
		const char *name = label_tree_text(&g->tree, i);
		_cleanup_(strbuf_release) struct strbuf title = {0};
		char color[COLOR_SIZE];

		if (g->depths[i] == UINT32_MAX)
			continue;
		strbuf_adds(&title, name);
		add_shares(g, i, &title);
		node_color(g, i, color);
		write_node(g, name, strbuf_text(&title), color, g->lefts[i], width_of(g, i),
			   g->depths[i]);
	}
}

/* Returns the graph's title, escaped; to be freed. */
static char *make_heading(const struct graph *g, const struct profile *p)
{
	_cleanup_free_ char *product = xstrdup(p->meta.product ? p->meta.product : "profile");
	struct strbuf heading = {0};

	text_to_line(product);
	add_escaped(product, 100, &heading);
	strbuf_adds(&heading, ": ");
	strbuf_add_grouped(&heading, g->sums[0]);
	strbuf_addf(&heading, " %s", text_counted(g->sums[0], "sample", "samples"));
	if (g->has_base)
		strbuf_adds(&heading, "; red: took more time than before, blue: less, "
				      "grey: unclear");
	if (g->is_cut)
		strbuf_addf(&heading, "; cut off below %d frames", DEPTH_MAX);
	return strbuf_take(&heading);
}

/* Appends a square of that colour and its meaning. Returns the position of the next one. */
static double add_square(double left, const char *color, const char *name, struct strbuf *out)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	add_escaped(name, LEGEND_NAME_MAX, &text);
	strbuf_addf(out,
		    "<rect x=\"%.0f\" y=\"24\" width=\"10\" height=\"10\" fill=\"%s\"/>"
		    "<text x=\"%.0f\" y=\"33\">%s</text>\n",
		    left, color, left + 14, strbuf_text(&text));
	return left + 30 + CHAR_WIDTH * (double)strlen(name);
}

/* Explains the colours of the drawn nodes. Appends nothing for a difference. */
static void add_legend(const struct graph *g, struct strbuf *out)
{
	bool is_drawn[UINT8_MAX + 1] = {0}, has_inlined = false;
	const struct label_tree *t = &g->tree;
	double left = 3;
	char color[COLOR_SIZE];

	for (stack_id i = 0; i < t->nodes.count && !g->has_base; i++) {
		if (g->depths[i] == UINT32_MAX)
			continue;
		is_drawn[t->nodes.items[i].kind] = true;
		has_inlined |= t->nodes.items[i].is_inlined;
	}
	for (size_t i = LABEL_KIND_NONE + 1; i < t->kinds.count; i++) {
		const struct label_kind *kind = &t->kinds.items[i];

		if (!is_drawn[i] || left > LEGEND_WIDTH)
			continue;
		flamegraph_kind_color(strings_get(&t->labels, kind->color), false, NULL, color);
		left = add_square(left, color, strings_get(&t->labels, kind->name), out);
	}
	if (has_inlined)
		add_square(left, "#f7f0cc", "paler: inlined", out);
}

static const char style[] =
	"<style>\n"
	"#flamegraph { font: 11px monospace; background: #fff; }\n"
	"#nodes { cursor: pointer; }\n"
	"#flamegraph text { fill: #000; pointer-events: none; white-space: pre; }\n"
	"#paper { fill: #fff; }\n"
	"#nodes .faded { opacity: 0.5; }\n"
	"#nodes .found rect { fill: #c060ff; }\n"
	"#nodes g:hover rect { stroke: #444; stroke-width: 0.5; }\n"
	"#nodes .marked rect { stroke: #000; stroke-width: 1.5; }\n"
	"#controls { visibility: hidden; }\n"
	".live #controls { visibility: visible; }\n"
	"#controls a { cursor: pointer; }\n"
	"#controls a text { fill: #06c; pointer-events: all; }\n"
	"#controls a.off text { fill: #999; }\n"
	"#field { font: 11px monospace; width: 100%; height: 100%; box-sizing: border-box; "
	"border: 1px solid #888; padding: 0 3px; margin: 0; display: block; }\n"
	"#field.wrong { border-color: #d00; background: #fee; }\n"
	"</style>\n";

static const char controls[] =
	"<g id=\"controls\">\n"
	"<a id=\"back\" class=\"off\"><text x=\"3\" y=\"53\">Back (Esc)</text></a>\n"
	"<a id=\"reset\" class=\"off\"><text x=\"88\" y=\"53\">Whole graph</text></a>\n"
	"<foreignObject x=\"180\" y=\"40\" width=\"240\" height=\"18\">"
	"<input xmlns=\"http://www.w3.org/1999/xhtml\" id=\"field\" type=\"text\" "
	"spellcheck=\"false\" autocomplete=\"off\" "
	"placeholder=\"search (/): a regular expression\"/></foreignObject>\n"
	"<text id=\"result\" x=\"428\" y=\"53\"></text>\n"
	"</g>\n";

static void write_svg(const struct graph *g, const struct profile *p)
{
	_cleanup_free_ char *heading = make_heading(g, p);
	_cleanup_(strbuf_release) struct strbuf legend = {0};
	unsigned int height = HEADER + g->rows * ROW + 8;

	add_legend(g, &legend);
	write_line(g,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"flamegraph\" version=\"1.1\" "
		   "viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\">\n",
		   (int)WIDTH, height, (int)WIDTH, height);
	write_text(g, style);
	write_text(g, "<g id=\"nodes\">\n");
	if (g->sums[0])
		write_node(g, "all", "all", "#e8e8e8", 0, WIDTH, 0);
	write_nodes(g);
	write_line(g,
		   "</g>\n<g id=\"head\">\n"
		   "<rect id=\"paper\" x=\"0\" y=\"0\" width=\"%d\" height=\"%d\"/>\n"
		   "<text x=\"3\" y=\"16\">%s</text>\n",
		   (int)WIDTH, HEADER, heading);
	write_text(g, strbuf_text(&legend));
	write_text(g, controls);
	write_text(g, "<text id=\"detail\" x=\"3\" y=\"71\"></text>\n</g>\n<script><![CDATA[\n");
	write_text(g, flamegraph_script);
	write_text(g, "]]></script>\n</svg>\n");
}

static void graph_release(struct graph *g)
{
	label_tree_release(&g->tree);
	for (int side = 0; side < LABEL_TREE_SIDES; side++)
		free(g->totals[side]);
	free(g->lefts);
	free(g->depths);
}

/* Scales by duration if both recordings ended by time. */
static double scale_of(const struct profile *p, const struct profile *base)
{
	const struct profile_meta *now = &p->meta, *before = &base->meta;
	double scale = 1;

	if (now->interval_ns && before->interval_ns)
		scale = (double)before->interval_ns / (double)now->interval_ns;
	if (now->duration_limit_ns && before->duration_limit_ns && now->end_ns > now->start_ns &&
	    before->end_ns > before->start_ns)
		scale *= (double)(now->end_ns - now->start_ns) /
			 (double)(before->end_ns - before->start_ns);
	return scale;
}

static int graph_make(struct graph *g, const struct profile *p,
		      const struct export_options *options, struct error *err)
{
	const struct profile *base = options ? options->base : NULL;

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no threads");
	g->has_base = base;
	g->tree.has_threads = options && options->all_threads;
	g->scale = base ? scale_of(p, base) : 1;
	label_tree_add(&g->tree, p, 0);
	if (base)
		label_tree_add(&g->tree, base, 1);
	label_tree_link(&g->tree);
	sum_up(g);
	place_nodes(g);
	return 0;
}

static int svg_write(const struct profile *p, const struct export_options *options,
		     struct outfile *out, struct export_counts *counts, struct error *err)
{
	struct graph g = {.out = out};
	int ret = graph_make(&g, p, options, err);

	if (!ret)
		write_svg(&g, p);
	graph_release(&g);
	return ret;
}

int flamegraph_write_html(const struct profile *p, const struct export_options *options,
			  struct outfile *out, struct error *err)
{
	struct graph g = {.out = out};
	int ret = graph_make(&g, p, options, err);

	if (!ret) {
		_cleanup_free_ char *heading = make_heading(&g, p);

		write_line(
			&g,
			"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
			"'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n"
			"<title>%s</title>\n"
			"<style>body { margin: 8px; } svg { width: 100%%; height: auto; }</style>\n"
			"</head>\n<body>\n",
			heading);
		write_svg(&g, p);
		write_text(&g, "</body>\n</html>\n");
	}
	graph_release(&g);
	return ret;
}

const struct format format_flamegraph = {
	.name = "flamegraph",
	.suffixes = (const char *const[]){".svg", NULL},
	.is_flame_graph = true,
	.is_plain = true,
	.write = svg_write,
};
