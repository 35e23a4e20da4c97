/* SPDX-License-Identifier: MIT */
#include "cmd/options/push_options.h"

#include <time.h>

#include "lib/fleet/fleet_url.h"
#include "lib/fleet/outbox.h"

#define NS_PER_SECOND 1e9
#define EVERY_NS_DEFAULT 10000000000ull
/* Engines store the times of windows in seconds. */
#define EVERY_NS_MIN 1000000000ull
#define EVERY_NS_MAX 3600000000000ull

void push_options_init(struct push_options *o)
{
	*o = (struct push_options){
		.every_ns = EVERY_NS_DEFAULT, .retry_ns = BACKOFF_FIRST_NS, .alive_fd = -1};
}

void push_options_release(struct push_options *o)
{
	vec_release(&o->urls);
	vec_release(&o->labels);
}

static int add_label(void *at, const char *value, struct error *err)
{
	struct push_options *o = at;
	const char *equal = strchr(value, '=');

	if (!equal || equal == value)
		return error_text(err, -EINVAL, "--label %s: must be NAME=VALUE", value);
	vec_push(&o->labels, value);
	return 0;
}

static int add_url(void *at, const char *value, struct error *err)
{
	struct push_options *o = at;

	vec_push(&o->urls, value);
	return 0;
}

#define AT(member) OPTION_AT(push_options, member)

static const struct size_range series_range = {2, 1000000, "must be a number from 2 to 1000000"};

const struct option_row push_options_who[] = {
	{0, "service", "NAME",
	 "service of the samples; default: stated by each process, or\nthe recorded command",
	 OPTION_WORD, AT(service)},
	{0, "host", "NAME", "machine of the samples; default: this one", OPTION_WORD, AT(host)},
	{0, "label", "NAME=VALUE", "label of each window, such as release=1.2; repeatable",
	 OPTION_CALL, .set = add_label},
	{0},
};

const struct option_row push_options_windows[] = {
	{0, "push", "URL", "send the samples to this engine; repeatable", OPTION_CALL,
	 .set = add_url},
	{0, "every", "S", "send a window every S seconds (default: 10)", OPTION_TIME, AT(every_ns),
	 .unit_ns = NS_PER_SECOND},
	{0, "max-series", "N",
	 "distinguish at most N services, containers and programs (default: 500)", OPTION_NUMBER,
	 AT(max_series), .range = &series_range},
	{0, "retry", "S", "retry after S seconds at first (default: 1)", OPTION_TIME, AT(retry_ns),
	 .unit_ns = NS_PER_SECOND},
	{0},
};

const struct option_rule push_options_rules[] = {
	{"push", "output raw report format stats keep-capture no-spool sync", NULL,
	 "--push: writes no file, so @; prof push sends one"},
	{"push", "last", NULL, NULL},
	{"every", NULL, "push", NULL},
	{"retry", NULL, "push", NULL},
	{"max-series", NULL, "push", NULL},
	{"service", NULL, "push", NULL},
	{"host", NULL, "push", NULL},
	{"label", NULL, "push", NULL},
	{0},
};

int push_options_check(struct push_options *o, struct error *err)
{
	int ret = 0;

	vec_push(&o->labels, NULL);
	o->labels.count--;
	for (size_t i = 0; !ret && i < o->urls.count; i++) {
		struct fleet_url url = {0};

		ret = fleet_url_parse(&url, o->urls.items[i], (uint64_t)time(NULL), err);
		if (ret)
			error_wrap(err, "--push %s", o->urls.items[i]);
		else if (url.is_filtered)
			ret = error_text(err, -EINVAL,
					 "--push %s: the only key allowed here is password-file",
					 o->urls.items[i]);
		fleet_url_release(&url);
		for (size_t j = 0; !ret && j < i; j++) {
			if (strcmp(o->urls.items[i], o->urls.items[j]) == 0)
				ret = error_text(err, -EINVAL, "--push %s: given twice",
						 o->urls.items[i]);
		}
	}
	if (!ret && (o->every_ns < EVERY_NS_MIN || o->every_ns > EVERY_NS_MAX))
		ret = error_text(err, -EINVAL, "--every: must be between 1 s and 1 h");
	return ret;
}
