/* SPDX-License-Identifier: MIT */
/* The engine of options: values, rules, help, completion. */
#include "cmd/options/option_table.h"

#include <errno.h>

#include "lib/base/cleanup.h"
#include "tests/unit/option_words.h"
#include "tests/unit/test.h"

struct values {
	const char *text, *name;
	uint64_t time_ns, size;
	double share;
	size_t rows;
	unsigned int count;
	int choice, called;
	bool flag, is_given;
};

static int call(void *at, const char *value, struct error *err)
{
	if (!value)
		*(int *)at = -1;
	else if (*value == 'x')
		return error_text(err, -EINVAL, "no x");
	else
		*(int *)at = *value;
	return 0;
}

static const char *const colours[] = {"red", "green", NULL};
static const struct size_range range = {1024, 4096, "1K and 4K"};

#define AT(member) .offset = offsetof(struct values, member)

static const struct option_row rows[] = {
	{.help = "First:"},
	{'t', "text", "TEXT", "any text", OPTION_TEXT, AT(text)},
	{0, "name", "FILE", "a name of a file,\nof two lines", OPTION_NAME, AT(name),
	 .given = offsetof(struct values, is_given)},
	{0, "time", "S", "seconds", OPTION_TIME, AT(time_ns), .unit_ns = 1e9},
	{0, "size-of-something", "SIZE", "long", OPTION_SIZE, AT(size), .range = &range},
	{.help = "\nSecond:"},
	{0, "share", "PERCENT", "a share", OPTION_SHARE, AT(share)},
	{0, "rows", "COUNT", "rows", OPTION_ROWS, AT(rows)},
	{'c', "colour", "NAME", "one of: @", OPTION_CHOICE, AT(choice), .choices = colours},
	{0, "call", "[=X]", "may have one", OPTION_CALL, AT(called), .set = call},
	{0, "flag", NULL, "a flag", OPTION_FLAG, AT(flag)},
	{'v', "verbose", NULL, "more", OPTION_COUNTED, AT(count)},
	{0, "hidden", "X", .type = OPTION_TEXT, AT(text)},
	{0},
};

static struct values v;
static struct option_table table;

static int setup(void **state)
{
	(void)state;
	v = (struct values){0};
	table = (struct option_table){.usage = "Usage\n", .after = "\nEnd\n"};
	option_table_add(&table, rows, &v);
	option_table_add(&table, option_help, NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	option_table_release(&table);
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

static void accept(const char *name, const char *value)
{
	struct error err = {0};

	if (parse_option(&table, name, value, &err))
		fail_msg("%s %s: %s", name, value, err.text);
}

static void refuse(const char *name, const char *value, const char *text)
{
	struct error err = {0};

	assert_int_equal(parse_option(&table, name, value, &err), -EINVAL);
	assert_string_equal(err.text, text);
}

CASE(values_go_where_the_row_says)
{
	accept("text", "");
	assert_string_equal(v.text, "");
	assert_false(v.is_given);
	accept("name", "a");
	assert_string_equal(v.name, "a");
	assert_true(v.is_given);
	accept("time", "1.5");
	assert_int_equal(v.time_ns, 1500000000);
	accept("size-of-something", "2K");
	assert_int_equal(v.size, 2048);
	accept("share", "0.5");
	assert_true(v.share == 0.005);
	accept("share", "50%");
	assert_true(v.share == 0.5);
	accept("rows", "17");
	assert_int_equal(v.rows, 17);
	accept("colour", "green");
	assert_int_equal(v.choice, 1);
	accept("call", NULL);
	assert_int_equal(v.called, -1);
	accept("call", "y");
	assert_int_equal(v.called, 'y');
	accept("flag", NULL);
	assert_true(v.flag);
	accept("verbose", NULL);
	accept("verbose", NULL);
	assert_int_equal(v.count, 2);
	accept("hidden", "h");
	assert_string_equal(v.text, "h");
}

CASE(wrong_values_are_refused)
{
	refuse("name", "", "--name: the name must not be empty");
	refuse("time", "soon", "--time soon: not a number");
	refuse("size-of-something", "1", "--size-of-something 1: must be between 1K and 4K");
	refuse("share", "101", "--share 101: must be a share, 0 to 100 percent");
	refuse("share", "%", "--share %: must be a share, 0 to 100 percent");
	refuse("rows", "-1", "--rows -1: must be a number of rows");
	refuse("rows", "18446744073709551615",
	       "--rows 18446744073709551615: must be a number of rows");
	refuse("colour", "gree", "--colour gree: must be one of red, green");
	refuse("colour", "", "--colour : must be one of red, green");
	refuse("call", "x", "no x");
}

static int parse(char **argv, struct error *err)
{
	int argc = 0, ret = 1;

	while (argv[argc])
		argc++;
	optind = 0; /* restarts getopt(3) */
	while (ret > 0)
		ret = option_table_next(&table, argc, argv, err);
	return ret;
}

#define PARSE(err, ...) parse((char *[]){"prog", __VA_ARGS__, NULL}, err)

CASE(options_end_at_an_operand)
{
	struct error err = {0};

	assert_int_equal(PARSE(&err, "-vv", "-cgreen", "--flag", "--call", "x", "--text=a"), 0);
	assert_int_equal(optind, 5);
	assert_int_equal(v.count, 2);
	assert_int_equal(v.choice, 1);
	assert_int_equal(v.called, -1);
	assert_null(v.text);
	assert_int_equal(PARSE(&err, "-t"), -EINVAL);
	assert_string_equal(err.text, "--text: a value is missing");
	assert_int_equal(PARSE(&err, "--flag=1"), -EINVAL);
	assert_string_equal(err.text, "--flag: takes no value");
	assert_int_equal(PARSE(&err, "--nothing"), -EINVAL);
	assert_string_equal(err.text, "unknown option --nothing");
}

CASE(rules_speak_of_what_was_given)
{
	static const struct option_rule rules[] = {
		{"flag", "rows share", NULL, "--flag: not with --rows or --share"},
		{"name", NULL, "text time", "--name: needs --text or --time"},
		{0},
	};
	struct error err = {0};

	assert_int_equal(option_table_judge(&table, rules, &err), 0);
	accept("flag", NULL);
	assert_int_equal(option_table_judge(&table, rules, &err), 0);
	accept("share", "1");
	assert_int_equal(option_table_judge(&table, rules, &err), -EINVAL);
	assert_string_equal(err.text, "--flag: not with --rows or --share");
	teardown(NULL);
	setup(NULL);
	accept("name", "a");
	assert_int_equal(option_table_judge(&table, rules, &err), -EINVAL);
	assert_string_equal(err.text, "--name: needs --text or --time");
	accept("time", "1");
	assert_int_equal(option_table_judge(&table, rules, &err), 0);
	assert_true(option_table_has(&table, "name"));
	assert_false(option_table_has(&table, "nam names"));
	assert_true(option_table_has_any(&table, rows));
	assert_false(option_table_has_any(&table, option_help));
}

CASE(the_help_is_laid_out)
{
	_cleanup_(strbuf_release) struct strbuf help = {0};

	option_table_help(&table, &help);
	assert_string_equal(strbuf_text(&help), "Usage\n"
						"First:\n"
						"  -t, --text TEXT        any text\n"
						"  --name FILE            a name of a file,\n"
						"                         of two lines\n"
						"  --time S               seconds\n"
						"  --size-of-something SIZE\n"
						"                         long\n"
						"\n"
						"Second:\n"
						"  --share PERCENT        a share\n"
						"  --rows COUNT           rows\n"
						"  -c, --colour NAME      one of: red, green\n"
						"  --call[=X]             may have one\n"
						"  --flag                 a flag\n"
						"  -v, --verbose          more\n"
						"  -h, --help             show this and exit\n"
						"\n"
						"End\n");
}

static void complete(const char *before, const char *word, const char *wanted)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};

	option_table_complete(&table, before, word, &out);
	assert_string_equal(strbuf_text(&out), wanted);
}

CASE(words_are_completed)
{
	complete(NULL, "--s", "--size-of-something\n--share\n");
	complete("--flag", "--ti", "--time\n");
	complete("--colour", "", "red\ngreen\n");
	complete("-c", "g", "green\n");
	complete("-c", "x", "");
	/* A file, or anything. */
	complete("--name", "", "");
	complete(NULL, "fi", "");
	complete("--call", "--fl", "--flag\n");
}
