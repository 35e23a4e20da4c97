/* SPDX-License-Identifier: MIT */
/* prof browse: implemented by a program of its own, prof-browse. */
#include "cmd/command.h"
#include "cmd/options/report_options.h"
#include "cmd/run/child_programs.h"

extern const struct command command_browse;

static int start(const struct browse_options *o, int argc, char **argv)
{
	static char command[] = COMMAND_BROWSE;
	_cleanup_free_ char **words = xcalloc((size_t)argc + 2, sizeof(*words));
	struct error err = {0};

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		error_text(&err, -ENOTTY, "a terminal is required");
		error_hint(&err, "use prof report %s", o->path);
		return command_fail(command_browse.name, EXIT_USAGE, &err);
	}
	words[0] = command;
	for (int i = 0; i < argc; i++)
		words[i + 1] = argv[i];
	return companion_program_run(&program_browse, command_browse.name, argc + 1, words);
}

static int run(int argc, char **argv)
{
	struct browse_options o;
	struct error err = {0};
	int ret = browse_options_parse(&o, argc, argv, &err);

	ret = ret ? command_fail_usage(command_browse.name, &err) : start(&o, argc, argv);
	vec_release(&o.debug_dirs);
	return ret;
}

const struct command command_browse = {
	.name = "browse",
	.summary = "look through a profile in the terminal",
	.options = browse_options_table,
	.run = run,
};
