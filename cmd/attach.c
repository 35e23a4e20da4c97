/* SPDX-License-Identifier: MIT */
/* prof attach: record running processes. */
#include "cmd/command.h"
#include "cmd/options/filter_options.h"
#include "cmd/elevate/caller.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/run/pipeline.h"
#include "lib/live/process/targets.h"

extern const struct command command_attach;

/* Interval between searches while waiting. */
#define WAIT_US 50000
/* Maximum number of process names printed. */
#define SHOWN_MAX 8

struct attach {
	struct caller *front; /* NULL: not started by the front process */
	struct filter_options filter;
	struct live_options live;
	struct output_options output;
	bool waits; /* wait until a matching process exists */
};

static void make_table(struct option_table *t, void *ctx)
{
	static const struct option_row which[] = {{.help = "Which processes:"}, {0}};
	static const struct option_row last[] = {
		{0, "wait", NULL, "wait until such a process exists", OPTION_FLAG,
		 OPTION_AT(attach, waits)},
		{0},
	};
	static const struct option_row how[] = {{.help = "\nRecording:"}, {0}};
	struct attach *a = ctx;

	t->operands = live_nothing;
	t->usage =
		"Usage: prof attach [OPTION]... -p PID[,PID...]\n"
		"       prof attach [OPTION]... --name GLOB|--unit NAME|--container ID\n"
		"Record running processes and their descendants until they have ended, Ctrl-C is\n"
		"pressed, or the time is up. They are neither stopped nor changed.\n"
		"\n";
	option_table_add(t, which, NULL);
	option_table_add(t, target_options, &a->filter);
	option_table_add_rules(t, target_rules);
	option_table_add(t, last, a);
	option_table_add(t, how, NULL);
	live_options_table(t, &a->live);
	option_table_add(t, filter_options, &a->filter);
	option_table_add(t, last_options, &a->live.last);
	option_table_add_rules(t, last_rules);
	output_options_table(t, &a->output);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "Exit status: 0, 125 if prof failed, 2 for a usage error.\n";
}

/* Returns -ECANCELED if --help was printed. */
static int parse(struct attach *a, int argc, char **argv, struct error *err)
{
	int ret = command_parse(argc, argv, make_table, a, err);

	if (!ret)
		ret = instrument_settings_judge(&a->live.instruments, err);
	if (!ret)
		ret = output_options_check(&a->output, err);
	if (!ret && optind < argc)
		ret = error_text(err, -EINVAL,
				 "unexpected argument %s: use --pid to name a process",
				 argv[optind]);
	if (!ret && !a->filter.is_limited)
		ret = error_text(
			err, -EINVAL,
			"no process to attach to: use --pid, --name, --unit or --container");
	return ret;
}

static bool is_to_come(const struct error *err)
{
	return err->code == -ESRCH || err->code == -ENOENT;
}

/* Finds the processes; with --wait, waits until there are any. */
static int find(struct attach *a, struct targets *targets, struct error *err)
{
	bool is_silent = a->output.quiet || a->front;
	int ret;

	while ((ret = filter_options_resolve(&a->filter, targets, err)) && a->waits &&
	       is_to_come(err)) {
		if (!is_silent)
			command_say("waiting: %s", err->text);
		is_silent = true;
		*err = (struct error){0};
		targets_release(targets);
		filter_options_reset(&a->filter);
		usleep(WAIT_US);
	}
	return ret;
}

/* Prints the processes found for a name. */
static void say_found(const struct targets *targets)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	size_t count = targets->rows.count, shown = count < SHOWN_MAX ? count : SHOWN_MAX;

	for (size_t i = 0; i < shown; i++) {
		const struct target *target = &targets->rows.items[i];
		_cleanup_free_ char *name = target_name(target);

		strbuf_addf(&text, "%s%s (%d)", i ? ", " : "", name, (int)target->pid);
	}
	if (shown < count)
		strbuf_addf(&text, " and %zu more", count - shown);
	command_say("attached to %s%s%s", targets->group ? targets->group : "",
		    targets->group ? ": " : "", strbuf_text(&text));
}

static int record(struct attach *a, char **argv)
{
	struct targets targets = {0};
	struct pipeline_options options = {
		.command = command_attach.name,
		.live = &a->live,
		.filter = &a->filter.filter,
		.output = &a->output,
		.own_argv = argv,
		.front = a->front,
		.targets = &targets,
	};
	struct error err = {0};
	int ret;

	if (a->front)
		caller_set_options(a->front, &a->live);
	if (a->output.verbose)
		log_set_level(a->output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
	if (find(a, &targets, &err)) {
		ret = command_fail(command_attach.name, EXIT_REFUSED, &err);
	} else {
		if (a->filter.is_searched && !a->output.quiet && !a->front)
			say_found(&targets);
		ret = pipeline_run(&options);
	}
	targets_release(&targets);
	return ret;
}

static int run_for(struct caller *front, int argc, char **argv)
{
	struct attach a = {.front = front};
	struct error err = {0};
	int ret;

	live_options_init(&a.live);
	output_options_init(&a.output);
	ret = parse(&a, argc, argv, &err);
	ret = ret ? command_fail_usage(command_attach.name, &err) : record(&a, argv);
	live_options_release(&a.live);
	filter_options_release(&a.filter);
	output_options_release(&a.output);
	return ret;
}

static int run(int argc, char **argv)
{
	return run_for(NULL, argc, argv);
}

const struct command command_attach = {
	.name = "attach",
	.summary = "record processes that are already running",
	.options = make_table,
	.run = run,
	.run_for = run_for,
};
