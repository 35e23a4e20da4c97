/* SPDX-License-Identifier: MIT */
#include "cmd/text/comparison_text.h"

#include <math.h>

static const char *const measure_names[] = {
	[MEASURE_COUNT] = "count",
	[MEASURE_BYTES] = "bytes",
	[MEASURE_TIME] = "ns",
};

static void add_limits(struct strbuf *out, const char *before, double estimate, double low,
		       double high)
{
	listing_json_number(out, before, "estimate", estimate);
	listing_json_number(out, ", ", "low", low);
	listing_json_number(out, ", ", "high", high);
}

/* The name of times or amounts in JSON: amounts are bytes, ns or counts. */
static const char *amount_key(const struct comparison *c)
{
	return c->event ? "amount" : "ms";
}

static void comparison_json_add_side(struct strbuf *out, const struct comparison_text *t, int side)
{
	const struct comparison *c = t->comparison;

	listing_json_text(out, "{", "name", t->names[side]);
	strbuf_addf(out, ", \"runs\": %zu", c->runs[side]);
	listing_json_number(out, ", ", amount_key(c), c->ms[side]);
	strbuf_addf(out, ", \"%s\": [", c->event ? "amounts" : "times_ms");
	for (size_t i = 0; i < c->runs[side]; i++)
		strbuf_addf(out, "%s%.10g", i ? ", " : "", c->times[side][i]);
	strbuf_adds(out, "]}");
}

static const char *metric_name(const struct comparison_text *t)
{
	if (t->is_wall)
		return "wall";
	if (t->comparison->is_rate)
		return "rate";
	return t->comparison->event ? "amount" : "cpu";
}

static void add_total(struct strbuf *out, const struct comparison_text *t)
{
	const struct comparison *c = t->comparison;

	listing_json_text(out, "", "metric", metric_name(t));
	if (c->event) {
		listing_json_text(out, ", ", "event", c->event);
		listing_json_text(out, ", ", "unit", measure_names[c->measure]);
	}
	strbuf_addf(out, ", \"paired\": %s", c->is_paired ? "true" : "false");
	add_limits(out, ", ", c->total.estimate, c->total.low, c->total.high);
	listing_json_number(out, ", ", "p", c->total.p);
	listing_json_number(out, ", ", "df", c->total.df);
	strbuf_adds(out, ",\n  \"a\": ");
	comparison_json_add_side(out, t, SIDE_A);
	strbuf_adds(out, ",\n  \"b\": ");
	comparison_json_add_side(out, t, SIDE_B);
}

static const char *rule_name(const struct gate_rule *rule)
{
	if (!rule || rule->kind == GATE_TOTAL)
		return "total";
	return rule->kind == GATE_ANY ? "any" : rule->name;
}

static void add_gate(struct strbuf *out, const struct comparison_text *t)
{
	const char *before = "\n  {";

	vec_for_each(&t->results->rows, const struct gate_result *, result) {
		listing_json_text(out, before, "rule", rule_name(result->rule));
		listing_json_number(out, ", ", "margin", result->rule ? result->rule->margin : 0);
		listing_json_text(out, ", ", "verdict", verdict_names[result->verdict]);
		listing_json_text(out, ", ", "function", result->row ? result->row->name : NULL);
		if (result->more_runs)
			strbuf_addf(out, ", \"more_runs\": %zu}", result->more_runs);
		else
			strbuf_adds(out, ", \"more_runs\": null}");
		before = ",\n  {";
	}
}

static void comparison_json_add_row(struct strbuf *out, const char *before,
				    const struct comparison_text *t,
				    const struct comparison_row *row)
{
	const struct share_row *share = &row->share;

	listing_json_text(out, before, query_by_names[t->by], row->name);
	listing_json_text(out, ", ", "in", row->place);
	listing_json_number(out, ", ", "a", share->shares[SIDE_A]);
	listing_json_number(out, ", ", "b", share->shares[SIDE_B]);
	add_limits(out, ", ", share->estimate, share->low, share->high);
	listing_json_number(out, ", ", "p", share->adjusted_p);
	listing_json_number(out, ", ", "raw_p", share->p);
	strbuf_addf(out, ", \"runs\": %zu",
		    t->comparison->runs[SIDE_A] + t->comparison->runs[SIDE_B]);
	listing_json_number(out, ", ", "dispersion", share->dispersion);
	strbuf_addf(out, ", \"differs\": %s", row->differs ? "true" : "false");
	listing_json_text(out, ", ", "mark", row->mark ? comparison_mark_names[row->mark] : NULL);
	strbuf_addf(out, ", \"%s\": ", amount_key(t->comparison));
	listing_json_number(out, "{", "a", row->ms[SIDE_A]);
	listing_json_number(out, ", ", "b", row->ms[SIDE_B]);
	add_limits(out, ", ", row->difference.estimate, row->difference.low, row->difference.high);
	add_limits(out, "}, \"ratio\": {", row->ratio.estimate, row->ratio.low, row->ratio.high);
	strbuf_adds(out, "}}");
}

void comparison_print_json(const struct comparison_text *t, struct strbuf *out)
{
	const struct comparison *c = t->comparison;
	_cleanup_(strbuf_release) struct strbuf headline = {0};
	const char *between = "";

	comparison_headline(t, &headline);
	listing_json_text(out, "{\"schema\": \"prof-diff/1\", ", "verdict",
			  verdict_names[t->results->verdict]);
	listing_json_text(out, ", ", "headline", strbuf_text(&headline));
	strbuf_addf(out, ", \"looks\": %" PRIu32 ", \"alpha\": %.10g,\n\"total\": {", c->looks,
		    c->alpha);
	add_total(out, t);
	strbuf_adds(out, "},\n\"gate\": [");
	add_gate(out, t);
	strbuf_adds(out, "],\n\"warnings\": [");
	vec_for_each(&t->comparable->warnings, char *const *, warning) {
		strbuf_adds(out, between);
		listing_json_string(*warning, out);
		between = ", ";
	}
	strbuf_adds(out, "],\n\"rows\": [");
	between = "\n  {";
	vec_for_each(&c->rows, const struct comparison_row *, row) {
		comparison_json_add_row(out, between, t, row);
		between = ",\n  {";
	}
	strbuf_adds(out, "]}\n");
}

/* Rows in Markdown, which keep the output within COMPARISON_MARKDOWN_LINES. */
#define MARKDOWN_ROWS 12
#define MARKDOWN_RULES 6
#define MARKDOWN_WARNINGS 5

static void add_safe(struct strbuf *out, const char *text)
{
	_cleanup_free_ char *copy = xstrdup(text);

	text_to_line(copy);
	strbuf_adds(out, copy);
}

/* Adds "+4.6 % (+3.1 … +6.2)", without limits if the error is unknown. */
static void add_percent(struct strbuf *out, const struct interval *i)
{
	if (!isfinite(i->estimate)) {
		strbuf_adds(out, "from nothing");
		return;
	}
	strbuf_addf(out, "%+.1f %%", 100 * i->estimate);
	if (isfinite(i->low) && isfinite(i->high))
		strbuf_addf(out, " (%+.1f … %+.1f)", 100 * i->low, 100 * i->high);
}

static void add_runs(struct strbuf *out, const struct comparison *c)
{
	if (c->is_single)
		strbuf_adds(out, "one run per side");
	else if (c->is_paired)
		strbuf_addf(out, "%zu %s", c->runs[SIDE_A],
			    text_counted(c->runs[SIDE_A], "pair", "pairs"));
	else
		strbuf_addf(out, "%zu and %zu runs", c->runs[SIDE_A], c->runs[SIDE_B]);
}

/* Appends an amount, with a sign if that is not "". */
static void add_amount(struct strbuf *out, const struct comparison *c, const char *sign,
		       double value)
{
	char text[32];

	if (*sign)
		strbuf_addch(out, value < 0 ? '-' : '+');
	value = fabs(value);
	if (c->measure == MEASURE_BYTES) {
		text_format_bytes(text, sizeof(text), (uint64_t)(value + 0.5));
		strbuf_adds(out, text);
	} else if (c->measure == MEASURE_TIME) {
		strbuf_addf(out, "%.4g ms", value / 1e6);
	} else if (c->is_rate) {
		strbuf_addf(out, "%.4g", value);
	} else {
		strbuf_add_grouped(out, (uint64_t)(value + 0.5));
	}
	if (c->is_rate)
		strbuf_adds(out, "/s");
}

static char *amount_cell(const struct comparison *c, const char *sign, double value)
{
	struct strbuf text = {0};

	add_amount(&text, c, sign, value);
	return strbuf_take(&text);
}

/* Names the quantity that is compared as a whole. */
static void add_subject(struct strbuf *out, const struct comparison_text *t)
{
	const struct comparison *c = t->comparison;

	if (c->event && !t->is_wall)
		add_safe(out, c->event);
	else
		strbuf_adds(out, t->is_wall ? "wall time" : "CPU");
	if (c->is_rate)
		strbuf_adds(out, " a second");
}

static const char *amount_word(const struct comparison *c)
{
	if (c->total.low > 0)
		return "More";
	return c->total.high < 0 ? "Less" : "No clear difference";
}

static const char *verdict_word(const struct comparison_text *t)
{
	const struct comparison *c = t->comparison;

	if (c->event && !t->is_wall)
		return amount_word(c);
	if (t->results->verdict == VERDICT_REGRESSION)
		return c->total.low > 0 ? "Slower" : "Slower in part";
	if (c->total.low > 0)
		return "Slower";
	if (c->total.high < 0)
		return "Faster";
	return t->results->verdict == VERDICT_PASSED ? "Not slower" : "Inconclusive";
}

void comparison_headline(const struct comparison_text *t, struct strbuf *out)
{
	strbuf_addf(out, "%s: ", verdict_word(t));
	add_subject(out, t);
	strbuf_addch(out, ' ');
	add_percent(out, &t->comparison->total);
	strbuf_adds(out, ", ");
	add_runs(out, t->comparison);
}

/* Appends an untrusted name as plain text of the format. */
typedef void add_name_fn(struct strbuf *out, const char *name);

/* Adds "total=2%: passed", with the deciding figures. */
static void add_rule(struct strbuf *out, const struct comparison *c,
		     const struct gate_result *result, add_name_fn *add_name)
{
	const struct gate_rule *rule = result->rule;

	add_name(out, rule_name(rule));
	strbuf_addf(out, "=%.6g%%: %s", 100 * rule->margin, verdict_names[result->verdict]);
	if (rule->kind == GATE_NAME && !result->row)
		strbuf_adds(out, ": there is no such row, or it has too few samples");
	if (result->row) {
		strbuf_adds(out, ": ");
		if (rule->kind == GATE_ANY) {
			add_name(out, result->row->name);
			strbuf_addch(out, ' ');
		}
		add_percent(out, &result->row->ratio);
	}
	if (result->verdict != VERDICT_INCONCLUSIVE)
		return;
	if (result->more_runs)
		strbuf_addf(out, "; about %zu more %s would decide", result->more_runs,
			    c->is_paired
				    ? text_counted(result->more_runs, "pair", "pairs")
				    : text_counted(result->more_runs, "run a side", "runs a side"));
	else if (c->is_single)
		strbuf_adds(out, "; repeated runs would show the noise");
}

static char *format(const char *fmt, double value)
{
	char text[64];

	snprintf(text, sizeof(text), fmt,
		 value); /* NOLINT: all formats are literals of this file */
	return xstrdup(text);
}

/* Adds shares, and their difference with its limits. */
static void add_shares(struct listing *l, const struct comparison_row *row)
{
	const struct share_row *share = &row->share;

	listing_add_cell(l, format("%.1f %%", 100 * share->shares[SIDE_A]));
	listing_add_cell(l, format("%.1f %%", 100 * share->shares[SIDE_B]));
	listing_add_cell(l, xasprintf("%+.1f (%+.1f … %+.1f)", 100 * share->estimate,
				      100 * share->low, 100 * share->high));
}

static void add_amounts(struct listing *l, const struct comparison *c,
			const struct comparison_row *row)
{
	_cleanup_(strbuf_release) struct strbuf change = {0};

	add_amount(&change, c, "+", row->difference.estimate);
	if (isfinite(row->difference.low)) {
		strbuf_adds(&change, " (");
		add_amount(&change, c, "+", row->difference.low);
		strbuf_adds(&change, " … ");
		add_amount(&change, c, "+", row->difference.high);
		strbuf_addch(&change, ')');
	}
	listing_add_cell(l, amount_cell(c, "", row->ms[SIDE_A]));
	listing_add_cell(l, amount_cell(c, "", row->ms[SIDE_B]));
	listing_add_cell(l, strbuf_take(&change));
}

static void add_row(struct listing *l, const struct comparison *c, const struct comparison_row *row)
{
	listing_add_row(l, 0);
	listing_add_cell(l, xstrdup(row->differs ? "*" : ""));
	if (c->event)
		add_amounts(l, c, row);
	else
		add_shares(l, row);
	listing_add_cell(l, row->share.adjusted_p < 0.001 ? xstrdup("<0.001")
							  : format("%.3f", row->share.adjusted_p));
	if (!c->event)
		listing_add_cell(l, format(fabs(row->difference.estimate) < 10 ? "%+.2f" : "%+.0f",
					   row->difference.estimate));
	listing_add_cell(l, xstrdup(comparison_mark_names[row->mark]));
	listing_add_cell(l, xstrdup(row->name));
	listing_add_cell(l, row->place ? xstrdup(row->place) : NULL);
}

static const char *title_of(enum query_by by)
{
	static const char *const titles[QUERY_BY_COUNT] = {
		[QUERY_BY_FUNCTION] = "FUNCTION", [QUERY_BY_MODULE] = "MODULE",
		[QUERY_BY_FILE] = "FILE",	  [QUERY_BY_LINE] = "FUNCTION:LINE",
		[QUERY_BY_PROCESS] = "PROCESS",	  [QUERY_BY_THREAD] = "THREAD",
		[QUERY_BY_CATEGORY] = "CATEGORY", [QUERY_BY_ADDRESS] = "ADDRESS",
		[QUERY_BY_PID] = "PROCESS",
	};

	return titles[by];
}

size_t comparison_list(const struct comparison_text *t, struct listing *l)
{
	const struct comparison *c = t->comparison;
	size_t count = c->rows.count;

	listing_add_column(l, "", LISTING_SHARE);
	listing_add_column(l, "A", LISTING_SHARE);
	listing_add_column(l, "B", LISTING_SHARE);
	listing_add_column(l, "DIFFERENCE", LISTING_SHARE);
	listing_add_column(l, "P", LISTING_SHARE);
	if (!c->event)
		listing_add_column(l, "MS A RUN", LISTING_SHARE);
	listing_add_column(l, "", LISTING_TEXT);
	listing_add_column(l, title_of(t->by), LISTING_TEXT);
	listing_add_column(l, "IN", LISTING_TEXT);
	listing_keep_ends(l);
	if (t->limit && count > t->limit)
		count = t->limit;
	for (size_t i = 0; i < count; i++)
		add_row(l, c, &c->rows.items[i]);
	return c->rows.count - count;
}

static void add_side(struct strbuf *out, const struct comparison_text *t, int side)
{
	const struct comparison *c = t->comparison;
	size_t runs = c->runs[side];

	strbuf_addf(out, "%c: ", side == SIDE_A ? 'A' : 'B');
	add_safe(out, t->names[side]);
	strbuf_addf(out, ", %zu run%s of ", runs, runs == 1 ? "" : "s");
	if (c->event && !t->is_wall)
		add_amount(out, c, "", c->ms[side]);
	else
		strbuf_addf(out, "%.1f ms%s", c->ms[side], c->is_rate ? "/s" : "");
	strbuf_addch(out, '\n');
}

/* Adds caveats that apply to the whole comparison. */
static void add_caveats(struct strbuf *out, const struct comparison_text *t, const char *before)
{
	const struct comparison *c = t->comparison;

	if (c->is_single)
		strbuf_addf(out, "%sOne run per side: only the sampling error is known\n", before);
	else if (!c->is_paired)
		strbuf_addf(out,
			    "%sThe runs were not interleaved in pairs: drift of the machine is not "
			    "excluded\n",
			    before);
	if (c->is_by_samples)
		strbuf_addf(out, "%sNo CPU times were recorded: times are estimated from samples\n",
			    before);
}

void comparison_print_text(const struct comparison_text *t, size_t width, struct strbuf *out)
{
	const struct comparison *c = t->comparison;
	struct listing l = {0};
	size_t left_out = comparison_list(t, &l);

	add_side(out, t, SIDE_A);
	add_side(out, t, SIDE_B);
	comparison_headline(t, out);
	strbuf_addch(out, '\n');
	vec_for_each(&t->results->rows, const struct gate_result *, result) {
		if (!result->rule)
			continue;
		add_rule(out, c, result, add_safe);
		strbuf_addch(out, '\n');
	}
	add_caveats(out, t, "");
	if (c->looks > 1)
		strbuf_addf(out, "Looked %" PRIu32 " times: limits with an error of %.3g %%\n",
			    c->looks, 100 * c->alpha);
	strbuf_addch(out, '\n');
	if (c->rows.count)
		listing_print_text(&l, width, out);
	if (left_out)
		strbuf_addf(out, "\n%zu more %s (--limit 0: all)\n", left_out,
			    text_counted(left_out, "row", "rows"));
	listing_release(&l);
}

static const char *symbol(enum verdict verdict)
{
	static const char *const symbols[VERDICT_COUNT] = {
		[VERDICT_PASSED] = "✅",
		[VERDICT_INCONCLUSIVE] = "❔",
		[VERDICT_REGRESSION] = "❌",
	};

	return symbols[verdict];
}

/* Escapes text for Markdown: a name never becomes markup. */
static void add_plain(struct strbuf *out, const char *text)
{
	_cleanup_free_ char *copy = xstrdup(text);

	text_to_line(copy);
	for (const char *at = copy; *at; at++) {
		if (strchr("\\`*_[]<>#.|~&@:", *at))
			strbuf_addf(out, "&#%d;", *at);
		else
			strbuf_addch(out, *at);
	}
}

static void add_markdown_row(struct listing *l, const struct comparison *c,
			     const struct comparison_row *row)
{
	double ms = row->difference.estimate;

	if (c->event) {
		_cleanup_free_ char *a = amount_cell(c, "", row->ms[SIDE_A]);
		_cleanup_free_ char *b = amount_cell(c, "", row->ms[SIDE_B]);

		listing_add_cell(l, xasprintf("%s → %s", a, b));
		listing_add_cell(l, amount_cell(c, "+", ms));
		return;
	}
	listing_add_cell(l, xasprintf("%.1f → %.1f %%", 100 * row->share.shares[SIDE_A],
				      100 * row->share.shares[SIDE_B]));
	listing_add_cell(l, xasprintf(fabs(ms) < 10 ? "%+.2f ms" : "%+.0f ms", ms));
}

static void add_markdown_table(const struct comparison_text *t, struct strbuf *out)
{
	const struct comparison *c = t->comparison;
	struct listing l = {0};
	size_t count = 0;

	listing_add_column(&l, "function", LISTING_TEXT);
	listing_add_column(&l, "A → B", LISTING_SHARE);
	listing_add_column(&l, "a run", LISTING_SHARE);
	listing_add_column(&l, "", LISTING_SHARE);
	vec_for_each(&c->rows, const struct comparison_row *, row) {
		if (!row->differs || count++ >= MARKDOWN_ROWS)
			continue;
		listing_add_row(&l, 0);
		listing_add_cell(&l, xstrdup(row->name));
		add_markdown_row(&l, c, row);
		listing_add_cell(&l, xstrdup(comparison_mark_names[row->mark]));
	}
	if (count)
		listing_print_markdown(&l, out);
	else
		strbuf_adds(out, "No row differs by more than the noise.\n");
	if (count > MARKDOWN_ROWS)
		strbuf_addf(out, "\n%zu more\n", count - MARKDOWN_ROWS);
	listing_release(&l);
}

static void add_markdown_rules(const struct comparison_text *t, struct strbuf *out)
{
	size_t count = 0;

	vec_for_each(&t->results->rows, const struct gate_result *, result) {
		if (!result->rule || count++ >= MARKDOWN_RULES)
			continue;
		strbuf_addf(out, "- %s ", symbol(result->verdict));
		add_rule(out, t->comparison, result, add_plain);
		strbuf_addch(out, '\n');
	}
	if (count)
		strbuf_addch(out, '\n');
}

void comparison_print_markdown(const struct comparison_text *t, struct strbuf *out)
{
	size_t warnings = 0;

	strbuf_addf(out, "%s **", symbol(t->results->verdict));
	comparison_headline(t, out);
	strbuf_adds(out, "**\n\n");
	add_markdown_rules(t, out);
	add_markdown_table(t, out);
	strbuf_addch(out, '\n');
	add_caveats(out, t, "- ");
	vec_for_each(&t->comparable->warnings, char *const *, warning) {
		if (warnings++ >= MARKDOWN_WARNINGS)
			break;
		strbuf_adds(out, "- ");
		add_plain(out, *warning);
		strbuf_addch(out, '\n');
	}
}
