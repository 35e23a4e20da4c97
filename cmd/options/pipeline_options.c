/* SPDX-License-Identifier: MIT */
#include "cmd/options/pipeline_options.h"

#include <time.h>

#include "lib/fleet/fleet_url.h"
#include "lib/fleet/outbox.h"

static int parse_count(const char *text, uint32_t *count)
{
	uint64_t value;

	if (!text_to_u64(text, 10, &value) || value > ITERATION_RUNS_MAX)
		return -EINVAL;
	*count = (uint32_t)value;
	return 0;
}

static int set_iterations(void *at, const char *value, struct error *err)
{
	struct iteration_options *o = at;
	const char *dots = strstr(value, "..");
	_cleanup_free_ char *min = dots ? xstrndup(value, (size_t)(dots - value)) : xstrdup(value);

	if (parse_count(min, &o->min) || parse_count(dots ? dots + 2 : min, &o->max) || !o->min ||
	    o->min > o->max)
		return error_text(err, -EINVAL,
				  "--iterations %s: must be a number from 1 to %d, or a range N..M",
				  value, ITERATION_RUNS_MAX);
	return 0;
}

static int set_variant(void *at, const char *value, struct error *err)
{
	struct iteration_options *o = at;
	const char *equals = strchr(value, '=');
	struct iteration_variant *variant = &o->variants[o->variant_count];
	char **argv;

	if (!equals || equals == value)
		return error_text(err, -EINVAL, "--variant %s: must be NAME=COMMAND", value);
	if (o->variant_count == ITERATION_VARIANTS)
		return error_text(err, -EINVAL, "--variant %s: more than %d variants", value,
				  ITERATION_VARIANTS);
	argv = words_split(equals + 1);
	if (!argv)
		return error_text(err, -EINVAL,
				  "--variant %s: no command, or an unterminated quote", value);
	variant->name = xstrndup(value, (size_t)(equals - value));
	variant->argv = argv;
	o->variant_count++;
	return 0;
}

static const struct size_range seeds = {1, UINT32_MAX, "must be a number from 1 to 4294967295"};
static const struct size_range warmups = {0, ITERATION_RUNS_MAX, "must be a number up to 1000"};

#define USED OPTION_GIVEN(iteration_options, is_used)

const struct option_row iteration_options[] = {
	{.help = "\nComparable runs, for prof diff:"},
	{0, "iterations", "N",
	 "run the command N times, into one profile; N..M with variants:\n"
	 "N times, or up to M times until the difference is clear",
	 OPTION_CALL, USED, .set = set_iterations},
	{0, "warmup", "N", "run it N times first, unrecorded (default 0)", OPTION_NUMBER,
	 OPTION_AT(iteration_options, warmup), USED, .range = &warmups},
	{0, "variant", "NAME=COMMAND",
	 "given twice or more, in place of a command; run in random order", OPTION_CALL, USED,
	 .set = set_variant},
	{0, "seed", "N", "seed for that order", OPTION_NUMBER, OPTION_AT(iteration_options, seed),
	 USED, .range = &seeds},
	{0, "keep-going", NULL, "continue after a run that fails", OPTION_FLAG,
	 OPTION_AT(iteration_options, keep_going), USED},
	{0},
};

static int check_variants(const struct iteration_options *o, char *const *argv, struct error *err)
{
	if (o->variant_count == 1)
		return error_text(err, -EINVAL, "--variant: must be given at least twice");
	if (o->variant_count && argv)
		return error_text(err, -EINVAL, "--variant: cannot be combined with a command");
	for (uint32_t i = 1; i < o->variant_count; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (strcmp(o->variants[i].name, o->variants[k].name) == 0)
				return error_text(err, -EINVAL,
						  "--variant %s: the name is already used",
						  o->variants[i].name);
		}
	}
	if (o->variant_count != 2 && o->min != o->max)
		return error_text(err, -EINVAL,
				  "--iterations %u..%u: needs two variants to compare", o->min,
				  o->max);
	if (!o->variant_count && o->seed)
		return error_text(err, -EINVAL, "--seed: needs --variant");
	return 0;
}

int iteration_options_check(struct iteration_options *o, char *const *argv, struct error *err)
{
	int ret = o->is_used ? check_variants(o, argv, err) : 0;
	uint32_t each = o->variant_count ? o->variant_count : 1;

	if (ret || !o->is_used)
		return ret;
	if (!o->min)
		return error_text(err, -EINVAL,
				  "--warmup, --variant, --seed and --keep-going need --iterations");
	if ((o->max + o->warmup) * each > ITERATION_RUNS_MAX)
		return error_text(err, -EINVAL, "--iterations: more than %d runs in total",
				  ITERATION_RUNS_MAX);
	if (!o->seed)
		o->seed = (uint32_t)hash_u64(clock_realtime_ns()) | 1;
	return 0;
}

char *const *iteration_options_argv(const struct iteration_options *o, char *const *argv)
{
	return o->variant_count ? o->variants[0].argv : argv;
}

void iteration_options_release(struct iteration_options *o)
{
	for (uint32_t i = 0; i < o->variant_count; i++) {
		free(o->variants[i].name);
		words_free(o->variants[i].argv);
	}
}

uint32_t iteration_options_looks(const struct iteration_options *o)
{
	uint32_t looks = 1;

	for (uint32_t at = o->min; at < o->max; at *= 2)
		looks++;
	return looks;
}

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
