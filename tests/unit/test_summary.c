/* SPDX-License-Identifier: MIT */
/* Reports of a recording, for scripts and for people, and of a machine that cannot record. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <jansson.h>

#include "lib/recording/meta.h"
#include "cmd/text/record_summary.h"
#include "lib/base/cleanup.h"
#include "lib/live/features.h"
#include "lib/live/instrument.h"
#include "lib/recording/outcome_facts.h"
#include "tests/unit/test.h"

/* Two threads of one process, three samples, two frames of which one has a name. */
static struct profile *small_profile(void)
{
	struct profile *p = profile_new();
	struct frame frame = {.module = NO_MODULE, .func = NO_FUNC, .symbol = NO_SYMBOL};
	struct func func = {.module = NO_MODULE, .file = NO_SOURCE_FILE, .is_named = true};
	struct profile_thread thread = {.pid = 7, .tid = 7, .is_main = true};
	struct sample sample = {.stack = NO_STACK, .weight = 1};
	thread_id id;

	func.name = strings_intern(&p->strings, "main");
	frames_intern(&p->frames, &frame);
	frame.func = funcs_intern(&p->funcs, &func);
	frames_intern(&p->frames, &frame);

	id = threads_add(&p->threads, &thread);
	for (int i = 0; i < 3; i++)
		vec_push(&threads_get(&p->threads, id)->samples.open, sample);
	thread.tid = 8;
	thread.is_main = false;
	threads_add(&p->threads, &thread);

	p->stats.cpu_samples = 3;
	p->stats.user_stacks = 2;
	p->stats.whole = 1;
	p->stats.guessed = 1;
	p->stats.unknown_kinds = 1;
	p->stats.exiting = 2;
	p->stats.lost[LOST_RING_FULL] = 5;
	p->stats.lost[LOST_STACK] = 1;
	p->stats.lost[LOST_MAPPING] = 4;
	return p;
}

/* Lives as long as a test. */
static struct recording recording;

static struct outcome outcome_of(struct profile *p)
{
	recording.profile = p;
	recording.facts.info = (struct recorder_info){
		.cpu_count = 2,
		.interval_ns = 1001001,
		.start_ns = 1000000000,
		.end_ns = 2500000000,
		.written_bytes = 160,
	};
	return (struct outcome){
		.recording = &recording,
		.counts = {.threads = p->threads.rows.count, .processes = 1},
		.path = "p.json",
		.file_bytes = 1234,
		.finish_ns = 12345678,
		.recorder_cpu_ns = 2000000,
		.exit_status = 42,
	};
}

/* Tells facts as when a profile is complete, and when it is written. */
static json_t *stats_of(const struct outcome *outcome)
{
	int fd = memfd_create("stats", MFD_CLOEXEC);
	struct outfile_options options = {.path = "stats", .fd = dup(fd), .owner.is_self = true};
	_cleanup_free_ char *text = NULL;
	struct outfile *out;
	json_error_t why;
	json_t *root;

	assert_int_equal(outfile_open(&out, &options, NULL), 0);
	outcome_facts_add_end(&recording.facts.report.facts, recording.profile,
			      RECORDER_UNWIND_AUTO, &recording.facts.info);
	outcome_facts_add_waits(&recording.facts.report.facts, recording.profile);
	summary_write_stats(outcome, out);
	assert_int_equal(outfile_commit(out, NULL), 0);
	outfile_free(out);
	lseek(fd, 0, SEEK_SET);
	text = text_read_fd(fd, 1 << 16, NULL);
	close(fd);
	assert_non_null(text);
	root = json_loads(text, JSON_REJECT_DUPLICATES, &why);
	if (!root)
		fail_msg("%s in %s", why.text, text);
	return root;
}

static void expect_integer(const json_t *root, const char *key, json_int_t value)
{
	const json_t *found = json_object_get(root, key);

	if (!json_is_integer(found) || json_integer_value(found) != value)
		fail_msg("%s is not %d", key, (int)value);
}

TEST(the_keys_of_stats_are_those_of_the_contract)
{
	struct profile *p = small_profile();
	struct outcome outcome = outcome_of(p);
	json_t *root = stats_of(&outcome);
	json_t *lost_by = json_object_get(root, "lost_by");

	expect_integer(root, "samples", 3);
	expect_integer(root, "cpu_samples", 3);
	expect_integer(root, "lost", 6);
	expect_integer(lost_by, "ring-full", 5);
	expect_integer(lost_by, "stack", 1);
	expect_integer(lost_by, "no-ring", 0);
	expect_integer(lost_by, "capture", 0);
	assert_int_equal(json_object_size(lost_by), 4);
	expect_integer(json_object_get(root, "lost_events"), "mapping", 4);
	expect_integer(root, "threads", 2);
	expect_integer(root, "processes", 1);
	expect_integer(root, "ring_bytes", 160);
	expect_integer(root, "user_stacks", 2);
	assert_string_equal(json_string_value(json_object_get(root, "unwind")), "auto");
	expect_integer(root, "whole", 1);
	expect_integer(root, "finished_later", 0);
	expect_integer(root, "guessed", 1);
	expect_integer(root, "unknown_kinds", 1);
	expect_integer(root, "truncated", 0);
	expect_integer(root, "broken", 0);
	expect_integer(root, "unknown", 0);
	expect_integer(root, "kernel_only", 0);
	expect_integer(root, "exiting", 2);
	expect_integer(root, "frames", 2);
	expect_integer(root, "named_frames", 1);
	expect_integer(root, "fde_frames", 0);
	expect_integer(root, "file_bytes", 1234);
	expect_integer(root, "exit_status", 42);
	assert_true(json_real_value(json_object_get(root, "recorder_cpu_ms")) == 2.0);
	assert_true(json_real_value(json_object_get(root, "finish_ms")) == 12.345);
	assert_true(json_real_value(json_object_get(root, "duration_ms")) == 1500.0);
	json_decref(root);
	recording_release(&recording);
}

TEST(instruments_have_keys_between_others)
{
	struct profile *p = small_profile();
	struct outcome outcome = outcome_of(p);
	struct facts *f = &recording.facts.report.facts;
	json_t *root, *page_faults, *value;
	const char *key;
	char order[2048] = "";

	facts_text(f, FACT_EVENT, NULL, "cpu-clock");
	facts_count(f, FACT_EVENT_THROTTLED_MS, "page-faults", 1234567);
	facts_real(f, FACT_EVENT_RUNNING, "page-faults", 0.5);
	facts_count(f, FACT_OTHER_TICKS, NULL, 8);
	facts_count(f, FACT_IDLE_TICKS, NULL, 7);
	facts_object(f, FACT_BPF_PROGRAMS);
	root = stats_of(&outcome);
	json_object_foreach(root, key, value)
	{
		if (strlen(order) + strlen(key) + 2 < sizeof(order))
			strcat(strcat(order, key), " ");
	}
	assert_non_null(strstr(order, "lost_events cpu_losses events waits threads "));
	assert_non_null(strstr(order, "processes pauses paused_ms merged_rows idle_ticks "
				      "other_ticks ring_bytes "));
	assert_non_null(strstr(order, "dropped_files event cpus "));
	assert_int_equal(json_object_size(json_object_get(root, "bpf_programs")), 0);
	expect_integer(root, "other_ticks", 8);
	page_faults = json_object_get(json_object_get(root, "events"), "page-faults");
	assert_true(json_real_value(json_object_get(page_faults, "throttled_ms")) == 1.234);
	assert_true(json_real_value(json_object_get(page_faults, "running")) == 0.5);
	json_decref(root);
	recording_release(&recording);
}

/* Captures may be damaged, and name what they like. */
TEST(names_that_are_no_text_are_left_out)
{
	struct profile *p = small_profile();
	struct outcome outcome = outcome_of(p);
	json_t *root;

	facts_object(&recording.facts.report.facts, FACT_EVENTS);
	facts_count(&recording.facts.report.facts, FACT_EVENT_WEIGHT, "\xff", 1);
	facts_count(&recording.facts.report.facts, FACT_EVENT_LOST, "\xff", 1);
	facts_text(&recording.facts.report.facts, FACT_EVENT, NULL, "\xff");
	root = stats_of(&outcome);
	assert_int_equal(json_object_size(json_object_get(root, "events")), 0);
	assert_null(json_object_get(root, "event"));
	json_decref(root);
	recording_release(&recording);
}

TEST(every_cause_is_a_sample_or_an_event)
{
	struct profile_stats stats = {0};
	_cleanup_(strbuf_release) struct strbuf samples = {0}, events = {0};

	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++)
		stats.lost[cause] = 1;
	assert_int_equal(losses_count(&stats, true) + losses_count(&stats, false),
			 LOST_CAUSE_COUNT);
	losses_describe(&stats, true, &samples);
	losses_describe(&stats, false, &events);
	assert_string_equal(strbuf_text(&samples), "ring-full 1, stack 1, no-ring 1, capture 1");
	assert_string_equal(strbuf_text(&events), "event 1, mapping 1, tracking 1");
}

/* Returns what summary_print() prints; restores stderr. */
static char *summary_of(const struct outcome *outcome, bool quiet)
{
	int fd = memfd_create("stderr", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	char *text;

	fflush(stderr);
	dup2(fd, STDERR_FILENO);
	summary_print(outcome, quiet);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	lseek(fd, 0, SEEK_SET);
	text = text_read_fd(fd, 4096, NULL);
	close(fd);
	assert_non_null(text);
	return text;
}

TEST(the_summary_is_short)
{
	struct profile *p = small_profile();
	struct outcome outcome = outcome_of(p);
	_cleanup_free_ char *text = NULL, *quiet = NULL, *verbose = NULL, *dashed = NULL;

	p->stats.lost[LOST_MAPPING] = 0;
	text = summary_of(&outcome, false);
	assert_string_equal(text, "prof: 3 samples, 2 threads, 1 process in 1.50 s; "
				  "6 lost (ring-full 5, stack 1); 50.0 % of 2 frames named\n"
				  "prof: stacks: 100.0 % whole\n"
				  "prof: wrote p.json (1.2 kB)\n"
				  "prof: next: prof report p.json\n");
	outcome.verbose = true;
	verbose = summary_of(&outcome, false);
	assert_non_null(strstr(verbose, "prof: stacks: 100.0 % whole (100.0 % with guesses, "
					"100.0 % without frames of unknown kinds); 2 exiting\n"));
	/* A file's name is no option. */
	outcome.path = "-q";
	dashed = summary_of(&outcome, false);
	assert_non_null(strstr(dashed, "prof report ./-q\n"));
	outcome.path = "p.json";
	/* Losses are reported even if quiet. */
	quiet = summary_of(&outcome, true);
	assert_non_null(strstr(quiet, "6 lost (ring-full 5, stack 1)"));
	assert_null(strstr(quiet, "wrote"));
	assert_null(strstr(quiet, "stacks"));
	recording_release(&recording);
}

static void expect_line(const struct outcome *outcome, const char *line)
{
	_cleanup_free_ char *text = summary_of(outcome, false);

	if (!strstr(text, line))
		fail_msg("%s is not in %s", line, text);
}

static void expect_no_line(const struct outcome *outcome, const char *part)
{
	_cleanup_free_ char *text = summary_of(outcome, false);

	if (strstr(text, part))
		fail_msg("%s is in %s", part, text);
}

TEST(few_samples_are_reported)
{
	struct profile *p = profile_new();
	struct outcome outcome = outcome_of(p);

	p->stats.cpu_samples = 3;
	expect_line(&outcome, "prof: the command hardly ran on a CPU: for more samples raise -F "
			      "(999 Hz now), or attach to the process that does the work: "
			      "prof attach -p PID\n");
	recording.facts.subject = RECORDING_OF_PROCESSES;
	expect_line(&outcome, "prof: the attached processes hardly ran on a CPU: for more samples "
			      "raise -F (999 Hz now), or record for longer\n");
	recording.facts.subject = RECORDING_OF_MACHINE;
	expect_line(&outcome, "prof: hardly anything ran on a CPU: ");
	recording.facts.subject = RECORDING_OF_FILTERS;
	expect_line(&outcome, "prof: the selected processes hardly ran on a CPU: ");
	p->stats.cpu_samples = 4;
	expect_no_line(&outcome, "hardly");
	/* Lost samples were taken. */
	p->stats.cpu_samples = 0;
	p->stats.lost[LOST_STACK] = 4;
	expect_no_line(&outcome, "hardly");
	recording_release(&recording);
}

TEST(incomplete_stacks_are_reported)
{
	struct profile *p = profile_new();
	struct outcome outcome = outcome_of(p);

	p->stats.cpu_samples = 1000;
	p->stats.whole = 999;
	p->stats.broken = 1;
	expect_line(&outcome, "prof: stacks: 99.9 % whole\n");
	p->stats.whole = 900;
	p->stats.broken = 100;
	expect_line(&outcome, "prof: stacks: 90.0 % whole; others end early, see -v\n");
	recording.facts.unwind = RECORDER_UNWIND_FP;
	expect_line(&outcome, "prof: stacks: by frame pointers\n");
	recording.facts.unwind = RECORDER_UNWIND_NONE;
	expect_no_line(&outcome, "stacks");
	recording_release(&recording);
}

TEST(cuts_and_leftovers_are_reported)
{
	struct profile *p = profile_new();
	struct outcome outcome = outcome_of(p);
	_cleanup_free_ char *quiet = NULL;

	p->stats.cpu_samples = 100;
	expect_no_line(&outcome, "still running");
	expect_no_line(&outcome, "read in part");
	outcome.left_running = 4711;
	expect_line(&outcome, "prof: the command is still running with pid 4711\n");
	outcome.may_kill = true;
	expect_line(&outcome, "with pid 4711; use --kill to end it\n");
	outcome.symbolizing_was_cut = true;
	expect_line(&outcome, "prof: a signal interrupted naming: run 'prof symbolize' to name "
			      "the rest\n");
	outcome.lacked_memory = true;
	expect_line(&outcome, "prof: lack of memory interrupted naming: ");
	report_warning(&recording.facts.report, "%d perf maps are too large and read in part", 2);
	report_line(&recording.facts.report, "events: page-faults %d in 1 sample", 3);
	expect_line(&outcome, "prof: warning: 2 perf maps are too large and read in part\n");
	expect_line(&outcome, "prof: events: page-faults 3 in 1 sample\n");
	/* Warnings are printed even if quiet. */
	quiet = summary_of(&outcome, true);
	assert_non_null(strstr(quiet, "read in part"));
	assert_null(strstr(quiet, "events"));
	report_release(&recording.facts.report);
	recording.facts.report = (struct report){0};
	outcome.path = "\xe2\x80\xaegpj\x9b.json";
	expect_line(&outcome, "prof: wrote ?gpj?.json (1.2 kB)\n");
	recording_release(&recording);
}

TEST(nothing_missing_is_quiet)
{
	struct profile *p = profile_new();
	struct outcome outcome = outcome_of(p);
	_cleanup_free_ char *text = NULL;

	text = summary_of(&outcome, true);
	assert_string_equal(text, "");
	recording_release(&recording);
}

/* A check that follows no other line would be left out. */
TEST(each_check_of_an_instrument_is_a_line)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_probe(features, FEATURES_MAX), found = 0, all = 0;

	for (size_t i = 0; instruments[i]; i++) {
		const struct instrument_check *check = instruments[i]->checks;

		for (; check && check->name; check++, all++) {
			for (size_t j = 0; j < count; j++)
				found += strcmp(features[j].name, check->name) == 0;
		}
	}
	assert_true(all);
	assert_int_equal(found, all);
}

TEST(what_is_missing_has_a_cure)
{
	struct feature features[FEATURES_MAX];
	size_t count = features_probe(features, FEATURES_MAX), missing = 0;
	struct error err = {0};

	assert_true(count > 10);
	for (size_t i = 0; i < count; i++) {
		assert_true(features[i].name[0] && features[i].detail[0]);
		assert_null(strchr(features[i].detail, '\n'));
		if (features[i].status != FEATURE_MISSING)
			continue;
		missing++;
		if (!features[i].hint[0])
			fail_msg("%s: nothing is said about what mends it", features[i].name);
		if (missing == 1) {
			assert_true(features_explain(&err) < 0);
			assert_non_null(strstr(err.text, features[i].detail));
			assert_string_equal(err.hint, features[i].hint);
		}
	}
	if (!missing)
		assert_int_equal(features_explain(&err), 0);
	assert_int_equal(features_probe(features, 2), 2);
}
