/* SPDX-License-Identifier: MIT */
#include "cmd/options/top_options.h"

#include "cmd/command.h"
#include "cmd/options/report_options.h"

#define SECOND_NS 1000000000ull
#define WINDOW_NS (2 * SECOND_NS)
#define WINDOW_NS_MIN SECOND_NS
#define WINDOW_NS_MAX (60 * SECOND_NS)
#define LIMIT 40
/* Interval at which the viewer gets blocks of records. */
#define BLOCK_NS 100000000ull
/* Interval of points at which the viewer can start reading. */
#define EPOCH_NS (10 * SECOND_NS)

#define AT(member) OPTION_AT(top_options, member)

static const struct option_row rows[] = {
	{'a', "all", NULL, "all processes and kernel threads (the default)", OPTION_FLAG, AT(all)},
	{0, "window", "S", "show the latest S seconds, from 1 to 60 (default: 2)", OPTION_TIME,
	 AT(window_ns), .unit_ns = 1e9},
	{0, "by", "WHAT", QUERY_BY_HELP, OPTION_CHOICE, AT(by), .choices = query_by_names},
	{0, "tree", NULL, "begin with the call tree", OPTION_FLAG, AT(is_tree)},
	{0, "inverted", NULL, "the same, from the innermost function outwards", OPTION_FLAG,
	 AT(is_inverted)},
	{0, "total", NULL, "order rows by total weight instead of self weight", OPTION_FLAG,
	 AT(by_total)},
	{0, "include-idle", NULL, "show waits, too, as far as they are recorded", OPTION_FLAG,
	 AT(has_waits)},
	{'b', "batch", NULL, "print each window as a line of JSON, without a terminal", OPTION_FLAG,
	 AT(batch)},
	{0, "every", "S", "with --batch: a window every S seconds (default: one after the other)",
	 OPTION_TIME, AT(every_ns), .unit_ns = 1e9},
	{0, "limit", "COUNT", "with --batch: rows of a window, 0 for all (default: 40)",
	 OPTION_NUMBER, AT(limit), .range = &query_limit},
	{0, "debug-dir", "DIR", "look for .build-id/xx/yyy.debug there; may be repeated",
	 OPTION_CALL, AT(output), .set = output_add_debug_dir},
	{0, "no-symbols", NULL, "leave addresses unnamed", OPTION_FLAG, AT(output.no_symbols)},
	{'v', "verbose", NULL, "print more messages; twice: all", OPTION_COUNTED,
	 AT(output.verbose)},
	{0},
};

static const struct option_rule rules[] = {
	{"every", NULL, "batch", "--every: needs --batch"},
	{"limit", NULL, "batch", "--limit: needs --batch"},
	{"all", "pid name unit container pidfile", NULL, "--all: shows all processes, so @"},
	{0},
};

void top_options_init(struct top_options *o)
{
	*o = (struct top_options){.window_ns = WINDOW_NS, .limit = LIMIT};
	live_options_init(&o->live);
	output_options_init(&o->output);
}

void top_options_release(struct top_options *o)
{
	live_options_release(&o->live);
	filter_options_release(&o->filter);
	output_options_release(&o->output);
}

void top_options_table(struct option_table *t, void *options)
{
	static const struct option_row which[] = {{.help = "\nWhich processes:"}, {0}};
	static const struct option_row how[] = {{.help = "\nRecording:"}, {0}};
	struct top_options *o = options;

	t->operands = live_nothing;
	t->usage = "Usage: prof top [OPTION]... [-a]\n"
		   "       prof top [OPTION]... -p PID[,PID...]\n"
		   "       prof top [OPTION]... --name GLOB|--unit NAME|--container ID\n"
		   "Show where the machine, or running processes, spend their time now.\n"
		   "\n";
	option_table_add(t, rows, o);
	option_table_add_rules(t, rules);
	option_table_add(t, which, NULL);
	option_table_add(t, target_options, &o->filter);
	option_table_add_rules(t, target_rules);
	option_table_add(t, how, NULL);
	live_options_table(t, &o->live);
	option_table_add(t, filter_options, &o->filter);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "? lists the keys. Exit status: 0, 125 if prof failed, 2 for a usage error.\n";
}

static int check(struct top_options *o, struct error *err)
{
	int ret;

	if (o->window_ns < WINDOW_NS_MIN || o->window_ns > WINDOW_NS_MAX)
		return error_text(err, -EINVAL, "--window: must be 1 to 60 seconds");
	o->is_tree |= o->is_inverted;
	ret = o->is_tree ? query_options_check_tree(o->by, err) : 0;
	if (ret)
		return ret;
	if (!o->every_ns)
		o->every_ns = o->window_ns;
	return 0;
}

int top_options_parse(struct top_options *o, int argc, char **argv, struct error *err)
{
	int ret = command_parse(argc, argv, top_options_table, o, err);

	if (!ret && optind < argc)
		ret = error_text(err, -EINVAL, "unexpected argument %s", argv[optind]);
	if (!ret)
		ret = instrument_settings_judge(&o->live.instruments, err);
	if (!ret)
		ret = output_options_check(&o->output, err);
	if (!ret)
		ret = check(o, err);
	o->output.raw_path = "-";
	o->output.no_file = o->output.quiet = true;
	o->output.block_ns = BLOCK_NS;
	o->output.epoch_ns = EPOCH_NS;
	return ret;
}
