/* SPDX-License-Identifier: MIT */
/* Command lines: what is accepted, what is refused, and how the message reads. */
#include <errno.h>
#include <string.h>

#include "cmd/options/option_table.h"
#include "cmd/options/live_options.h"
#include "lib/recording/meta.h"
#include "cmd/options/output_options.h"
#include "lib/live/unwind_methods.h"
#include "lib/base/cleanup.h"
#include "tests/unit/option_words.h"
#include "tests/unit/test.h"

/* Lives as long as a test. */
static struct option_table table;

static void set_option(const char *name, const char *value)
{
	struct error err = {0};

	if (parse_option(&table, name, value, &err))
		fail_msg("%s", err.text);
}

static void begin_live(struct live_options *o)
{
	live_options_init(o);
	live_options_table(&table, o);
	option_table_add(&table, command_options, o);
	option_table_add_rules(&table, command_rules);
}

static void end_live(struct live_options *o)
{
	option_table_release(&table);
	table = (struct option_table){0};
	live_options_release(o);
}

static void begin_output(struct output_options *o)
{
	output_options_init(o);
	output_options_table(&table, o);
}

static void end_output(struct output_options *o)
{
	option_table_release(&table);
	table = (struct option_table){0};
	output_options_release(o);
}

static void refuse_live(const char *name, const char *value, const char *text)
{
	struct live_options o;
	struct error err = {0};

	begin_live(&o);
	assert_int_equal(parse_option(&table, name, value, &err), -EINVAL);
	assert_string_equal(err.text, text);
	end_live(&o);
}

TEST(units_are_those_of_the_manual)
{
	struct live_options o;

	begin_live(&o);
	set_option("frequency", "99.5");
	set_option("interval", "0.25");
	set_option("duration", "1.5");
	assert_int_equal(o.duration_ns, 1500000000);
	set_option("duration", "1000000000");
	assert_int_equal(o.duration_ns, 1000000000000000000);
	set_option("ring-size", "2M");
	assert_int_equal(o.ring_bytes, 2 << 20);
	set_option("ring-size", "65536");
	assert_int_equal(o.ring_bytes, 65536);
	set_option("unwind-memory", "1G");
	assert_int_equal(o.unwind_bytes, 1 << 30);
	assert_false(o.per_cpu);
	set_option("per-cpu", NULL);
	assert_true(o.per_cpu);
	set_option("kill", NULL);
	assert_true(o.kill);
	assert_false(o.as_root);
	set_option("as-root", NULL);
	assert_true(o.as_root);
	assert_int_equal(parse_option(&table, "output", "x", &(struct error){0}), -EINVAL);
	end_live(&o);
}

TEST(wrong_values_are_named)
{
	refuse_live("frequency", "0", "--frequency 0: must be greater than 0");
	refuse_live("frequency", "-1", "--frequency -1: must be greater than 0");
	refuse_live("frequency", "", "--frequency : not a number");
	refuse_live("frequency", "fast", "--frequency fast: not a number");
	refuse_live("frequency", "9x", "--frequency 9x: not a number");
	refuse_live("frequency", "nan", "--frequency nan: not a number");
	refuse_live("frequency", "inf", "--frequency inf: not a number");
	refuse_live("frequency", "1e-9", "--frequency 1e-9: must be at least 0.001");
	refuse_live("interval", "0", "--interval 0: must be greater than 0");
	refuse_live("interval", "1e30", "--interval 1e30: must be at most 1000000000000");
	refuse_live("duration", "-0.5", "--duration -0.5: must be greater than 0");
	refuse_live("duration", "2e9", "--duration 2e9: must be at most 1000000000");
	refuse_live("ring-size", "4X", "--ring-size 4X: must be a size such as 512K or 4M");
	refuse_live("ring-size", "1K", "--ring-size 1K: must be between 64K and 1G");
	refuse_live("ring-size", "2G", "--ring-size 2G: must be between 64K and 1G");
	refuse_live("unwind", "dwarf", "--unwind dwarf: must be auto, cfi, fp or none");
	refuse_live("unwind", "", "--unwind : must be auto, cfi, fp or none");
	refuse_live("unwind", "CFI", "--unwind CFI: must be auto, cfi, fp or none");
	refuse_live("unwind-memory", "all",
		    "--unwind-memory all: must be a size such as 512K or 4M");
	refuse_live("unwind-memory", "4095K", "--unwind-memory 4095K: must be between 4M and 4G");
	refuse_live("unwind-memory", "5G", "--unwind-memory 5G: must be between 4M and 4G");
}

TEST(every_method_has_its_name)
{
	struct live_options o;

	begin_live(&o);
	assert_int_equal(o.unwind, RECORDER_UNWIND_AUTO);
	for (int method = RECORDER_UNWIND_NONE; method >= RECORDER_UNWIND_AUTO; method--) {
		set_option("unwind", unwind_method_name(method));
		assert_int_equal(o.unwind, method);
	}
	set_option("unwind", "cfi");
	assert_int_equal(o.unwind, RECORDER_UNWIND_CFI);
	set_option("unwind", "fp");
	assert_int_equal(o.unwind, RECORDER_UNWIND_FP);
	set_option("unwind", "none");
	assert_int_equal(o.unwind, RECORDER_UNWIND_NONE);
	end_live(&o);
}

/* A recording that is not a flight recorder's keeps all bytes of its capture. */
TEST(only_the_flight_recorder_drops_bytes)
{
	struct live_options o;

	begin_live(&o);
	option_table_add(&table, last_options, &o.last);
	assert_int_equal(o.last.keep_ns, 0);
	assert_int_equal(o.last.keep_bytes, 0);
	set_option("last", "60s");
	assert_int_equal(o.last.keep_bytes, 256 << 20);
	set_option("last", "60s,64M");
	assert_int_equal(o.last.keep_bytes, 64 << 20);
	end_live(&o);
}

TEST(what_excludes_each_other_is_refused)
{
	struct live_options o;
	struct error err = {0};

	begin_live(&o);
	assert_int_equal(instrument_settings_judge(&o.instruments, &err), 0);
	set_option("interval", "1");
	assert_int_equal(instrument_settings_judge(&o.instruments, &err), 0);

	set_option("frequency", "1000");
	assert_int_equal(instrument_settings_judge(&o.instruments, &err), -EINVAL);
	assert_string_equal(err.text, "--frequency and --interval cannot be combined");
	end_live(&o);

	begin_live(&o);
	set_option("kill", NULL);
	assert_int_equal(option_table_judge(&table, &err), -EINVAL);
	assert_string_equal(err.text, "--kill: needs --duration");
	end_live(&o);
}

/* Options of instruments are in the table as its own are, each behind the one that it follows. */
TEST(every_option_is_in_the_help)
{
	const struct instrument_option *option;
	const struct instrument *owner;
	_cleanup_(strbuf_release) struct strbuf help = {0};
	struct live_options o;
	size_t count = 0;

	begin_live(&o);
	table.usage = table.after = "";
	option_table_help(&table, &help);
	for (size_t i = 0; (option = instrument_option_at(i, &owner)); i++) {
		bool optional = option->argument && option->argument[0] == '[';
		_cleanup_free_ char *name = xasprintf("--%s%s", option->name,
						      optional		 ? option->argument
						      : option->argument ? " "
									 : "  ");

		if (!strstr(strbuf_text(&help), name))
			fail_msg("%s of %s follows no option", option->name, owner->name);
		count++;
	}
	assert_true(count >= 3);
	assert_int_equal(strncmp(strbuf_text(&help), "  -F, --frequency HZ     ", 25), 0);
	end_live(&o);
}

TEST(outputs_are_told_by_name)
{
	struct output_options o;

	begin_output(&o);
	assert_string_equal(o.path, "profile.json.gz");
	assert_false(output_is_stdout(&o));
	set_option("output", "-");
	assert_true(output_is_stdout(&o));
	set_option("output", "./-");
	assert_false(output_is_stdout(&o));
	end_output(&o);
}

TEST(formats_are_chosen_by_name)
{
	struct output_options o;
	struct error err = {0};

	begin_output(&o);
	set_option("output", "a.unknown");
	assert_int_equal(output_options_check(&o, NULL), 0);
	assert_ptr_equal(o.format, FORMAT_DEFAULT);
	set_option("format", "firefox");
	assert_ptr_equal(o.format, &format_firefox);
	assert_int_equal(parse_option(&table, "format", "fire", &err), -EINVAL);
	assert_non_null(strstr(err.text, "--format fire: no such format; must be one of: firefox"));
	end_output(&o);
}

TEST(debug_dirs_end_with_null)
{
	struct output_options o;

	begin_output(&o);
	assert_int_equal(output_options_check(&o, NULL), 0);
	assert_null(o.debug_dirs.items[0]);
	set_option("debug-dir", "one");
	set_option("debug-dir", "two");
	assert_int_equal(output_options_check(&o, NULL), 0);
	assert_int_equal(o.debug_dirs.count, 2);
	assert_string_equal(o.debug_dirs.items[0], "one");
	assert_string_equal(o.debug_dirs.items[1], "two");
	assert_null(o.debug_dirs.items[2]);
	end_output(&o);
}

TEST(outputs_must_differ)
{
	struct output_options o;
	struct error err = {0};

	begin_output(&o);
	assert_int_equal(parse_option(&table, "output", "", &err), -EINVAL);
	assert_string_equal(err.text, "--output: the name must not be empty");
	set_option("stats", "profile.json.gz");
	assert_int_equal(output_options_check(&o, &err), -EINVAL);
	set_option("stats", "-");
	assert_int_equal(output_options_check(&o, &err), -EINVAL);
	set_option("stats", "stats.json");
	assert_int_equal(output_options_check(&o, &err), 0);
	end_output(&o);
}

/* Returns the text of the first option's failure, or "". */
static const char *first_failure(const char *one, const char *two)
{
	static struct error err;
	struct live_options live;
	struct output_options output;
	char *argv[] = {"record", (char *)one, (char *)two, NULL};

	err = (struct error){0};
	optind = 0; /* restarts getopt(3) */
	begin_live(&live);
	begin_output(&output);
	if (option_table_next(&table, two ? 3 : 2, argv, &err) < 0)
		assert_true(err.text[0]);
	end_live(&live);
	output_options_release(&output);
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
