/* SPDX-License-Identifier: MIT */
/* Prints the result of a comparison as text, Markdown or JSON. */
#pragma once

#include "cmd/text/listing.h"
#include "lib/query/comparison.h"
#include "lib/query/gate.h"

/* Maximum number of lines of the job summary. */
#define COMPARISON_MARKDOWN_LINES 30

struct comparison_text {
	const struct comparison *comparison;
	const struct comparable *comparable;
	const struct gate *gate;
	const struct gate_results *results;
	const char *names[SIDE_COUNT]; /* names of files or variants; untrusted */
	enum query_by by;
	bool is_wall;
	size_t limit; /* maximum number of rows; 0: all */
};

/* Appends "CPU +4.6 % (+3.1 … +6.2), 10 pairs", prefixed by "Slower: " or similar. */
void comparison_headline(const struct comparison_text *t, struct strbuf *out);
/* width: columns of the terminal; 0 without one. */
void comparison_print_text(const struct comparison_text *t, size_t width, struct strbuf *out);
/* Lists the rows of the text. Returns the number of omitted rows. */
size_t comparison_list(const struct comparison_text *t, struct listing *l);
void comparison_print_markdown(const struct comparison_text *t, struct strbuf *out);
/* Prints a JSON object as described in prof-diff(1). */
void comparison_print_json(const struct comparison_text *t, struct strbuf *out);
