/* SPDX-License-Identifier: MIT */
/* Options of every command that asks a profile: which samples count, which frames are shown. */
#ifndef PROF_CMD_OPTIONS_QUERY_OPTIONS_H
#define PROF_CMD_OPTIONS_QUERY_OPTIONS_H

#include <getopt.h>

#include "lib/query/select.h"

/* Above the values of a command's own options. */
enum {
	OPT_QUERY_PROCESS = 1024,
	OPT_QUERY_THREAD,
	OPT_QUERY_EVENT,
	OPT_QUERY_CATEGORY,
	OPT_QUERY_TIME,
	OPT_QUERY_DURING,
	OPT_QUERY_FOCUS,
	OPT_QUERY_IGNORE,
	OPT_QUERY_HIDE,
	OPT_QUERY_ROOT,
	OPT_QUERY_NO_KERNEL,
	OPT_QUERY_INCLUDE_IDLE,
};

/* clang-format off */
#define QUERY_LONG_OPTIONS \
	{"process", required_argument, NULL, OPT_QUERY_PROCESS}, \
	{"thread", required_argument, NULL, OPT_QUERY_THREAD}, \
	{"event", required_argument, NULL, OPT_QUERY_EVENT}, \
	{"category", required_argument, NULL, OPT_QUERY_CATEGORY}, \
	{"time", required_argument, NULL, OPT_QUERY_TIME}, \
	{"during", required_argument, NULL, OPT_QUERY_DURING}, \
	{"focus", required_argument, NULL, OPT_QUERY_FOCUS}, \
	{"ignore", required_argument, NULL, OPT_QUERY_IGNORE}, \
	{"hide", required_argument, NULL, OPT_QUERY_HIDE}, \
	{"root", required_argument, NULL, OPT_QUERY_ROOT}, \
	{"no-kernel", no_argument, NULL, OPT_QUERY_NO_KERNEL}, \
	{"include-idle", no_argument, NULL, OPT_QUERY_INCLUDE_IDLE}
/* clang-format on */

/* Two groups of options with headings, to follow an empty line. */
extern const char query_options_help[];

/* -ENOENT: not such an option; -EINVAL with err: a wrong value. Values are borrowed. */
int query_options_set(struct query_filter *filter, int opt, const char *value, struct error *err);
/* The number of the name that `value` is; -EINVAL with err, which lists them. */
int query_options_choose(const char *option, const char *value, const char *const *names,
			 size_t count, struct error *err);
/* "0.5", "0.5%" → 0.005; -EINVAL with err unless it is a share of 0 to 100 percent. */
int query_options_share(const char *option, const char *value, double *share, struct error *err);
/* The value of --limit, less than SIZE_MAX; -EINVAL with err. */
int query_options_limit(const char *value, size_t *limit, struct error *err);

#endif
