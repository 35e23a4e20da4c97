/* SPDX-License-Identifier: MIT */
#include "cmd/options/query_options.h"

#include <errno.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define SECONDS_MAX 1e9

const char query_options_help[] =
	"Samples that count:\n"
	"  --process GLOB         of processes of that name or pid\n"
	"  --thread GLOB          of threads of that name or tid\n"
	"  --event NAME           of that event; without, those of the clock\n"
	"  --category GLOB        of code of that category: 'Kernel', 'Kernel: Files'\n"
	"  --time A..B            from second A to second B; one of both may be missing\n"
	"  --during MARKER        taken while a marker of that name (a glob) lasts, on any thread\n"
	"  --focus RE             with such a function in their stack\n"
	"  --ignore RE            without any\n"
	"  --include-idle         of waits, too: those of the category Idle\n"
	"\n"
	"Frames that are shown:\n"
	"  --hide RE              leave such functions out: their callers get the weight\n"
	"  --root NAME            let stacks begin with that function\n"
	"  --no-kernel            leave the kernel's out\n";

int query_options_choose(const char *option, const char *value, const char *const *names,
			 size_t count, struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf all = {0};

	for (size_t i = 0; i < count; i++) {
		if (strcmp(value, names[i]) == 0)
			return (int)i;
		strbuf_addf(&all, "%s%s", i ? ", " : "", names[i]);
	}
	return error_text(err, -EINVAL, "--%s %s: must be one of %s", option, value,
			  strbuf_text(&all));
}

static int parse_seconds(const char *text, uint64_t *ns)
{
	double seconds;

	if (!text_to_double(text, &seconds) || seconds < 0 || seconds > SECONDS_MAX)
		return -EINVAL;
	*ns = (uint64_t)(seconds * 1e9 + 0.5);
	return 0;
}

static int set_time(struct query_filter *filter, const char *value, struct error *err)
{
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

int query_options_share(const char *option, const char *value, double *share, struct error *err)
{
	size_t size = strlen(value);
	_cleanup_free_ char *number = xstrndup(value,
					       size && value[size - 1] == '%' ? size - 1 : size);
	double percent;

	if (!text_to_double(number, &percent) || percent < 0 || percent > 100)
		return error_text(err, -EINVAL, "--%s %s: must be a share, 0 to 100 percent",
				  option, value);
	*share = percent / 100;
	return 0;
}

int query_options_limit(const char *value, size_t *limit, struct error *err)
{
	uint64_t number;

	if (!text_to_u64(value, 10, &number) || number >= SIZE_MAX)
		return error_text(err, -EINVAL, "--limit %s: must be a number of rows", value);
	*limit = number;
	return 0;
}

static const char **filter_text(struct query_filter *filter, int option)
{
	switch (option) {
	case OPT_QUERY_PROCESS:
		return &filter->process;
	case OPT_QUERY_THREAD:
		return &filter->thread;
	case OPT_QUERY_EVENT:
		return &filter->event;
	case OPT_QUERY_CATEGORY:
		return &filter->category;
	case OPT_QUERY_DURING:
		return &filter->during;
	case OPT_QUERY_FOCUS:
		return &filter->focus;
	case OPT_QUERY_IGNORE:
		return &filter->ignore;
	case OPT_QUERY_HIDE:
		return &filter->hide;
	case OPT_QUERY_ROOT:
		return &filter->root;
	default:
		return NULL;
	}
}

int query_options_set(struct query_filter *filter, int opt, const char *value, struct error *err)
{
	const char **text = filter_text(filter, opt);

	if (text) {
		*text = value;
		return 0;
	}
	switch (opt) {
	case OPT_QUERY_TIME:
		return set_time(filter, value, err);
	case OPT_QUERY_NO_KERNEL:
		filter->no_kernel = true;
		return 0;
	case OPT_QUERY_INCLUDE_IDLE:
		filter->include_idle = true;
		return 0;
	default:
		return -ENOENT;
	}
}
