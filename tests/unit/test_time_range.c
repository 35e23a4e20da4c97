/* SPDX-License-Identifier: MIT */
/* The time that profiles of other writers cover, and times that are none. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "lib/query/copy_rows.h"
#include "tests/unit/test.h"

#define SEED "tests/fuzz/corpus/patch/version-70.json"
#define NO_MARKERS \
	"\"name\":[],\"category\":[],\"data\":[],\"startTime\":[],\"endTime\":[]," \
	"\"phase\":[],\"length\":0"
#define MS 1000000

static struct profile *read_text(const struct format *format, const char *text)
{
	struct error err = {0};
	struct profile *p = NULL;

	if (format->read(&p, text, strlen(text), NULL, &err))
		fail_msg("%s", err.text);
	return p;
}

/* Replaces what lies between the two words, which come in this order. */
static char *replaced(char *text, const char *from, const char *to, const char *by)
{
	char *first = strstr(text, from), *last = first ? strstr(first, to) : NULL;
	char *result;

	assert_non_null(last);
	result = xasprintf("%.*s%s%s", (int)(first - text), text, by, last);
	free(text);
	return result;
}

/* A processed profile with these members of meta, samples, markers and counters. */
static struct profile *read_processed(const char *meta, const char *samples, const char *markers,
				      const char *counters)
{
	char *text = text_read_file(SEED, 1 << 20, NULL);
	struct profile *p;

	assert_non_null(text);
	text = replaced(text, "\"startTime\":1.5", ",\"symbolicated\"", meta);
	text = replaced(text, "\"stack\":[2,null", "},\"markers\"", samples);
	text = replaced(text, "\"name\":[5,5]", "}}],\"shared\"", markers);
	text = replaced(text, "\"counters\":[]", "}", counters);
	p = read_text(&format_firefox, text);
	free(text);
	return p;
}

/* Expects start and length in ms after the file's zero, and that many samples. */
static void expect_range(struct profile *p, uint64_t start, uint64_t length, uint64_t samples)
{
	assert_int_equal(p->meta.start_ns, start * MS);
	assert_int_equal(p->meta.end_ns - p->meta.start_ns, length * MS);
	assert_int_equal(profile_sample_count(p), samples);
	samples_for_each(&p->threads.rows.items[0].samples, sample)
		assert_in_range(sample->time, p->meta.start_ns, p->meta.end_ns);
	profile_free(p);
}

static void expect_samples(const char *samples, uint64_t start, uint64_t length, uint64_t count)
{
	expect_range(read_processed("\"startTime\":0", samples, NO_MARKERS, "\"counters\":[]"),
		     start, length, count);
}

TEST(samples_begin_and_end_a_range)
{
	expect_samples("\"stack\":[2,2,2],\"timeDeltas\":[0,1,1],\"length\":3", 0, 3, 3);
	expect_samples("\"stack\":[2,2],\"time\":[5000,5001],\"length\":2", 5000, 2, 2);
	expect_samples("\"stack\":[2,2],\"time\":[5,7],\"weight\":null,\"length\":2", 5, 3, 2);
	expect_samples("\"stack\":[2],\"time\":[5],\"weight\":[40],\"length\":1", 5, 40, 1);
	expect_samples("\"stack\":[2,2],\"time\":[0,10],\"weight\":[10,20],\"length\":2", 0, 30, 2);
	expect_samples("\"stack\":[2,2],\"time\":[0,99],\"weight\":[5,20],\"length\":2", 0, 119, 2);
	/* A wait that has ended. */
	expect_samples("\"stack\":[2,2],\"time\":[0,5000],\"weight\":[1,4999],\"length\":2", 0,
		       5001, 2);
	expect_samples("\"stack\":[],\"time\":[],\"length\":0", 0, 0, 0);
}

TEST(markers_and_counters_have_a_range)
{
	static const char none[] = "\"stack\":[],\"time\":[],\"length\":0";
	static const char marker[] = "\"name\":[5],\"category\":[0],\"data\":[null],\"startTime\":["
				     "%s],\"endTime\":[%s],\"phase\":[1],\"length\":1";
	_cleanup_free_ char *known = xasprintf(marker, "20", "30");
	_cleanup_free_ char *early = xasprintf(marker, "-1", "30");
	_cleanup_free_ char *late = xasprintf(marker, "20", "1e99");

	expect_range(read_processed("\"startTime\":0", none, known, "\"counters\":[]"), 20, 11, 0);
	expect_range(read_processed("\"startTime\":0", none, early, "\"counters\":[]"), 30, 1, 0);
	expect_range(read_processed("\"startTime\":0", none, late, "\"counters\":[]"), 20, 1, 0);
	expect_range(read_processed("\"startTime\":0", "\"stack\":[2],\"time\":[10],\"length\":1",
				    known, "\"counters\":[]"),
		     10, 20, 1);
	expect_range(read_processed("\"startTime\":0", none, NO_MARKERS,
				    "\"counters\":[{\"name\":\"n\",\"pid\":\"1\",\"samples\":{"
				    "\"time\":[7,9],\"count\":[1,2],\"length\":2}}]"),
		     7, 3, 0);
}

TEST(told_ranges_count)
{
	static const char samples[] = "\"stack\":[2,2],\"time\":[5,6],\"length\":2";
	static const char told[] = "\"startTime\":1700000000000,\"profilingStartTime\":2,"
				   "\"profilingEndTime\":9.5";
	struct profile *p = read_processed(told, samples, NO_MARKERS, "\"counters\":[]");

	assert_int_equal(p->meta.start_ns, 2 * MS);
	assert_int_equal(p->meta.end_ns, 9500000);
	assert_int_equal(p->meta.start_realtime_ns, 1700000000002000000);
	profile_free(p);
	/* Front-ends want both. */
	expect_range(read_processed("\"startTime\":0,\"profilingEndTime\":99", samples, NO_MARKERS,
				    "\"counters\":[]"),
		     5, 2, 2);
	expect_range(read_processed("\"startTime\":0,\"profilingStartTime\":0,"
				    "\"profilingEndTime\":1e99",
				    samples, NO_MARKERS, "\"counters\":[]"),
		     5, 2, 2);
}

TEST(impossible_times_count_without_one)
{
	expect_samples("\"stack\":[2,2,2,2,2],\"time\":[-7,5,1e99,null,6],\"length\":5", 5, 2, 5);
	expect_samples("\"stack\":[2,2,2],\"time\":[5,6,18446744069414.584],\"length\":3", 5, 2, 3);
	expect_samples("\"stack\":[2,2,2],\"timeDeltas\":[5,5e12,-5e12],\"length\":3", 5, 1, 3);
	expect_samples("\"stack\":[2,2],\"time\":[null,1e99],\"length\":2", 0, 0, 2);
}

/* Several threads, one of which has no time at all. */
TEST(threads_share_a_range)
{
	static const char gecko[] =
		"{\"meta\":{\"version\":24,\"interval\":1,\"startTime\":20971758.5,"
		"\"presymbolicated\":true},\"libs\":[],\"threads\":[%s,%s]}";
	static const char thread[] =
		"{\"name\":\"%s\",\"tid\":%d,\"pid\":5,\"markers\":{\"schema\":{\"name\":0,"
		"\"time\":1,\"data\":2},\"data\":[]},\"samples\":{\"schema\":{\"stack\":0,\"time\":"
		"1},\"data\":[%s]},\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0]]},"
		"\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0]]},"
		"\"stringTable\":[\"burn (in /bin/h)\"]}";
	_cleanup_free_ char *a = xasprintf(thread, "a", 5, "[0,1e99],[0,-3]");
	_cleanup_free_ char *b = xasprintf(thread, "b", 6, "[0,20971758.5],[0,20971760.5]");
	_cleanup_free_ char *text = xasprintf(gecko, a, b);
	struct profile *p = read_text(&format_gecko, text);
	const struct frame *frame = &p->frames.rows.items[0];

	assert_int_equal(p->meta.start_realtime_ns, 0);
	assert_int_equal(frame->module, p->funcs.rows.items[frame->func].module);
	assert_string_equal(strings_get(&p->strings, p->modules.rows.items[frame->module].path),
			    "/bin/h");
	assert_string_equal(strings_get(&p->strings, p->modules.rows.items[frame->module].name),
			    "h");
	assert_int_equal(samples_last_time(&p->threads.rows.items[0].samples), 20971760500000);
	assert_int_equal(p->meta.start_ns, 20971758500000);
	assert_int_equal(p->meta.end_ns, 20971761500000);
	profile_free(p);
}

TEST(other_formats_have_the_same_range)
{
	expect_range(read_text(&format_perf_script,
			       "a 1 5.000000: 1000000 cpu-clock: \n\t1 f (/a)\n\n"
			       "a 1 18446744069.414584: 1000000 cpu-clock: \n\t1 f (/a)\n\n"
			       "a 1 -3.000000: 1000000 cpu-clock: \n\t1 f (/a)\n\n"
			       "a 1 99999999999999999999.5: 1000000 cpu-clock: \n\t1 f (/a)\n\n"
			       "a 1 5.001000: 1000000 cpu-clock: \n\t1 f (/a)\n"),
		     0, 2, 5);
	expect_range(read_text(&format_cpuprofile,
			       "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"}}],"
			       "\"samples\":[1,1,1,1],\"timeDeltas\":[1000,1000,1e99,2000]}"),
		     1, 4, 3);
	expect_range(read_text(&format_speedscope,
			       "{\"$schema\":\"\",\"shared\":{\"frames\":[{\"name\":\"f\"}]},"
			       "\"profiles\":[{\"unit\":\"milliseconds\",\"startValue\":50,"
			       "\"samples\":[[0],[0]],\"weights\":[10,30]}]}"),
		     50, 40, 2);
	expect_range(read_text(&format_cpuprofile,
			       "{\"nodes\":[{\"id\":1,\"callFrame\":{\"functionName\":\"f\"}}],"
			       "\"samples\":[1,1]}"),
		     0, 2, 2);
	expect_range(read_text(&format_folded, "f 3\ng 4\n"), 0, 7, 2);
}

static const char measures[] =
	"{\"$schema\":\"\",\"shared\":{\"frames\":[{\"name\":\"f\"}]},\"activeProfileIndex\":%d,"
	"\"profiles\":[{\"name\":\"Memory\",\"unit\":\"bytes\",\"samples\":[[0],[0]],\"weights\":["
	"4096,1000000]},{\"name\":\"Allocations\",\"unit\":\"%s\",\"samples\":[[0]],\"weights\":["
	"3]}]}";

static void check_event(const struct profile *p, uint32_t event, const char *name, uint64_t weight)
{
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[event].name), name);
	assert_int_equal(p->events.rows.items[event].weight, weight);
}

static const char *unit_of(const struct profile *p, uint32_t event)
{
	return strings_get(&p->strings, p->events.rows.items[event].unit);
}

TEST(speedscope_measures_do_not_add_up)
{
	for (int active = 0; active < 2; active++) {
		_cleanup_free_ char *text = xasprintf(measures, active, "none");
		struct profile *p = read_text(&format_speedscope, text);

		assert_int_equal(profile_first_event(p), 1);
		assert_int_equal(p->threads.rows.count, 1);
		check_event(p, 1 + (uint32_t)active, "Memory", 1004096);
		check_event(p, 2 - (uint32_t)active, "Allocations", 3);
		assert_string_equal(unit_of(p, 1 + (uint32_t)active), "bytes");
		assert_string_equal(unit_of(p, 2 - (uint32_t)active), "");
		expect_range(p, 0, 2, 3);
	}
}

TEST(speedscope_times_are_the_clock_if_active)
{
	_cleanup_free_ char *clock = xasprintf(measures, 1, "seconds");
	_cleanup_free_ char *bytes = xasprintf(measures, 0, "seconds");
	struct profile *p = read_text(&format_speedscope, clock);

	assert_int_equal(profile_first_event(p), 0);
	check_event(p, 1, "Memory", 1004096);
	expect_range(p, 0, 3000, 3);
	p = read_text(&format_speedscope, bytes);
	assert_int_equal(profile_first_event(p), 1);
	check_event(p, 1, "Memory", 1004096);
	check_event(p, 2, "Allocations", 3000000000);
	assert_string_equal(unit_of(p, 2), "nanoseconds");
	profile_free(p);
}

/* Without a date, a profile begins with the first one that it is joined with. */
TEST(profiles_without_a_date_are_joined)
{
	struct profile *parts[2] = {
		read_processed("\"startTime\":20971758.5",
			       "\"stack\":[2],\"time\":[0],\"length\":1", NO_MARKERS,
			       "\"counters\":[]"),
		read_processed("\"startTime\":1700000000000",
			       "\"stack\":[2],\"time\":[0],\"length\":1", NO_MARKERS,
			       "\"counters\":[]"),
	};
	struct query_filter filter = QUERY_FILTER_ALL;
	struct narrow_counts counts;
	struct profile *p = NULL;

	assert_int_equal(
		narrow(&p, (const struct profile *const *)parts, 2, &filter, &counts, NULL), 0);
	assert_int_equal(p->meta.start_realtime_ns, 1700000000000000000);
	expect_range(p, 0, 1, 2);
	profile_free(parts[0]);
	profile_free(parts[1]);
}
