/* SPDX-License-Identifier: MIT */
/* The engine of options: values, rules, help, completion. */
#include "cmd/options/option_table.h"

#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "lib/base/cleanup.h"
#include "tests/unit/option_words.h"
#include "tests/unit/test.h"

struct values {
	const char *text, *name, *word;
	uint64_t time_ns, size;
	double share;
	size_t rows;
	uint16_t port;
	uint32_t seed;
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
static const struct size_range all_rows = {0, SIZE_MAX - 1, "must be a number of rows"};
static const struct size_range ports = {1, 9, "must be a number of 1 to 9"};

static const char *const *list(void)
{
	return colours;
}

#define AT(member) OPTION_AT(values, member)

static const struct option_row rows[] = {
	{.help = "First:"},
	{'t', "text", "TEXT", "any text", OPTION_TEXT, AT(text)},
	{0, "name", "FILE", "a name of a file,\nof two lines", OPTION_NAME, AT(name),
	 .given = offsetof(struct values, is_given)},
	{0, "time", "S", "seconds", OPTION_TIME, AT(time_ns), .unit_ns = 1e9},
	{0, "size-of-something", "SIZE", "long", OPTION_SIZE, AT(size), .range = &range},
	{.help = "\nSecond:"},
	{0, "share", "PERCENT", "a share", OPTION_SHARE, AT(share)},
	{0, "rows", "COUNT", "rows", OPTION_NUMBER, AT(rows), .range = &all_rows},
	{0, "port", "N", "a short", OPTION_NUMBER, AT(port), .range = &ports},
	{0, "seed", "N", "an int", OPTION_NUMBER, AT(seed), .range = &ports},
	{0, "word", "WORD", "not empty", OPTION_WORD, AT(word)},
	{0, "listed", "NAME", "@;\nor none", OPTION_CALL, AT(called), .list = list, .set = call},
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
	v = (struct values){0};
	table = (struct option_table){.usage = "Usage\n", .after = "\nEnd\n"};
	option_table_add(&table, rows, &v);
	option_table_add(&table, option_help, NULL);
	return 0;
}

static int teardown(void **state)
{
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
	accept("rows", "18446744073709551614");
	assert_true(v.rows == SIZE_MAX - 1);
	accept("port", "9");
	assert_int_equal(v.port, 9);
	assert_int_equal(v.seed, 0);
	accept("seed", "1");
	assert_int_equal(v.seed, 1);
	assert_int_equal(v.port, 9);
	accept("word", "w");
	assert_string_equal(v.word, "w");
	accept("listed", "red");
	assert_int_equal(v.called, 'r');
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
	refuse("share", "101", "--share 101: must be a percentage from 0 to 100");
	refuse("share", "%", "--share %: must be a percentage from 0 to 100");
	refuse("rows", "-1", "--rows -1: must be a number of rows");
	refuse("rows", "18446744073709551615",
	       "--rows 18446744073709551615: must be a number of rows");
	refuse("port", "0", "--port 0: must be a number of 1 to 9");
	refuse("port", "10", "--port 10: must be a number of 1 to 9");
	refuse("port", "", "--port : must be a number of 1 to 9");
	refuse("word", "", "--word: must not be empty");
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

static void expect_broken(const char *text)
{
	struct error err = {0};

	assert_int_equal(option_table_judge(&table, &err), -EINVAL);
	assert_string_equal(err.text, text);
}

CASE(rules_speak_of_what_was_given)
{
	static const struct option_rule rules[] = {
		{"flag", "rows share port", NULL, NULL},
		{"name seed", NULL, "text time", "it @, see"},
		{"word", NULL, "colour", NULL},
		{"verbose", "call", NULL, "none is named"},
		{0},
	};

	option_table_add_rules(&table, rules);
	assert_int_equal(option_table_judge(&table, NULL), 0);
	accept("flag", NULL);
	assert_int_equal(option_table_judge(&table, NULL), 0);
	accept("share", "1");
	expect_broken("--flag: not with --rows, --share or --port");
	teardown(NULL);
	setup(NULL);
	option_table_add_rules(&table, rules);
	accept("seed", "1");
	expect_broken("it needs --text or --time, see");
	accept("time", "1");
	assert_int_equal(option_table_judge(&table, NULL), 0);
	accept("word", "w");
	expect_broken("--word: needs --colour");
	accept("colour", "red");
	accept("verbose", NULL);
	assert_int_equal(option_table_judge(&table, NULL), 0);
	accept("call", NULL);
	expect_broken("none is named");
	assert_true(option_table_has(&table, "seed"));
	assert_false(option_table_has(&table, "see seeds"));
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
						"  --port N               a short\n"
						"  --seed N               an int\n"
						"  --word WORD            not empty\n"
						"  --listed NAME          red, green;\n"
						"                         or none\n"
						"  -c, --colour NAME      one of: red, green\n"
						"  --call[=X]             may have one\n"
						"  --flag                 a flag\n"
						"  -v, --verbose          more\n"
						"  -h, --help             show this and exit\n"
						"\n"
						"End\n");
}

static int take(void *ctx, const char *operand, struct error *err)
{
	strbuf_addf(ctx, "%s,", operand);
	return 0;
}

static void operands_only(struct option_table *t, void *ctx)
{
	t->take = take;
	option_table_add(t, rows, &v);
}

static void divided(struct option_table *t, void *ctx)
{
	operands_only(t, ctx);
	t->divides = true;
}

CASE(operands_may_stand_between_options_and_divide_them)
{
	char *argv[] = {"prog", "a", "-v", "--", "--nothing", "--", NULL};
	_cleanup_(strbuf_release) struct strbuf operands = {0}, others = {0};
	struct error err = {0};

	optind = 0;
	assert_int_equal(command_parse(6, argv, divided, &operands, &err), 0);
	assert_string_equal(strbuf_text(&operands), "a,--,--nothing,--,");
	assert_int_equal(v.count, 1);
	optind = 0;
	assert_int_equal(command_parse(3, argv, operands_only, &others, &err), 0);
	assert_string_equal(strbuf_text(&others), "a,");
	assert_int_equal(v.count, 2);
}

/* Words are separated by blanks. */
static void complete(const char *text, const char *wanted)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	_cleanup_free_ char *copy = xstrdup(text);
	char *words[8], *rest = copy;
	int count = 0;

	for (char *word; (word = strsep(&rest, " "));)
		words[count++] = word;
	option_table_complete(&table, count, words, &out);
	assert_string_equal(strbuf_text(&out), wanted);
}

static const char *const *live(void)
{
	static const char *const values[] = {"12\tone", "123\tother", "2", NULL};

	return values;
}

CASE(words_are_completed)
{
	static const struct option_row more[] = {
		{'p', "pid", "LIST", "those", OPTION_CALL, AT(called), .live = live, .set = call},
		{0, "folder", "DIR", "a folder", OPTION_NAME, AT(name)},
		{0},
	};

	option_table_add(&table, more, &v);
	table.take = take;
	complete("--s", "--size-of-something\tlong\n--share\ta share\n--seed\tan int\n");
	complete("--flag --ti", "--time\tseconds\n");
	complete("--na", "--name\ta name of a file\n");
	complete("--li", "--listed\n");
	complete("--colour ", "red\ngreen\n");
	complete("-c g", "green\n");
	complete("-c x", "");
	complete("--colour=g", "--colour=green\n");
	complete("--listed r", "red\n");
	complete("--flag=", "");
	/* Values of this machine now, also later in a list. */
	complete("-p ", "12\tone\n123\tother\n2\n");
	complete("--pid=12", "--pid=12\tone\n--pid=123\tother\n");
	complete("--pid 2,12,1", "2,12,123\tother\n");
	/* A file, a folder, or anything. */
	complete("--name ", ":files\n");
	complete("--name --fl", ":files\n");
	complete("--name=", ":files\n");
	complete("--folder ", ":folders\n");
	complete("--text ", "");
	complete("fi", ":files\n");
	complete("", ":files\n");
	/* An option that was given can be given again only if that adds something. */
	complete("--flag --fl", "");
	complete("-c red --co", "");
	complete("--colour=red --co", "");
	complete("-v --verb", "--verbose\tmore\n");
	complete("-p 1 --pi", "--pid\tthose\n");
	/* The value of another one is no option, and an optional value is never a word. */
	complete("--text --name --fl", "--flag\ta flag\n");
	complete("--call --fl", "--flag\ta flag\n");
	complete("-- --fl", ":files\n");
	complete("file --fl", "--flag\ta flag\n");
	table.operands = live;
	complete("1", "12\tone\n123\tother\n");
	complete("-- 1", "12\tone\n123\tother\n");
	table.take = NULL;
	table.runs = true;
	complete("", ":command 0\n");
	complete("ma", ":command 0\n");
	complete("make --fl", ":command 0\n");
	complete("--flag --text make make --fl", ":command 3\n");
	complete("--flag -- make --fl", ":command 2\n");
	complete("-- -", ":command 1\n");
	complete("--text file --fl", "--flag\ta flag\n");
}

extern const struct command command_record, command_attach, command_check, command_report,
	command_diff, command_convert, command_info, command_symbolize;

static bool has_row(const struct option_table *t, const char *name, size_t size)
{
	for (size_t i = 0; i < t->rows.count; i++) {
		const char *other = t->rows.items[i].row.name;

		if (other && strlen(other) == size && memcmp(other, name, size) == 0)
			return true;
	}
	return false;
}

/* Checks names that are separated by blanks; NULL: none. */
static void check_names(const struct option_table *t, const char *names)
{
	while (names && *names) {
		size_t size = strcspn(names, " ");

		if (!has_row(t, names, size))
			fail_msg("a rule names %s, of which nobody knows: %s", names, t->usage);
		names += size + (names[size] == ' ');
	}
}

/* A rule with an unknown name would never apply. */
TEST(rules_of_commands_name_their_options)
{
	static const struct command *const commands[] = {
		&command_record, &command_attach,  &command_check, &command_report,
		&command_diff,	 &command_convert, &command_info,  &command_symbolize,
	};
	static char nowhere[1 << 16];
	size_t count = 0;

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		_cleanup_(option_table_release) struct option_table t = {0};

		commands[i]->options(&t, nowhere);
		vec_for_each(&t.rules, const struct option_rule **, rule) {
			check_names(&t, (*rule)->option);
			check_names(&t, (*rule)->with);
			check_names(&t, (*rule)->without);
			count++;
		}
	}
	assert_true(count >= 21);
}
