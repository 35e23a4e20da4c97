/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as an SVG image, or of a difference as an HTML page around it. It needs no other
 * file: a click zooms, a search marks functions, both by a script inside. Without scripts it is a
 * picture. The root is at the top; siblings are in the order of their names, so that widths are all
 * that differs between two graphs. Functions of all processes and threads are merged, unless each
 * thread is asked for.
 */
#include "lib/format/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/flamegraph_colors.h"
#include "lib/format/flamegraph_script.h"
#include "lib/format/label_tree.h"

#define WIDTH 1200.0
#define ROW 17
#define HEADER 78
/* Narrower ones are not to be seen. */
#define WIDTH_MIN 0.1
#define CHAR_WIDTH 6.7
#define TEXT_WIDTH_MIN 21
#define DEPTH_MAX 1024
#define LEGEND_NAME_MAX 24
#define LEGEND_WIDTH 1000

struct graph {
	struct label_tree tree;
	uint64_t *totals[LABEL_TREE_SIDES]; /* by node */
	double *lefts; /* by node: samples to its left */
	uint32_t *depths; /* by node; UINT32_MAX: not drawn */
	uint64_t sums[LABEL_TREE_SIDES];
	bool has_base; /* colours say what differs from side 1 */
	double scale; /* samples of side 0 that one of side 1 stands for */
	uint32_t rows; /* drawn */
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

/* Appends at most `room` characters as text of XML, with an ellipsis where more follow. */
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

/* Nodes above have lower ids. */
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
	/* The first row is that of all samples. */
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

/* The graph's title, escaped; to be freed. */
static char *make_heading(const struct graph *g, const struct profile *p)
{
	_cleanup_free_ char *product = xstrdup(p->meta.product ? p->meta.product : "profile");
	struct strbuf heading = {0};

	text_to_line(product);
	add_escaped(product, 100, &heading);
	strbuf_adds(&heading, ": ");
	strbuf_add_grouped(&heading, g->sums[0]);
	strbuf_adds(&heading, " samples");
	if (g->has_base)
		strbuf_adds(&heading, "; red: took more time than before, blue: less, "
				      "grey: unclear");
	if (g->is_cut)
		strbuf_addf(&heading, "; cut off below %d frames", DEPTH_MAX);
	return strbuf_take(&heading);
}

/* Appends a square of that colour and what it stands for; returns where the next one begins. */
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

/* Says what the colours of the nodes that are drawn mean; nothing of a difference. */
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

/* Recordings that ended by the clock tell times by how long they took. */
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
		return error_text(err, -ENODATA, "the recording has no thread");
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

	(void)counts;
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
	.is_plain = true,
	.write = svg_write,
};
