/* SPDX-License-Identifier: MIT */
#include "cmd/command.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cmd/text/hints.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/text.h"

/* Values of long options without a letter. */
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
		hint_unknown_option(err, optopt, "", longs);
	else if (optopt)
		error_text(err, -EINVAL, "--%s: takes no value", long_name(longs, optopt));
	else
		hint_unknown_option(err, 0, argv[optind - 1], longs);
	return '?';
}

/* Writes the line at once, so that it does not mix with output of others. */
static void print_line(const char *prefix, const char *text)
{
	_cleanup_free_ char *text_line = xasprintf("%s%s", prefix, text), *line = NULL;

	text_to_line(text_line);
	line = xasprintf("%s\n", text_line);
	log_write(line);
}

int command_take_file(const char **file, const char *operand, struct error *err)
{
	if (*file)
		return error_text(err, -EINVAL, "more than one file: %s and %s", *file, operand);
	if (!*operand)
		return error_text(err, -EINVAL, "the name of the file must not be empty");
	*file = operand;
	return 0;
}

int command_parse(int argc, char **argv, const struct command_syntax *syntax, void *ctx,
		  struct error *err)
{
	int ret = 0;

	while (!ret && optind < argc) {
		int opt = options_next(argc, argv, syntax->shorts, syntax->longs, err);

		if (opt == 'h') {
			syntax->print_help();
			return -ECANCELED;
		}
		if (opt == '?')
			return -EINVAL;
		if (opt != -1)
			ret = syntax->set(ctx, opt, optarg, err);
		else if (optind < argc)
			ret = syntax->take(ctx, argv[optind++], err);
	}
	return ret;
}

void command_say(const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	print_line("prof: ", text);
}

void command_say_as(const char *name, const char *fmt, ...)
{
	_cleanup_free_ char *prefix = xasprintf("prof %s: ", name), *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = xvasprintf(fmt, args);
	va_end(args);
	print_line(prefix, text);
}

static void print_failure(const char *name, const struct error *err)
{
	_cleanup_free_ char *prefix = xasprintf("prof%s%s: ", name ? " " : "", name ? name : "");

	print_line(prefix, err->text);
}

int command_fail(const char *name, int status, const struct error *err)
{
	print_failure(name, err);
	if (err->hint[0])
		print_line("  ", err->hint);
	return status;
}

int command_fail_usage(const char *name, const struct error *err)
{
	_cleanup_free_ char *help = xasprintf("see 'prof%s%s --help'", name ? " " : "",
					      name ? name : "");

	print_failure(name, err);
	print_line("  ", help);
	return EXIT_USAGE;
}
