/* SPDX-License-Identifier: MIT */
/*
 * Sanitises whatever is a profile. The result is a profile again, in which a second look finds no
 * path, user or machine, and from which nothing more is taken away.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "lib/query/sanitize/sanitize.h"
#include "tests/fuzz/input.h"

static struct profile *sanitized(const struct profile *p, const struct sanitize_options *options,
				 struct sanitize_counts *counts)
{
	struct profile *into;

	if (sanitize(&into, p, options, counts, NULL))
		abort();
	return into;
}

static void check(const struct profile *p, const struct sanitize_options *options)
{
	struct sanitize_findings findings = {0};
	struct sanitize_counts counts;
	struct profile *again;

	sanitize_search(&findings, p, p, options, SIZE_MAX);
	vec_for_each(&findings.rows, const struct sanitize_finding *, row) {
		fprintf(stderr, "%s: %s\n", row->what, row->text);
		abort();
	}
	sanitize_findings_release(&findings);
	again = sanitized(p, options, &counts);
	if (counts.removed[SANITIZE_PATHS] || counts.removed[SANITIZE_SOURCES] ||
	    again->stacks.rows.count != p->stacks.rows.count)
		abort();
	profile_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sanitize_user alice = {"alice", "/srv/alice", "Alice Example"};
	struct sanitize_options options = {.users = &alice, .user_count = 1, .host = "box.lan"};
	struct sanitize_counts counts;
	char *input = xmalloc(size + 1);
	struct profile *p, *one;
	int ret;

	memcpy(input, data, size);
	ret = format_firefox.read(&p, input, size, NULL, NULL);
	free(input);
	if (ret)
		return 0;
	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++)
		options.removes[i] = i != SANITIZE_BUILD_IDS;
	one = sanitized(p, &options, &counts);
	check(one, &options);
	profile_free(one);
	options.names = "^[a-m]";
	profile_free(sanitized(p, &options, &counts));
	profile_free(p);
	return 0;
}
