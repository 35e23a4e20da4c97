/* SPDX-License-Identifier: MIT */
#include "cmd/options/query_options.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define SECONDS_MAX 1e9

static int parse_seconds(const char *text, uint64_t *ns)
{
	double seconds;

	if (!text_to_double(text, &seconds) || seconds < 0 || seconds > SECONDS_MAX)
		return -EINVAL;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

static int set_time(void *at, const char *value, struct error *err)
{
	struct query_filter *filter = at;
	const char *dots = strstr(value, "..");
	_cleanup_free_ char *from = dots ? xstrndup(value, (size_t)(dots - value)) : NULL;
	const char *until = dots ? dots + 2 : "";

	if (!dots || (!*from && !*until) || (*from && parse_seconds(from, &filter->from)) ||
	    (*until && parse_seconds(until, &filter->until)))
		return error_text(err, -EINVAL, "--time %s: must be two times in seconds, A..B",
				  value);
	if (filter->from >= filter->until)
		return error_text(err, -EINVAL, "--time %s: ends before it begins", value);
	return 0;
}

#define GIVEN OPTION_GIVEN(query_filter, is_given)
#define AT(member) OPTION_AT(query_filter, member), GIVEN

const struct size_range query_limit = {0, SIZE_MAX - 1, "must be a number of rows"};

const struct option_row query_options[] = {
	{.help = "\nWhich samples count:"},
	{0, "process", "GLOB", "in processes with this name or pid", OPTION_TEXT, AT(process)},
	{0, "thread", "GLOB", "in threads with this name or tid", OPTION_TEXT, AT(thread)},
	{0, "event", "NAME", "of this event (default: those of the clock)", OPTION_TEXT, AT(event)},
	{0, "category", "GLOB", "in code of this category: 'Kernel', 'Kernel: Files'", OPTION_TEXT,
	 AT(category)},
	{0, "time", "A..B", "from second A to second B; either may be left out", OPTION_CALL, GIVEN,
	 .set = set_time},
	{0, "during", "MARKER", "while a marker with this name (a glob) lasts, on any thread",
	 OPTION_TEXT, AT(during)},
	{0, "focus", "RE", "with such a function in the stack", OPTION_TEXT, AT(focus)},
	{0, "ignore", "RE", "without such a function in the stack", OPTION_TEXT, AT(ignore)},
	{0, "include-idle", NULL, "also waits, whose category is Idle", OPTION_FLAG,
	 AT(include_idle)},
	{.help = "\nWhich frames are shown:"},
	{0, "hide", "RE", "leave such functions out; callers get their weight", OPTION_TEXT,
	 AT(hide)},
	{0, "root", "NAME", "start stacks at this function", OPTION_TEXT, AT(root)},
	{0, "no-kernel", NULL, "leave kernel frames out", OPTION_FLAG, AT(no_kernel)},
	{0, "fold-recursion", NULL, "show a function that calls itself once", OPTION_FLAG,
	 AT(fold_recursion)},
	{0},
};

int query_options_check_tree(enum query_by by, struct error *err)
{
	if (query_by_has_stacks(by))
		return 0;
	return error_text(err, -EINVAL, "--by %s: stacks do not consist of those",
			  query_by_names[by]);
}
