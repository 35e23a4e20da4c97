/* SPDX-License-Identifier: MIT */
#include "cmd/command.h"

#include "cmd/options/defaults.h"

/* Writes the line in one call, so that it does not mix with other output. */
static void print_line(const char *prefix, const char *text)
{
	_cleanup_free_ char *text_line = xasprintf("%s%s", prefix, text), *line = NULL;

	text_to_line(text_line);
	line = xasprintf("%s\n", text_line);
	log_write(line);
}

int command_take_file(void *at, const char *operand, struct error *err)
{
	const char **file = at;

	if (*file)
		return error_text(err, -EINVAL, "more than one file: %s and %s", *file, operand);
	if (!*operand)
		return error_text(err, -EINVAL, "the file name must not be empty");
	*file = operand;
	return 0;
}

int command_parse(int argc, char **argv, option_table_fn *options, void *ctx, struct error *err)
{
	_cleanup_(option_table_release) struct option_table t = {0};
	bool is_divided = false;
	int ret = 1;

	options(&t, ctx);
	while (ret >= 0 && optind < argc && (ret || t.take)) {
		/* getopt_long() would skip it. */
		is_divided |= t.divides && strcmp(argv[optind], "--") == 0;
		ret = is_divided ? 0 : option_table_next(&t, argc, argv, err);
		if (!ret && t.take && optind < argc)
			ret = t.take(t.file ? t.file : ctx, argv[optind++], err);
	}
	if (ret == -EINVAL)
		defaults_blame(argv[optind - 1], err);
	return ret < 0 ? ret : option_table_judge(&t, err);
}

void command_complete(option_table_fn *options, int count, char **words)
{
	_cleanup_(option_table_release) struct option_table table = {0};
	_cleanup_(strbuf_release) struct strbuf out = {0};
	/* Dummy target: values are not stored, rows only take addresses within it. */
	static char nowhere[1 << 16];

	options(&table, nowhere);
	option_table_complete(&table, count, words, &out);
	fputs(strbuf_text(&out), stdout);
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

void command_say_written(const char *path, uint64_t bytes, const char *more)
{
	char size[32];

	text_format_bytes(size, sizeof(size), bytes);
	command_say("wrote %s (%s)%s", strcmp(path, "-") == 0 ? "standard output" : path, size,
		    more);
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

	if (!err->code)
		return 0;
	print_failure(name, err);
	print_line("  ", help);
	return EXIT_USAGE;
}
