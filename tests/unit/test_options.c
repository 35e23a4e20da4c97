/* SPDX-License-Identifier: MIT */
/* Command lines: what is accepted, what is refused, and how the message reads. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/options/live_options.h"
#include "lib/recording/meta.h"
#include "cmd/options/output_options.h"
#include "lib/live/unwind_methods.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

static void set_live(struct live_options *o, int opt, const char *value)
{
	struct error err = {0};

	if (live_options_set(o, opt, value, &err))
		fail_msg("%s", err.text);
}

static void refuse_live(int opt, const char *value, const char *text)
{
	struct live_options o;
	struct error err = {0};

	live_options_init(&o);
	assert_int_equal(live_options_set(&o, opt, value, &err), -EINVAL);
	assert_string_equal(err.text, text);
	live_options_release(&o);
}

TEST(units_are_those_of_the_manual)
{
	struct live_options o;

	live_options_init(&o);
	set_live(&o, 'F', "99.5");
	set_live(&o, 'i', "0.25");
	set_live(&o, 'd', "1.5");
	assert_int_equal(o.duration_ns, 1500000000);
	set_live(&o, 'd', "1000000000");
	assert_int_equal(o.duration_ns, 1000000000000000000);
	set_live(&o, OPT_RING_SIZE, "2M");
	assert_int_equal(o.ring_bytes, 2 << 20);
	set_live(&o, OPT_RING_SIZE, "65536");
	assert_int_equal(o.ring_bytes, 65536);
	set_live(&o, OPT_UNWIND_MEMORY, "1G");
	assert_int_equal(o.unwind_bytes, 1 << 30);
	assert_false(o.per_cpu);
	set_live(&o, OPT_PER_CPU, NULL);
	assert_true(o.per_cpu);
	set_live(&o, OPT_KILL, NULL);
	assert_true(o.kill);
	assert_false(o.as_root);
	set_live(&o, OPT_AS_ROOT, NULL);
	assert_true(o.as_root);
	assert_int_equal(live_options_set(&o, 'o', "x", NULL), -ENOENT);
	assert_int_equal(live_options_set(&o, OPT_INSTRUMENTS + 999, "x", NULL), -ENOENT);
	live_options_release(&o);
}

TEST(wrong_values_are_named)
{
	refuse_live('F', "0", "--frequency 0: must be greater than 0");
	refuse_live('F', "-1", "--frequency -1: must be greater than 0");
	refuse_live('F', "", "--frequency : not a number");
	refuse_live('F', "fast", "--frequency fast: not a number");
	refuse_live('F', "9x", "--frequency 9x: not a number");
	refuse_live('F', "nan", "--frequency nan: not a number");
	refuse_live('F', "inf", "--frequency inf: not a number");
	refuse_live('F', "1e-9", "--frequency 1e-9: must be at least 0.001");
	refuse_live('i', "0", "--interval 0: must be greater than 0");
	refuse_live('i', "1e30", "--interval 1e30: must be at most 1000000000000");
	refuse_live('d', "-0.5", "--duration -0.5: must be greater than 0");
	refuse_live('d', "2e9", "--duration 2e9: must be at most 1000000000");
	refuse_live(OPT_RING_SIZE, "4X", "--ring-size 4X: not a size such as 512K or 4M");
	refuse_live(OPT_RING_SIZE, "1K", "--ring-size 1K: must be between 64K and 1G");
	refuse_live(OPT_RING_SIZE, "2G", "--ring-size 2G: must be between 64K and 1G");
	refuse_live(OPT_UNWIND, "dwarf", "--unwind dwarf: must be auto, cfi, fp or none");
	refuse_live(OPT_UNWIND, "", "--unwind : must be auto, cfi, fp or none");
	refuse_live(OPT_UNWIND, "CFI", "--unwind CFI: must be auto, cfi, fp or none");
	refuse_live(OPT_UNWIND_MEMORY, "all", "--unwind-memory all: not a size such as 512K or 4M");
	refuse_live(OPT_UNWIND_MEMORY, "4095K", "--unwind-memory 4095K: must be between 4M and 4G");
	refuse_live(OPT_UNWIND_MEMORY, "5G", "--unwind-memory 5G: must be between 4M and 4G");
}

TEST(every_method_has_its_name)
{
	struct live_options o;

	live_options_init(&o);
	assert_int_equal(o.unwind, RECORDER_UNWIND_AUTO);
	for (int method = RECORDER_UNWIND_NONE; method >= RECORDER_UNWIND_AUTO; method--) {
		set_live(&o, OPT_UNWIND, unwind_method_name(method));
		assert_int_equal(o.unwind, method);
	}
	set_live(&o, OPT_UNWIND, "cfi");
	assert_int_equal(o.unwind, RECORDER_UNWIND_CFI);
	set_live(&o, OPT_UNWIND, "fp");
	assert_int_equal(o.unwind, RECORDER_UNWIND_FP);
	set_live(&o, OPT_UNWIND, "none");
	assert_int_equal(o.unwind, RECORDER_UNWIND_NONE);
	live_options_release(&o);
}

TEST(what_excludes_each_other_is_refused)
{
	struct live_options o;
	struct error err = {0};

	live_options_init(&o);
	assert_int_equal(live_options_check(&o, &err), 0);
	set_live(&o, 'i', "1");
	assert_int_equal(live_options_check(&o, &err), 0);

	set_live(&o, 'F', "1000");
	assert_int_equal(live_options_check(&o, &err), -EINVAL);
	assert_string_equal(err.text, "--frequency and --interval exclude each other: give one");
	live_options_release(&o);

	live_options_init(&o);
	set_live(&o, OPT_KILL, NULL);
	assert_int_equal(live_options_check(&o, &err), -EINVAL);
	assert_string_equal(err.text, "--kill: needs --duration");
	live_options_release(&o);
}

/* Options of instruments are parsed and shown like those of the table itself. */
TEST(every_option_is_in_the_help)
{
	static const struct option none[] = {{0}};
	_cleanup_(live_getopt_release) struct live_getopt table = {0};
	_cleanup_(strbuf_release) struct strbuf help = {0};
	const struct instrument_option *option;
	const struct instrument *owner;
	size_t count = 0;

	live_options_help(&help);
	live_options_getopt(&table, "+:", none);
	for (size_t i = 0; (option = instrument_option_at(i, &owner)); i++) {
		bool optional = option->argument && option->argument[0] == '[';
		_cleanup_free_ char *name = xasprintf("--%s%s", option->name,
						      optional		 ? option->argument
						      : option->argument ? " "
									 : "  ");

		if (!strstr(strbuf_text(&help), name))
			fail_msg("%s of %s follows no option", option->name, owner->name);
		assert_string_equal(table.longs.items[i].name, option->name);
		count++;
	}
	assert_true(count >= 3);
	assert_null(table.longs.items[count].name);
	assert_string_equal(strbuf_text(&table.shorts), "+:F:i:e:");
	assert_int_equal(strncmp(strbuf_text(&help), "  -F, --frequency HZ     ", 25), 0);
}

static void set_output(struct output_options *o, int opt, const char *value)
{
	struct error err = {0};

	if (output_options_set(o, opt, value, &err))
		fail_msg("%s", err.text);
}

TEST(outputs_are_told_by_name)
{
	struct output_options o;

	output_options_init(&o);
	assert_string_equal(o.path, "profile.json.gz");
	assert_false(output_is_stdout(&o));
	set_output(&o, 'o', "-");
	assert_true(output_is_stdout(&o));
	set_output(&o, 'o', "./-");
	assert_false(output_is_stdout(&o));
	output_options_release(&o);
}

TEST(formats_are_chosen_by_name)
{
	struct output_options o;
	struct error err = {0};

	output_options_init(&o);
	set_output(&o, 'o', "a.unknown");
	assert_int_equal(output_options_check(&o, NULL), 0);
	assert_ptr_equal(o.format, FORMAT_DEFAULT);
	set_output(&o, OPT_FORMAT, "firefox");
	assert_ptr_equal(o.format, &format_firefox);
	assert_int_equal(output_options_set(&o, OPT_FORMAT, "fire", &err), -EINVAL);
	assert_non_null(strstr(err.text, "--format fire: no such format; known are: firefox"));
	output_options_release(&o);
}

TEST(debug_dirs_end_with_null)
{
	struct output_options o;

	output_options_init(&o);
	assert_int_equal(output_options_check(&o, NULL), 0);
	assert_null(o.debug_dirs.items[0]);
	set_output(&o, OPT_DEBUG_DIR, "one");
	set_output(&o, OPT_DEBUG_DIR, "two");
	assert_int_equal(output_options_check(&o, NULL), 0);
	assert_int_equal(o.debug_dirs.count, 2);
	assert_string_equal(o.debug_dirs.items[0], "one");
	assert_string_equal(o.debug_dirs.items[1], "two");
	assert_null(o.debug_dirs.items[2]);
	output_options_release(&o);
}

TEST(outputs_must_differ)
{
	struct output_options o;
	struct error err = {0};

	output_options_init(&o);
	assert_int_equal(output_options_set(&o, 'o', "", &err), -EINVAL);
	assert_string_equal(err.text, "--output: the name must not be empty");
	set_output(&o, OPT_STATS, "profile.json.gz");
	assert_int_equal(output_options_check(&o, &err), -EINVAL);
	set_output(&o, OPT_STATS, "-");
	assert_int_equal(output_options_check(&o, &err), -EINVAL);
	set_output(&o, OPT_STATS, "stats.json");
	assert_int_equal(output_options_check(&o, &err), 0);
	output_options_release(&o);
}

static const struct option longs[] = {
	LIVE_LONG_OPTIONS,
	COMMAND_LONG_OPTIONS,
	OUTPUT_LONG_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* Returns the text of the first option's failure, or "". */
static const char *first_failure(const char *one, const char *two)
{
	static struct error err;
	_cleanup_(live_getopt_release) struct live_getopt table = {0};
	char *argv[] = {"record", (char *)one, (char *)two, NULL};

	err = (struct error){0};
	optind = 0; /* restarts getopt(3) */
	live_options_getopt(&table, "+:" LIVE_SHORT_OPTIONS OUTPUT_SHORT_OPTIONS "h", longs);
	if (options_next(two ? 3 : 2, argv, strbuf_text(&table.shorts), table.longs.items, &err) ==
	    '?')
		assert_true(err.text[0]);
	return err.text;
}

TEST(wrong_options_are_named_as_written)
{
	assert_string_equal(first_failure("-F", "9"), "");
	assert_string_equal(first_failure("--freq", "9"), "");
	assert_string_equal(first_failure("-F", NULL), "--frequency: a value is missing");
	assert_string_equal(first_failure("--output", NULL), "--output: a value is missing");
	assert_string_equal(first_failure("--stats", NULL), "--stats: a value is missing");
	assert_string_equal(first_failure("-Z", "x"), "unknown option -Z");
	assert_string_equal(first_failure("-vZ", "x"), "");
	assert_string_equal(first_failure("--nothing", "x"), "unknown option --nothing");
	assert_string_equal(first_failure("--kill=1", "x"), "--kill: takes no value");
	assert_string_equal(first_failure("--quiet=1", "x"), "--quiet: takes no value");
	/* Options after the command are the command's. */
	assert_string_equal(first_failure("ls", "--nothing"), "");
	assert_int_equal(optind, 1);
	assert_string_equal(first_failure("--", "--nothing"), "");
	assert_int_equal(optind, 2);
}

static void expect_quoted(const char *word, const char *quoted)
{
	char *argv[] = {"a", (char *)word, NULL};
	_cleanup_free_ char *text = meta_command_line(argv);

	assert_int_equal(strncmp(text, "a ", 2), 0);
	assert_string_equal(text + 2, quoted);
}

TEST(command_lines_can_be_pasted)
{
	expect_quoted("-j2", "-j2");
	expect_quoted("a=b:/c.d", "a=b:/c.d");
	expect_quoted("", "''");
	expect_quoted("two words", "'two words'");
	expect_quoted("it's", "'it'\\''s'");
	expect_quoted("$HOME", "'$HOME'");
	expect_quoted("~", "'~'");
	expect_quoted("\xff", "'\xff'");
	expect_quoted("a\nb\t'\\\x1b", "$'a\\nb\\t\\'\\\\\\x1b'");
	expect_quoted("--password=x", "'--password=***'");
}
