/* SPDX-License-Identifier: MIT */
/* Trace events as many programs write them: what becomes of them in a profile. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "tests/unit/test.h"

static void add_stack(const struct profile *p, stack_id id, struct strbuf *out)
{
	const struct stack *row;
	const struct func *func;

	if (id == NO_STACK)
		return;
	row = &p->stacks.rows.items[id];
	func = &p->funcs.rows.items[frames_get(&p->frames, row->frame)->func];
	add_stack(p, row->parent, out);
	strbuf_addf(out, "%s%s", row->parent == NO_STACK ? "" : ";",
		    strings_get(&p->strings, func->name));
	if (func->file != NO_SOURCE_FILE)
		strbuf_addf(out, "[%s:%u]",
			    strings_get(&p->strings, p->source_files.rows.items[func->file].path),
			    func->line);
}

/* Appends " key=value" for each value. */
static void add_values(const struct profile *p, const struct marker *marker, struct strbuf *out)
{
	const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);

	for (uint32_t i = 0; i < schema->field_count; i++) {
		const struct marker_value *value = marker_value(&p->markers, marker, i);
		const char *key = strings_get(&p->strings,
					      schema_fields(&p->markers.schemas, schema)[i].key);

		if (value->type == FIELD_STRING)
			strbuf_addf(out, " %s=%s", key, strings_get(&p->strings, value->string));
		else if (value->type == FIELD_INTEGER)
			strbuf_addf(out, " %s=%" PRId64, key, (int64_t)value->number);
	}
}

ORDER(compare_markers, struct marker,
      COMPARE(a->start, b->start) ?: COMPARE(b->end, a->end) ?: COMPARE(a->name, b->name))

static void add_thread(struct profile *p, struct profile_thread *thread, struct strbuf *out)
{
	uint64_t start = p->meta.start_ns;

	strbuf_addf(out, "%s %u, %s %u%s\n", strings_get(&p->strings, thread->process_name),
		    thread->pid, strings_get(&p->strings, thread->name), thread->tid,
		    thread->is_main ? " main" : "");
	samples_for_each(&thread->samples, sample) {
		strbuf_addf(out, "%" PRIu64 " x%u ", sample->time - start, sample->weight);
		add_stack(p, sample->stack, out);
		strbuf_addch(out, '\n');
	}
	vec_sort(&thread->markers, compare_markers);
	vec_for_each(&thread->markers, const struct marker *, marker) {
		strbuf_addf(out, "- %s %" PRIu64 "-%" PRIu64,
			    strings_get(&p->strings, marker->name), marker->start - start,
			    marker->end - start);
		add_values(p, marker, out);
		if (marker_cause(&p->markers, marker) != NO_STACK)
			strbuf_addch(out, ' ');
		add_stack(p, marker_cause(&p->markers, marker), out);
		strbuf_addch(out, '\n');
	}
}

static void add_profile(struct profile *p, struct strbuf *out)
{
	vec_for_each(&p->threads.rows, struct profile_thread *, thread)
		add_thread(p, thread, out);
	vec_for_each(&p->counters.rows, const struct counter *, counter) {
		strbuf_addf(out, "= %s %u", strings_get(&p->strings, counter->name), counter->pid);
		vec_for_each(&counter->samples, const struct counter_sample *, sample)
			strbuf_addf(out, " %" PRIu64 ":%+" PRId64, sample->time - p->meta.start_ns,
				    sample->delta);
		strbuf_addch(out, '\n');
	}
}

static struct profile *read_trace(const char *text, struct import_counts *counts)
{
	struct error err = {0};
	struct profile *p = NULL;

	assert_ptr_equal(format_of_text(text, strlen(text)), &format_trace);
	if (format_trace.read(&p, text, strlen(text), counts, &err))
		fail_msg("%s", err.text);
	return p;
}

static void expect(const char *text, const char *expected)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct import_counts counts;
	struct profile *p = read_trace(text, &counts);

	add_profile(p, &out);
	profile_free(p);
	assert_string_equal(strbuf_text(&out), expected);
}

#define EVENT(name, ph, more) "{\"name\":\"" name "\",\"ph\":\"" ph "\"," more "}"
#define ON(pid, tid, ts) "\"pid\":" pid ",\"tid\":" tid ",\"ts\":" ts
#define X(name, tid, ts, dur) EVENT(name, "X", ON("1", tid, ts) ",\"dur\":" dur)

/* Inner spans stand first; the outer one of two with the same times stands last. */
TEST(spans_written_at_their_ends_nest)
{
	expect("{\"traceEvents\":[" X("c", "1", "4", "2") "," X("b", "1", "3", "5") "," X(
		       "twin", "1", "3", "5") "," X("a", "1", "0", "10") "]}",
	       " 1,  1 main\n"
	       "0 x3 a\n"
	       "3000 x1 a;twin;b\n"
	       "4000 x2 a;twin;b;c\n"
	       "6000 x2 a;twin;b\n"
	       "8000 x2 a\n"
	       "- a 0-10000\n"
	       "- b 3000-8000\n"
	       "- twin 3000-8000\n"
	       "- c 4000-6000\n");
}

TEST(spans_written_at_their_starts_nest)
{
	expect("[" X("a", "1", "0", "10") "," X("twin", "1", "3", "5") "," X(
		       "b", "1", "3", "5") "," X("next", "1", "8", "1") "]",
	       " 1,  1 main\n"
	       "0 x3 a\n"
	       "3000 x5 a;twin;b\n"
	       "8000 x1 a;next\n"
	       "9000 x1 a\n"
	       "- a 0-10000\n"
	       "- twin 3000-8000\n"
	       "- b 3000-8000\n"
	       "- next 8000-9000\n");
}

/* Their time on a CPU may be the only one. */
TEST(spans_may_have_the_time_of_the_thread)
{
	expect("[" EVENT("a", "X", ON("1", "1", "0") ",\"tdur\":4") "," EVENT(
		       "b", "X", ON("1", "1", "1") ",\"tdur\":9,\"dur\":2") "]",
	       " 1,  1 main\n"
	       "0 x1 a\n"
	       "1000 x2 a;b\n"
	       "3000 x1 a\n"
	       "- a 0-4000\n"
	       "- b 1000-3000\n");
}

/* PyTorch's own spans end after the function that begins them. */
TEST(overlapping_spans_are_kept)
{
	expect("[" X("enter", "1", "0", "4") "," X("step", "1", "3", "7") "," X("inner", "1", "6",
										"2") "]",
	       " 1,  1 main\n"
	       "0 x3 enter\n"
	       "3000 x1 enter;step\n"
	       "4000 x2 step\n"
	       "6000 x2 step;inner\n"
	       "8000 x2 step\n"
	       "- enter 0-4000\n"
	       "- step 3000-10000\n"
	       "- inner 6000-8000\n");
}

/* Events may stand in any order; an end needs no name, and a span no end. */
TEST(begins_and_ends_are_paired_by_time)
{
	struct import_counts counts;

	expect("[" EVENT("", "E", ON("1", "1", "7")) "," EVENT("a", "B", ON("1", "1", "1")) "," EVENT(
		       "other", "E",
		       ON("1", "1",
			  "6")) "," EVENT("b", "B",
					  ON("1", "1",
					     "2")) "," EVENT("open", "B",
							     ON("1", "1",
								"8")) "," EVENT("i", "I",
										ON("1", "1",
										   "9")) ",",
	       " 1,  1 main\n"
	       "0 x1 a\n"
	       "1000 x4 a;b\n"
	       "5000 x1 a\n"
	       "7000 x1 open\n"
	       "- a 0-6000\n"
	       "- b 1000-5000\n"
	       "- open 7000-8000\n"
	       "- i 8000-8000\n");
	profile_free(read_trace("[" EVENT("x", "E", ON("1", "1", "7")) "]", &counts));
	assert_int_equal(counts.unread[UNREAD_MARKERS], 1);
}

TEST(sums_of_clang_are_no_threads)
{
	expect("{\"traceEvents\":[" X(
		       "Source", "1", "5",
		       "2") ","
			    "{\"pid\":1,\"tid\":2,\"ph\":\"X\",\"ts\":0,\"dur\":9,\"name\":\"Total Source\","
			    "\"args\":{\"count\":4,\"avg ms\":2}}],\"beginningOfTime\":1795862846891980}",
	       " 1,  1 main\n"
	       "0 x2 Source\n"
	       "- Source 0-2000\n");
}

/* Times as numbers and as texts, exact to ns: a double would have 2 ns. */
TEST(times_have_sixteen_digits)
{
	struct import_counts counts;
	struct profile *p = read_trace(
		"{\"baseTimeNanoseconds\":1790857026000000000,\"traceEvents\":[" EVENT(
			"a", "i",
			ON("1", "1",
			   "5005830176886.449")) "," EVENT("b", "i",
							   ON("1", "1",
							      "\"5005830176886.451\"")) "]}",
		&counts);

	assert_int_equal(p->meta.start_ns, 5005830176886449);
	assert_int_equal(p->meta.end_ns, 5005830176886451);
	assert_int_equal(p->meta.start_realtime_ns, 1795862856176886449);
	profile_free(p);
	p = read_trace("[" EVENT("a", "i", ON("1", "1", "1795862856176886.449")) "]", &counts);
	assert_int_equal(p->meta.start_realtime_ns, 1795862856176886449);
	profile_free(p);
	p = read_trace("[" EVENT("a", "i", ON("1", "1", "1.5e3")) "]", &counts);
	assert_int_equal(p->meta.start_ns, 1500000);
	profile_free(p);
	p = read_trace(
		"[" EVENT("a", "i", ON("1", "1", "-5")) "," EVENT(
			"a", "i",
			ON("1", "1", "1e99")) "," EVENT("a", "i",
							ON("1", "1", "99999999999999999999")) "]",
		&counts);
	assert_int_equal(counts.unread[UNREAD_MARKERS], 3);
	profile_free(p);
}

/* Rows of texts are no threads, so their spans are no samples. Names may come last. */
TEST(ids_may_be_texts_and_large)
{
	expect("[" EVENT("all", "X", ON("\"Spans\"", "\"PyTorch\"", "0") ",\"dur\":9") "," X(
		       "a", "139836614708096", "0",
		       "9") "," X("b", "\"1\"", "0",
				  "9") "," EVENT("process_name", "M",
						 "\"pid\":1,\"args\":{\"name\":\"python\"}") "," EVENT("thread_name",
												       "M",
												       "\"pid\":1,\"tid\":1,\"args\":{\"name\":\"Main\"}") "]",
	       "Spans 4194305, PyTorch 4194306 main\n"
	       "- all 0-9000\n"
	       "python 1, 139836614708096 4194307\n"
	       "0 x9 a\n"
	       "- a 0-9000\n"
	       "python 1, Main 1 main\n"
	       "0 x9 b\n"
	       "- b 0-9000\n");
}

#define ASYNC(name, ph, pid, ts, id) EVENT(name, ph, ON(pid, "1", ts) ",\"cat\":\"k\",\"id\":" id)

/* An id may be 0 for all events, or be used by two processes. */
TEST(asynchronous_events_are_paired_as_stacks)
{
	expect("[" ASYNC("a", "b", "1", "0", "0") "," ASYNC("b", "b", "1", "1", "0") "," ASYNC("b", "e", "1", "2", "0") "," ASYNC(
		       "a", "e", "1", "5",
		       "\"0\"") "," ASYNC("p", "b", "1", "6",
					  "7") "," ASYNC("p", "b", "2", "7",
							 "7") "," ASYNC("p", "e", "1", "8",
									"7") "," ASYNC("p", "e",
										       "2", "9",
										       "7") "," ASYNC("open",
												      "b",
												      "1",
												      "9",
												      "3") "," ASYNC("n",
														     "n",
														     "1",
														     "10",
														     "3") "]",
	       " 1,  1 main\n"
	       "- a 0-5000 category=k\n"
	       "- b 1000-2000 category=k\n"
	       "- p 6000-8000 category=k\n"
	       "- open 9000-10000 category=k\n"
	       "- n 10000-10000 category=k\n"
	       " 2,  1 main\n"
	       "- p 7000-9000 category=k\n");
}

/* Local ids count in their process, global ones for all. */
TEST(asynchronous_events_cross_processes)
{
#define ID2(ph, pid, ts, kind) \
	EVENT("x", ph, ON(pid, "1", ts) ",\"cat\":\"k\",\"id2\":{\"" kind "\":\"0x1\"}")
	expect("[" ID2("b", "1", "0", "global") "," ID2("b", "1", "1", "local") "," ID2(
		       "e", "2", "3", "local") "," ID2("e", "2", "4",
						       "global") "," ID2("e", "1", "5",
									 "local") "]",
	       " 1,  1 main\n"
	       "- x 0-4000 category=k\n"
	       "- x 1000-5000 category=k\n");
}

#define FLOW(ph, tid, ts) EVENT("go", ph, ON("1", tid, ts) ",\"cat\":\"f\",\"id\":0")

/* Each step is a marker where it arrives. The end may stand before the start. */
TEST(flows_lead_to_another_thread)
{
	expect("[" EVENT("thread_name", "M", ON("1", "1", "0") ",\"args\":{\"name\":\"main\"}") "," FLOW(
		       "s", "1", "1") "," FLOW("t", "2",
					       "3") "," FLOW("f", "3",
							     "4") "," FLOW("f", "2",
									   "9") "," FLOW("s", "1",
											 "8") "]",
	       " 1, main 1 main\n"
	       " 1,  2\n"
	       "- go 0-2000 category=f from=main 1\n"
	       "- go 7000-8000 category=f from=main 1\n"
	       " 1,  3\n"
	       "- go 2000-3000 category=f from= 2\n");
}

TEST(arguments_are_values_of_markers)
{
	expect("[" EVENT(
		       "a", "i",
		       ON("1", "1",
			  "0") ",\"args\":{\"External id\":7,\"type\":"
			       "\"t\\n\",\"x\":{\"y\":[1]},\"half\":0.5,\"a b\":1,\"a_b\":2}") "]",
	       " 1,  1 main\n"
	       "- a 0-0 External_id=7 type_=t? x={\"y\":[1]} half=0.5 a_b=1 a_b_=2\n");
}

TEST(counters_have_levels)
{
	struct import_counts counts;
	struct profile *p;

	expect("[" EVENT("c", "C", "\"pid\":1,\"ts\":0,\"args\":{\"x\":5,\"value\":\"3\"}") "," EVENT("c", "C", "\"pid\":1,\"ts\":2,\"args\":{\"x\":1}") "," EVENT(
		       "c", "C",
		       "\"pid\":1,\"id\":\"z\",\"ts\":3,\"args\":{\"x\":4}") "," EVENT("[memory]",
										       "i",
										       ON("1", "1",
											  "4") ",\"args\":{\"Bytes\":-8,\"Total Allocated\":64,\"Device Type\":0}") "]",
	       " 1,  1 main\n"
	       "- [memory] 4000-4000 Bytes=-8 Total_Allocated=64 Device_Type=0\n"
	       "= c x 1 0:+5 2000:-4\n"
	       "= c 1 0:+3\n"
	       "= c z x 1 3000:+4\n"
	       "= Allocated 1 4000:+64\n");
	p = read_trace("[" EVENT("c", "C", "\"pid\":1,\"ts\":0,\"args\":{\"x\":0.5}") "]", &counts);
	assert_int_equal(counts.unread[UNREAD_COUNTER_VALUES], 1);
	profile_free(p);
}

#define CALL(name) "\"callFrame\":{\"functionName\":\"" name "\"}"
#define CHUNK(pid, ts, nodes, samples, deltas) \
	EVENT("ProfileChunk", "P", \
	      ON(pid, "9", ts) ",\"id\":\"0x1\",\"args\":{\"data\":{" \
			       "\"cpuProfile\":{\"nodes\":[" nodes "],\"samples\":[" samples "]}," \
			       "\"timeDeltas\":[" deltas "]}}")
#define PROFILE(pid, ts) \
	EVENT("Profile", "P", \
	      ON(pid, "1", ts) ",\"id\":\"0x1\",\"args\":{\"data\":{" \
			       "\"startTime\":" ts "}}")

/* Chunks are on a thread of V8, and may stand in any order; each process has its own ids. */
TEST(chunks_of_v8_are_samples)
{
	expect("[" CHUNK("1", "30", "{\"id\":3," CALL("c") ",\"parent\":1}", "3,2", "10,10") "," X(
		       "span", "1", "0",
		       "40") "," PROFILE("1",
					 "0") "," CHUNK("1", "20",
							"{\"id\":1," CALL("a") "},{\"id\":2," CALL(
								"b") ",\"parent\":1}",
							"1,2",
							"10,10") "," PROFILE("2",
									     "0") "," CHUNK("2",
											    "20",
											    "{\"id\":1," CALL(
												    "other") "}",
											    "1",
											    "10") "]",
	       " 1,  1 main\n"
	       "10000 x1 a\n"
	       "20000 x1 a;b\n"
	       "30000 x1 a;c\n"
	       "40000 x1 a;b\n"
	       "- span 0-40000\n"
	       " 2,  1 main\n"
	       "10000 x100 other\n");
}

/* The profile lasts from its start, which is before the first sample and the first event. */
TEST(whole_profiles_of_v8_state_their_range)
{
	static const char text[] = "[" EVENT(
		"CpuProfile", "I",
		ON("1", "1", "70") ",\"args\":{\"data\":{\"cpuProfile\":{\"nodes\":[{\"id\":1," CALL(
			"a") "}],\"startTime\":5,\"endTime\":67,\"samples\":[1,1],\"timeDeltas\":[25,10]}}"
			     "}") "," X("span", "1", "20", "4") "]";
	struct profile *p = read_trace(text, NULL);

	assert_int_equal(p->meta.start_ns, 5000);
	assert_int_equal(p->meta.end_ns, 67000);
	samples_for_each(&p->threads.rows.items[0].samples, sample) {
		assert_int_equal(sample->time, 30000);
		break;
	}
	profile_free(p);
}

/* Stack frames may stand behind the events that refer to them. */
TEST(stack_frames_are_stacks)
{
	expect("{\"traceEvents\":[" EVENT(
		       "a", "i",
		       ON("1", "1",
			  "0") ",\"sf\":7") "],\"samples\":["
					    "{\"pid\":1,\"tid\":1,\"ts\":1,\"sf\":\"8\",\"weight\":3},"
					    "{\"pid\":1,\"tid\":1,\"ts\":5,\"sf\":7}],"
					    "\"stackFrames\":{\"7\":{\"name\":\"f\",\"parent\":8},\"8\":{\"name\":\"main\"},"
					    "\"9\":{\"name\":\"loop\",\"parent\":9}}}",
	       " 1,  1 main\n"
	       "1000 x3 main\n"
	       "5000 x1 main;f\n"
	       "- a 0-0 main;f\n");
}

#define SAMPLE(ts, more) "{\"pid\":1,\"tid\":1,\"ts\":" ts ",\"sf\":8" more "}"
#define SAMPLES(list) \
	"{\"traceEvents\":[],\"samples\":[" list "],\"stackFrames\":{\"8\":{\"name\":\"f\"}}}"

/* A gap in which nothing was sampled does not matter. */
TEST(samples_with_stack_frames_have_the_interval_between_them)
{
	struct import_counts counts;
	struct profile *p = read_trace(
		SAMPLES(SAMPLE("1000", ",\"name\":\"\"") "," SAMPLE("11000", ",\"weight\":\"1\"") "," SAMPLE(
			"21000", ",\"weight\":2") "," SAMPLE("41000", "") "," SAMPLE("941000", "")),
		&counts);

	assert_int_equal(p->meta.interval_ns, 10000000);
	assert_int_equal(p->stats.cpu_samples, 5);
	assert_int_equal(p->events.rows.count, 0);
	profile_free(p);
	p = read_trace(SAMPLES(SAMPLE("1", ",\"name\":\"cycles\",\"weight\":3120373") "," SAMPLE(
			       "2", ",\"name\":\"cycles\",\"weight\":5")),
		       &counts);
	assert_int_equal(p->stats.cpu_samples, 0);
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[1].name), "cycles");
	assert_int_equal(p->events.rows.items[1].weight, 3120378);
	profile_free(p);
}

TEST(names_of_functions_have_places)
{
	expect("[" X("c (/u/b.py:2)", "1", "0", "1") "," X("d/e.py(12): g", "1", "1",
							   "1") "," X("f (2)", "1", "2", "1") "]",
	       " 1,  1 main\n"
	       "0 x1 c[/u/b.py:2]\n"
	       "1000 x1 g[d/e.py:12]\n"
	       "2000 x1 f (2)\n"
	       "- c (/u/b.py:2) 0-1000\n"
	       "- d/e.py(12): g 1000-2000\n"
	       "- f (2) 2000-3000\n");
}

/* A program that was stopped leaves no end. */
TEST(cut_traces_have_what_is_whole)
{
	struct import_counts counts;
	struct error err = {0};
	struct profile *p = read_trace(
		"[" X("a", "1", "0", "1") ",{\"name\":\"tail\",\"ph\":\"X\",\"ts\":", &counts);

	assert_int_equal(p->threads.rows.items[0].markers.count, 1);
	assert_string_equal(vec_last(&p->meta.extra).value, "29");
	profile_free(p);
	assert_int_equal(format_trace.read(&p, "{\"traceEvents\":[]}", 18, NULL, &err), -EBADMSG);
	assert_string_equal(err.text, "the trace has no events");
}

/* Larger than a window, with a value that is larger, too; both ways read the same. */
TEST(files_are_read_piece_by_piece)
{
	_cleanup_(strbuf_release) struct strbuf text = {0}, whole = {0}, pieces = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct import_counts counts;
	struct profile *p;
	uint64_t size;

	strbuf_adds(&text, "{\"traceEvents\":[");
	for (unsigned int i = 0; i < 30000; i++) {
		strbuf_addf(&text,
			    "%s\n{\"name\":\"f%u\",\"ph\":\"X\",\"ts\":%u,\"dur\":3,\"pid\":1,"
			    "\"tid\":%u,\"args\":{\"n\":%u",
			    i ? "," : "", i % 7, 4 * i, 1 + i % 2, i);
		if (i == 20000)
			strbuf_addf(&text, ",\"large\":\"%02500000d\"", 0);
		strbuf_adds(&text, "}}");
	}
	strbuf_adds(&text, "],\"beginningOfTime\":1795862846891980}");
	assert_int_equal(write(fd, text.text, text.size), text.size);
	p = read_trace(text.text, &counts);
	add_profile(p, &whole);
	profile_free(p);
	assert_ptr_equal(format_of_file(fd, &size), &format_trace);
	assert_int_equal(format_trace.read_file(&p, fd, size, &counts, NULL), 0);
	assert_int_equal(p->meta.start_realtime_ns, 1795862846891980000);
	add_profile(p, &pieces);
	profile_free(p);
	close(fd);
	assert_non_null(strstr(whole.text, "- f3 119992000-119995000 n=29998\n"));
	assert_string_equal(whole.text, pieces.text);
}

/* The longest markers are kept, and those left out are counted. */
TEST(markers_are_bounded)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	unsigned int kept = 1u << 17, count = 2 * kept + 10;
	struct import_counts counts;
	struct profile *p;

	strbuf_adds(&text, "[" X("long", "1", "0", "9000000"));
	for (unsigned int i = 1; i < count; i++)
		strbuf_addf(&text, ",{\"name\":\"i\",\"ph\":\"i\",\"ts\":%u,\"pid\":1,\"tid\":1}",
			    i);
	strbuf_adds(&text, "]");
	p = read_trace(text.text, &counts);
	assert_int_equal(p->threads.rows.items[0].markers.count, kept);
	assert_int_equal(counts.unread[UNREAD_MARKERS], count - kept);
	profile_free(p);
}
