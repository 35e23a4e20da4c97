/* SPDX-License-Identifier: MIT */
/* prof config: shows the effective default options and their origins. */
#include "cmd/command.h"
#include "cmd/options/defaults.h"

extern const struct command command_config, command_record, command_attach;

struct config {
	const char *command; /* NULL: all commands */
};

static bool is_command(const char *name)
{
	return find_command(name);
}

static int scan_nothing(void *ctx, const struct option_row *row, const char *value)
{
	return 0;
}

int config_read(struct defaults *d, const struct command *command, int argc, char **argv,
		struct error *err)
{
	_cleanup_(option_table_release) struct option_table table = {0}, given = {0};
	/* Dummy target: values are not stored, rows only take addresses within it. */
	static char nowhere[1 << 16];
	struct error ignored = {0};
	int taken, ret;

	command->options(&table, nowhere);
	command->options(&given, nowhere);
	/* A wrong word is rejected later. */
	option_table_scan(&given, argc, argv, scan_nothing, NULL, &taken, &ignored);
	if (!option_table_find(&table, "no-config") || option_table_has(&given, "no-config help"))
		return 0;
	ret = defaults_read(d, command->name,
			    command == &command_attach ? command_record.name : NULL, &table,
			    is_command, err);
	if (!ret)
		defaults_fit(d, &given, argc, argv);
	return ret;
}

static void print_option(const struct default_option *option)
{
	_cleanup_free_ char *line = xasprintf(
		"%s%s%s%s  # %s%s%s", option->left_out ? "# " : "", option->name,
		option->value ? " = " : "", option->value ? option->value : "", option->origin,
		option->left_out ? ": " : "", option->left_out ? option->left_out : "");

	text_to_line(line);
	puts(line);
}

static int print_command(const struct command *command, bool with_sources, struct error *err)
{
	_cleanup_(defaults_release) struct defaults defaults = {0};
	char name[32], *words[] = {name, NULL};
	int ret;

	snprintf(name, sizeof(name), "%s", command->name);
	ret = config_read(&defaults, command, 1, words, err);
	if (ret)
		return ret;
	for (size_t i = 0; with_sources && i < defaults.sources.count; i++)
		printf("# %s\n", defaults.sources.items[i]);
	if (defaults.rows.count)
		printf("[%s]\n", command->name);
	vec_for_each(&defaults.rows, const struct default_option *, option)
		print_option(option);
	return 0;
}

static int take(void *ctx, const char *operand, struct error *err)
{
	struct config *c = ctx;
	const struct command *command = find_command(operand);

	if (c->command)
		return error_text(err, -EINVAL, "only one command can be given");
	if (!command || !command->options)
		return error_text(err, -EINVAL, "%s takes no defaults from the configuration",
				  operand);
	c->command = operand;
	return 0;
}

static const char *const *command_names(void)
{
	static struct {
		VEC(const char *) list;
	} names;

	if (names.list.count)
		return names.list.items;
	for (size_t i = 0; command_at(i); i++)
		vec_push(&names.list, command_at(i)->name);
	vec_push(&names.list, NULL);
	return names.list.items;
}

static void make_table(struct option_table *t, void *ctx)
{
	t->operands = command_names;
	t->usage =
		"Usage: prof config [COMMAND]\n"
		"Show the default options in effect, of one command or of all, and where each\n"
		"comes from: /etc/prof.conf, $XDG_CONFIG_HOME/prof/config or PROF_OPTIONS. Those "
		"without\n"
		"effect are shown as comments, with the reason.\n"
		"\n";
	t->take = take;
	option_table_add(t, option_help, NULL);
	t->after = "\n"
		   "Exit status: 0; 2 if a line is wrong.\n";
}

static int run(int argc, char **argv)
{
	struct config c = {0};
	struct error err = {0};
	int ret = command_parse(argc, argv, make_table, &c, &err);
	bool is_first = true;

	for (size_t i = 0; !ret && command_at(i); i++) {
		const struct command *command = command_at(i);

		if (!command->options || (c.command && strcmp(c.command, command->name) != 0))
			continue;
		ret = print_command(command, is_first, &err);
		is_first = false;
	}
	return ret ? command_fail_usage(command_config.name, &err) : 0;
}

const struct command command_config = {
	.name = "config",
	.summary = "show the default options in effect",
	.options = make_table,
	.run = run,
};
