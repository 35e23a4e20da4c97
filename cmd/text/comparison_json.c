/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>

#include "cmd/text/comparison_text.h"
#include "cmd/text/listing.h"
#include "lib/base/cleanup.h"

/* null for what is not known, or is without limit. */
static void add_number(struct strbuf *out, const char *key, double value)
{
	if (isfinite(value))
		strbuf_addf(out, "\"%s\": %.10g", key, value);
	else
		strbuf_addf(out, "\"%s\": null", key);
}

static void add_text(struct strbuf *out, const char *key, const char *text)
{
	strbuf_addf(out, "\"%s\": ", key);
	listing_json_string(text, out);
}

static void add_limits(struct strbuf *out, double estimate, double low, double high)
{
	add_number(out, "estimate", estimate);
	strbuf_adds(out, ", ");
	add_number(out, "low", low);
	strbuf_adds(out, ", ");
	add_number(out, "high", high);
}

static void add_side(struct strbuf *out, const struct comparison_text *t, int side)
{
	const struct comparison *c = t->comparison;

	strbuf_adds(out, "{");
	add_text(out, "name", t->names[side]);
	strbuf_addf(out, ", \"runs\": %zu, ", c->runs[side]);
	add_number(out, "ms", c->ms[side]);
	strbuf_adds(out, ", \"times_ms\": [");
	for (size_t i = 0; i < c->runs[side]; i++)
		strbuf_addf(out, "%s%.10g", i ? ", " : "", c->times[side][i]);
	strbuf_adds(out, "]}");
}

static void add_total(struct strbuf *out, const struct comparison_text *t)
{
	const struct comparison *c = t->comparison;

	add_text(out, "metric", t->is_wall ? "wall" : "cpu");
	strbuf_addf(out, ", \"paired\": %s, ", c->is_paired ? "true" : "false");
	add_limits(out, c->total.estimate, c->total.low, c->total.high);
	strbuf_adds(out, ", ");
	add_number(out, "p", c->total.p);
	strbuf_adds(out, ", ");
	add_number(out, "df", c->total.df);
	strbuf_adds(out, ",\n  \"a\": ");
	add_side(out, t, SIDE_A);
	strbuf_adds(out, ",\n  \"b\": ");
	add_side(out, t, SIDE_B);
}

static const char *rule_name(const struct gate_rule *rule)
{
	if (!rule || rule->kind == GATE_TOTAL)
		return "total";
	return rule->kind == GATE_ANY ? "any" : rule->name;
}

static void add_gate(struct strbuf *out, const struct comparison_text *t)
{
	bool is_first = true;

	vec_for_each(&t->results->rows, const struct gate_result *, result) {
		strbuf_adds(out, is_first ? "\n  {" : ",\n  {");
		is_first = false;
		add_text(out, "rule", rule_name(result->rule));
		strbuf_adds(out, ", ");
		add_number(out, "margin", result->rule ? result->rule->margin : 0);
		strbuf_adds(out, ", ");
		add_text(out, "verdict", verdict_names[result->verdict]);
		strbuf_adds(out, ", ");
		add_text(out, "function", result->row ? result->row->name : NULL);
		if (result->more_runs)
			strbuf_addf(out, ", \"more_runs\": %zu}", result->more_runs);
		else
			strbuf_adds(out, ", \"more_runs\": null}");
	}
}

static void add_row(struct strbuf *out, const struct comparison_text *t,
		    const struct comparison_row *row)
{
	const struct share_row *share = &row->share;

	add_text(out, query_by_names[t->by], row->name);
	strbuf_adds(out, ", ");
	add_text(out, "in", row->place);
	strbuf_adds(out, ", ");
	add_number(out, "a", share->shares[SIDE_A]);
	strbuf_adds(out, ", ");
	add_number(out, "b", share->shares[SIDE_B]);
	strbuf_adds(out, ", ");
	add_limits(out, share->estimate, share->low, share->high);
	strbuf_adds(out, ", ");
	add_number(out, "p", share->adjusted_p);
	strbuf_adds(out, ", ");
	add_number(out, "raw_p", share->p);
	strbuf_addf(out, ", \"runs\": %zu, ",
		    t->comparison->runs[SIDE_A] + t->comparison->runs[SIDE_B]);
	add_number(out, "dispersion", share->dispersion);
	strbuf_addf(out, ", \"differs\": %s, ", row->differs ? "true" : "false");
	add_text(out, "mark", row->mark ? comparison_mark_names[row->mark] : NULL);
	strbuf_adds(out, ", \"ms\": {");
	add_number(out, "a", row->ms[SIDE_A]);
	strbuf_adds(out, ", ");
	add_number(out, "b", row->ms[SIDE_B]);
	strbuf_adds(out, ", ");
	add_limits(out, row->difference.estimate, row->difference.low, row->difference.high);
	strbuf_adds(out, "}, \"ratio\": {");
	add_limits(out, row->ratio.estimate, row->ratio.low, row->ratio.high);
	strbuf_adds(out, "}");
}

void comparison_print_json(const struct comparison_text *t, struct strbuf *out)
{
	const struct comparison *c = t->comparison;
	_cleanup_(strbuf_release) struct strbuf headline = {0};
	const char *between = "";

	comparison_headline(t, &headline);
	strbuf_adds(out, "{");
	add_text(out, "verdict", verdict_names[t->results->verdict]);
	strbuf_adds(out, ", ");
	add_text(out, "headline", strbuf_text(&headline));
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
		strbuf_adds(out, between);
		add_row(out, t, row);
		strbuf_adds(out, "}");
		between = ",\n  {";
	}
	strbuf_adds(out, "]}\n");
}
