/* SPDX-License-Identifier: MIT */
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Long options without a letter have values from here on. */
#define FIRST_LONG_ONLY 256

static const char *long_name(const struct option *longs, int value)
{
	for (; longs->name; longs++) {
		if (longs->val == value)
			return longs->name;
	}
	return "?";
}

int options_next(int argc, char **argv, const char *shorts, const struct option *longs,
		 struct error *err)
{
	int opt;

	opterr = 0;
	opt = getopt_long(argc, argv, shorts, longs, NULL);
	if (opt == ':') {
		error_text(err, -EINVAL, "--%s: a value is missing", long_name(longs, optopt));
		return '?';
	}
	if (opt != '?')
		return opt;
	if (strncmp(argv[optind - 1], "--", 2) != 0 && optopt && optopt < FIRST_LONG_ONLY)
		error_text(err, -EINVAL, "unknown option -%c", optopt);
	else if (optopt)
		error_text(err, -EINVAL, "--%s: takes no value", long_name(longs, optopt));
	else
		error_text(err, -EINVAL, "unknown option %s", argv[optind - 1]);
	return '?';
}

static void print_failure(const char *name, const struct error *err)
{
	fprintf(stderr, "prof%s%s: %s\n", name ? " " : "", name ? name : "", err->text);
}

int command_fail(const char *name, int status, const struct error *err)
{
	print_failure(name, err);
	if (err->hint[0])
		fprintf(stderr, "  %s\n", err->hint);
	return status;
}

int command_fail_usage(const char *name, const struct error *err)
{
	print_failure(name, err);
	fprintf(stderr, "  see 'prof%s%s --help'\n", name ? " " : "", name ? name : "");
	return EXIT_USAGE;
}
