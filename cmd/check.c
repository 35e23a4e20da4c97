/* SPDX-License-Identifier: MIT */
/* prof check: reports whether this machine can record. */
#include <jansson.h>

#include "cmd/command.h"
#include "cmd/elevate/privileges.h"
#include "cmd/options/live_options.h"
#include "lib/live/features.h"

struct check {
	bool json, quiet;
};

static const struct option_row options[] = {
	{0, "json", NULL, "print one JSON object", OPTION_FLAG, OPTION_AT(check, json)},
	{'q', "quiet", NULL, "print nothing; only set the exit status", OPTION_FLAG,
	 OPTION_AT(check, quiet)},
	{0},
};

static const struct option_rule rules[] = {
	{"json", "quiet", NULL, "--json and --quiet cannot be combined"},
	{0},
};

static void make_table(struct option_table *t, void *ctx)
{
	t->operands = live_nothing;
	t->usage = "Usage: prof check [OPTION]...\n"
		   "Check whether this machine can record, and say what to do if it cannot.\n"
		   "\n"
		   "Options:\n";
	t->width = 18;
	option_table_add(t, options, ctx);
	option_table_add_rules(t, rules);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "Exit status: 0 can record, 1 cannot, 2 usage error.\n";
}

static const char *status_name(enum feature_status status)
{
	static const char *const names[] = {
		[FEATURE_OK] = "ok",
		[FEATURE_NOTE] = "note",
		[FEATURE_MISSING] = "missing",
	};

	return names[status];
}

static void print_row(const struct feature *f)
{
	_cleanup_free_ char *line = xasprintf("%-8s %-20s %s", status_name(f->status), f->name,
					      f->detail);
	/* Print a hint shared by several rows once, below the table. */
	_cleanup_free_ char *hint = xasprintf("%s%s", f->hint[0] && !f->wants_privilege ? "; " : "",
					      f->wants_privilege ? "" : f->hint);

	text_to_line(line);
	text_to_line(hint);
	printf("%s%s\n", line, hint);
}

/* True if only privileges are missing and sudo, which prof can run, can provide them. */
static bool sudo_is_enough(const struct feature *features, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (features[i].status == FEATURE_MISSING && !features[i].wants_privilege)
			return false;
	return geteuid() != 0 && sudo_is_installed() && !sudo_is_powerless();
}

static void print_verdict(const struct feature *first_missing, const struct feature *privilege,
			  bool by_sudo, bool gives_less)
{
	if (first_missing && by_sudo)
		printf("prof records through sudo, which it runs itself on a terminal: %s: %s\n",
		       first_missing->name, first_missing->detail);
	else if (first_missing)
		printf("prof cannot record here: %s: %s\n", first_missing->name,
		       first_missing->detail);
	else
		printf("prof can record here%s\n",
		       gives_less ? ", but profiles lack some data: see the notes" : "");
	if (privilege)
		printf("  %s%s\n", first_missing && by_sudo ? "without a terminal: " : "",
		       privilege->hint);
}

static void print_table(const struct feature *features, size_t count)
{
	const struct feature *missing = NULL, *privilege = NULL;
	bool gives_less = false;

	for (size_t i = 0; i < count; i++) {
		const struct feature *f = &features[i];

		print_row(f);
		if (!missing && f->status == FEATURE_MISSING)
			missing = f;
		if (!privilege && f->wants_privilege)
			privilege = f;
		gives_less |= f->status == FEATURE_NOTE && f->hint[0];
	}
	print_verdict(missing, privilege, sudo_is_enough(features, count), gives_less);
}

static void print_json(const struct feature *features, size_t count, bool can_record)
{
	json_t *rows = json_array();
	json_t *root = json_pack("{s:s, s:s, s:b, s:o}", "schema", "prof-check/1", "version",
				 PROF_VERSION, "can_record", can_record, "features", rows);

	for (size_t i = 0; i < count; i++) {
		const struct feature *f = &features[i];

		json_array_append_new(rows, json_pack("{s:s, s:s, s:s, s:s}", "name", f->name,
						      "status", status_name(f->status), "detail",
						      f->detail, "hint", f->hint));
	}
	json_dumpf(root, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(root);
}

static int parse(struct check *c, int argc, char **argv, struct error *err)
{
	int ret = command_parse(argc, argv, make_table, c, err);

	if (!ret && optind < argc)
		ret = error_text(err, -EINVAL, "unexpected argument '%s'", argv[optind]);
	return ret;
}

static int run(int argc, char **argv)
{
	struct feature features[FEATURES_MAX];
	struct error err = {0};
	struct check c = {0};
	bool can_record = true;
	int ret = parse(&c, argc, argv, &err);
	size_t count;

	if (ret)
		return command_fail_usage("check", &err);
	count = features_probe(features, FEATURES_MAX);
	for (size_t i = 0; i < count; i++)
		can_record = can_record && features[i].status != FEATURE_MISSING;
	if (c.json)
		print_json(features, count, can_record);
	else if (!c.quiet)
		print_table(features, count);
	return can_record ? 0 : EXIT_CANNOT_RECORD;
}

const struct command command_check = {
	.name = "check",
	.summary = "check whether this machine can record",
	.options = make_table,
	.run = run,
};
