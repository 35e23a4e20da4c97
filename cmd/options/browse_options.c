/* SPDX-License-Identifier: MIT */
#include "cmd/options/browse_options.h"

#include "cmd/command.h"
#include "cmd/options/report_options.h"

#define AT(member) OPTION_AT(browse_options, member)

static int add_debug_dir(void *at, const char *value, struct error *err)
{
	struct browse_options *o = at;

	if (!*value)
		return error_text(err, -EINVAL, "--debug-dir: must not be empty");
	vec_push(&o->debug_dirs, value);
	return 0;
}

static const struct option_row rows[] = {
	{0, "by", "WHAT", QUERY_BY_HELP, OPTION_CHOICE, AT(by), .choices = query_by_names},
	{0, "tree", NULL, "begin with the call tree", OPTION_FLAG, AT(is_tree)},
	{0, "inverted", NULL, "the same, from the innermost function outwards", OPTION_FLAG,
	 AT(is_inverted)},
	{0, "debug-dir", "DIR", "look for programs there; may be repeated", OPTION_CALL,
	 .set = add_debug_dir},
	{0},
};

static int take(void *ctx, const char *operand, struct error *err)
{
	struct browse_options *o = ctx;

	if (!o->path || o->other)
		return command_take_file(&o->path, operand, err);
	return command_take_file(&o->other, operand, err);
}

void browse_options_table(struct option_table *t, void *options)
{
	struct browse_options *o = options;

	t->usage = "Usage: prof browse [OPTION]... [FILE [OTHER]]\n"
		   "Look through a profile in the terminal, or compare two.\n"
		   "\n";
	t->take = take;
	option_table_add(t, rows, o);
	option_table_add(t, option_common, NULL);
	option_table_add(t, query_options, &o->filter);
	t->after =
		"\n"
		"FILE is a profile, compressed or not (profile.json.gz). ? lists the keys.\n"
		"Exit status: 0, 125 if the file cannot be used, 2 for a usage error or without\n"
		"a terminal.\n";
}

int browse_options_parse(struct browse_options *o, int argc, char **argv, struct error *err)
{
	int ret;

	*o = (struct browse_options){.filter = QUERY_FILTER_ALL};
	ret = command_parse(argc, argv, browse_options_table, o, err);
	if (!ret && (o->is_tree || o->is_inverted))
		ret = query_options_check_tree(o->by, err);
	if (!o->path)
		o->path = PROFILE_PATH;
	vec_push(&o->debug_dirs, NULL);
	o->debug_dirs.count--;
	return ret;
}
