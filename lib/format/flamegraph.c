/* SPDX-License-Identifier: MIT */
/*
 * A flame graph as an SVG image, or as an HTML page around it. It needs no other file: a click
 * zooms, a search marks functions, both by a script inside. Without scripts it is a picture. The
 * root is at the top; siblings are in the order of their names, so that widths are all that differs
 * between two graphs.
 */
#include "lib/format/format.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/format/flamegraph_script.h"
#include "lib/format/label_tree.h"

#define WIDTH 1200.0
#define ROW 17
#define HEADER 40
/* Narrower ones are not to be seen. */
#define WIDTH_MIN 0.1
#define CHAR_WIDTH 6.7
#define TEXT_WIDTH_MIN 21
#define DEPTH_MAX 1024

struct graph {
	struct label_tree tree;
	uint64_t *totals[LABEL_TREE_SIDES]; /* by node */
	double *lefts; /* by node: samples left of it */
	uint32_t *depths; /* by node; UINT32_MAX: not drawn */
	uint64_t sums[LABEL_TREE_SIDES];
	bool has_base; /* colours say what differs from side 1 */
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

/* One of the warm colours, the same for a name in every graph. */
static void name_color(const char *name, char *color, size_t size)
{
	uint64_t hash = hash_bytes(name, strlen(name), 0);

	snprintf(color, size, "#%02x%02x%02x", (unsigned int)(205 + hash % 50),
		 (unsigned int)(90 + (hash >> 8) % 130), (unsigned int)(40 + (hash >> 16) % 40));
}

/*
 * Red for a share that grew, blue for one that shrank, the stronger the more; grey where the
 * sampling error explains the difference.
 */
static void difference_color(const struct graph *g, stack_id node, char *color, size_t size)
{
	double a = (double)g->totals[1][node], b = (double)g->totals[0][node];
	double sum_a = (double)g->sums[1], sum_b = (double)g->sums[0];
	double share = (a + b) / (sum_a + sum_b), change = b / sum_b - (sum_a > 0 ? a / sum_a : 0);
	double error = 1.96 * sqrt(share * (1 - share) * (1 / sum_b + 1 / fmax(sum_a, 1)));
	double most = fmax(b / sum_b, sum_a > 0 ? a / sum_a : 0);
	int pale = (int)(210 - 150 * fmin(1, fabs(change) / most));

	if (fabs(change) <= error)
		snprintf(color, size, "#d8d8d8");
	else if (change > 0)
		snprintf(color, size, "#ff%02x%02x", pale, pale);
	else
		snprintf(color, size, "#%02x%02xff", pale, pale);
}

static void add_shares(const struct graph *g, stack_id node, struct strbuf *title)
{
	double share = 100 * (double)g->totals[0][node] / (double)g->sums[0], before = 0;

	strbuf_adds(title, " (");
	strbuf_add_grouped(title, g->totals[0][node]);
	strbuf_addf(title, " samples, %.2f %%", share);
	if (g->has_base) {
		if (g->sums[1])
			before = 100 * (double)g->totals[1][node] / (double)g->sums[1];
		strbuf_addf(title, ", %+.2f", share - before);
	}
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
		char color[16];

		if (g->depths[i] == UINT32_MAX)
			continue;
		strbuf_adds(&title, name);
		add_shares(g, i, &title);
		if (g->has_base)
			difference_color(g, i, color, sizeof(color));
		else
			name_color(name, color, sizeof(color));
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
		strbuf_adds(&heading, "; red: more than before, blue: less, grey: not to be told");
	if (g->is_cut)
		strbuf_addf(&heading, "; cut off below %d frames", DEPTH_MAX);
	return strbuf_take(&heading);
}

static void write_svg(const struct graph *g, const struct profile *p)
{
	_cleanup_free_ char *heading = make_heading(g, p);
	unsigned int height = HEADER + g->rows * ROW + 8;

	write_line(g,
		   "<svg xmlns=\"http://www.w3.org/2000/svg\" id=\"flamegraph\" version=\"1.1\" "
		   "viewBox=\"0 0 %d %u\" width=\"%d\" height=\"%u\">\n"
		   "<style>\n"
		   "#flamegraph { font: 11px monospace; background: #fff; }\n"
		   "#flamegraph g { cursor: pointer; }\n"
		   "#flamegraph text { fill: #000; pointer-events: none; white-space: pre; }\n"
		   "#flamegraph .faded { opacity: 0.5; }\n"
		   "#flamegraph .found rect { fill: #c060ff; }\n"
		   "#flamegraph a { cursor: pointer; } #flamegraph a text { fill: #06c; "
		   "pointer-events: all; }\n"
		   "</style>\n"
		   "<text x=\"3\" y=\"16\">%s</text>\n"
		   "<a id=\"reset\"><text x=\"3\" y=\"33\">Whole graph</text></a>\n"
		   "<a id=\"search\"><text x=\"103\" y=\"33\">Search</text></a>\n"
		   "<text id=\"result\" x=\"203\" y=\"33\"></text>\n"
		   "<g id=\"nodes\">\n",
		   (int)WIDTH, height, (int)WIDTH, height, heading);
	if (g->sums[0])
		write_node(g, "all", "all", "#e8e8e8", 0, WIDTH, 0);
	write_nodes(g);
	write_text(g, "</g>\n<script><![CDATA[\n");
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

static int graph_make(struct graph *g, const struct profile *p,
		      const struct export_options *options, struct error *err)
{
	const struct profile *base = options ? options->base : NULL;

	if (!p->threads.rows.count)
		return error_text(err, -ENODATA, "the recording has no thread");
	g->has_base = base;
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

static int html_write(const struct profile *p, const struct export_options *options,
		      struct outfile *out, struct export_counts *counts, struct error *err)
{
	struct graph g = {.out = out};
	int ret = graph_make(&g, p, options, err);

	(void)counts;
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

const struct format format_html = {
	.name = "html",
	.suffixes = (const char *const[]){".html", ".htm", NULL},
	.is_plain = true,
	.write = html_write,
};
