/* SPDX-License-Identifier: MIT */
/* Profiles of other tools, and of older front-ends: what is in their stacks, samples and markers.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "tests/unit/test.h"

#define CORPUS "tests/fuzz/corpus/"

/* Appends "outer;inner@address:line". */
static void add_stack(const struct profile *p, stack_id id, struct strbuf *out)
{
	const struct frame *frame;
	const struct func *func;

	if (id == NO_STACK)
		return;
	frame = frames_get(&p->frames, p->stacks.rows.items[id].frame);
	func = frame->func == NO_FUNC ? NULL : &p->funcs.rows.items[frame->func];
	add_stack(p, p->stacks.rows.items[id].parent, out);
	if (p->stacks.rows.items[id].parent != NO_STACK)
		strbuf_addch(out, ';');
	if (func)
		strbuf_adds(out, strings_get(&p->strings, func->name));
	else
		strbuf_addf(out, "0x%" PRIx64, frame->offset);
	if (frame->module != NO_MODULE)
		strbuf_addf(out, "@%" PRIx64, frame->offset);
	if (func && func->file != NO_SOURCE_FILE)
		strbuf_addf(out, "[%s:%u:%u]",
			    strings_get(&p->strings, p->source_files.rows.items[func->file].path),
			    func->line, func->column);
	if (frame->line)
		strbuf_addf(out, ":%u", frame->line);
}

static double in_ms(const struct profile *p, uint64_t time)
{
	return (double)(time - p->meta.start_ns) / 1e6;
}

static void add_thread(const struct profile *p, const struct profile_thread *thread,
		       struct strbuf *out)
{
	strbuf_addf(out, "%s %u%s\n", strings_get(&p->strings, thread->name), thread->pid,
		    thread->is_main ? " main" : "");
	samples_for_each(&thread->samples, sample) {
		if (!sample->weight)
			continue;
		strbuf_addf(out, "%g %ux%u ", in_ms(p, sample->time), sample->weight,
			    sample->event);
		add_stack(p, sample->stack, out);
		strbuf_addch(out, '\n');
	}
	vec_for_each(&thread->markers, const struct marker *, marker) {
		strbuf_addf(out, "- %s %g %g ", strings_get(&p->strings, marker->name),
			    in_ms(p, marker->start), in_ms(p, marker->end));
		add_stack(p, marker_cause(&p->markers, marker), out);
		strbuf_addch(out, '\n');
	}
}

static struct profile *read_file(const char *name, const struct format *format)
{
	_cleanup_free_ char *path = xasprintf(CORPUS "%s", name), *text = NULL;
	struct error err = {0};
	struct profile *p = NULL;
	size_t size;

	text = text_read_file(path, 1 << 20, &size);
	assert_non_null(text);
	assert_ptr_equal(format_of_text(text, size), format);
	if (format->read(&p, text, size, NULL, &err))
		fail_msg("%s", err.text);
	return p;
}

static void expect(const char *name, const struct format *format, const char *expected)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct profile *p = read_file(name, format);

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		add_thread(p, thread, &out);
	profile_free(p);
	assert_string_equal(strbuf_text(&out), expected);
}

static void refuse(const struct format *format, const char *text, int code, const char *why)
{
	struct error err = {0};
	struct profile *p;

	assert_int_equal(format->read(&p, text, strlen(text), NULL, &err), code);
	assert_non_null(strstr(err.text, why));
}

#define DRAW "draw[https://example.org/b.js:10:4]:11"

/* Leaves keep their address; callers have that of the call, which is before the return address. */
TEST(gecko_has_processes_with_clocks_of_their_own)
{
	expect("gecko/new.json", &format_gecko,
	       "GeckoMain 11 main\n"
	       "0.5 1x0 (root);0x1010@f;0x1020@20\n"
	       "2.5 1x0 (root);main loop:12;" DRAW "\n"
	       "3.5 1x0 (root);0x1010@10\n"
	       "4.5 1x0 (root);0x1010@f;malloc@0\n"
	       "- Fetch 0 1 \n"
	       "- Idle 2 2 \n"
	       "- Fetch 1 2 \n"
	       "- Paint 1 3 (root);0x1010@f;0x1020@1f\n"
	       "- Fetch 3 5 \n"
	       "GeckoMain 12 main\n"
	       "9.5 1x0 (root);0x1010@f;0x1020@20\n"
	       "- Idle 10 10 \n");
}

TEST(old_gecko_has_processes_in_texts)
{
	expect("gecko/version-3.json", &format_gecko,
	       "GeckoMain 1 main\n"
	       "0 1x0 (root);0x1010@f;0x1020@20\n"
	       "1 1x0 (root);0x1010@10\n"
	       "2 1x0 (root);0x1010@f;draw[a.js:10:0]:11\n"
	       "3 1x0 (root);timer\n"
	       "- FileIO 1 1.5 \n"
	       "- Paint 1 2 \n"
	       "- DOMEvent 1 3 \n"
	       "- Paint 3 3 \n"
	       "GeckoMain 2 main\n"
	       "10 1x0 (root);0x1010@f;0x1020@20\n"
	       "11 1x0 (root);0x1010@10\n"
	       "12 1x0 (root);0x1010@f;draw[a.js:10:0]:11\n"
	       "13 1x0 (root);timer\n"
	       "- FileIO 11 11.5 \n"
	       "- Paint 11 12 \n"
	       "- DOMEvent 11 13 \n"
	       "- Paint 13 13 \n");
}

TEST(old_processed_profiles_have_tables_by_thread)
{
	expect("read/version-7.json", &format_firefox,
	       "GeckoMain 5 main\n"
	       "0 1x0 (root);0x10@f;0x20@20\n"
	       "1 1x0 (root);0x10@10\n"
	       "2 1x0 (root);0x10@f;draw[a.js:10:4]:11\n"
	       "3 1x0 (root);timer\n"
	       "- Paint 1 2 (root);0x10@f;0x20@1f\n"
	       "- DOMEvent 1 3 \n"
	       "- Paint 3 3 \n");
	expect("read/version-58.json", &format_firefox,
	       "GeckoMain 5 main\n"
	       "0 1x0 (root);0x10@f;0x20@20\n"
	       "1 1x0 (root);0x10@f\n"
	       "2 1x0 (root);0x10@f;draw[a.js:10:4]:11\n"
	       "3 1x0 (root);timer\n"
	       "- Paint 1 2 (root);0x10@f;0x20@20\n"
	       "- DOMEvent 1 3 \n"
	       "- Paint 3 3 \n");
}

TEST(network_markers_keep_their_data)
{
	struct profile *p = read_file("gecko/new.json", &format_gecko);
	string_id name = strings_find(&p->strings, "Network", 7);
	schema_id schema = schemas_find(&p->markers.schemas, name);
	const struct marker *marker = &p->threads.rows.items[0].markers.items[2];

	assert_int_equal(marker->schema, schema);
	assert_string_equal(strings_get(&p->strings, marker_value(&p->markers, marker, 2)->string),
			    "STATUS_STOP");
	profile_free(p);
}

TEST(gecko_is_refused_in_one_line)
{
	refuse(&format_gecko, "{\"meta\":{\"version\":2},\"threads\":[]}", -ENOTSUP,
	       "too old: prof reads");
	refuse(&format_gecko, "{\"meta\":{\"version\":30},\"threads\":[]}", -EBADMSG,
	       "the profile has no threads");
	refuse(&format_gecko,
	       "{\"meta\":{\"version\":30},\"threads\":[{\"name\":\"t\",\"stringTable\":[],"
	       "\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[5]]},"
	       "\"stackTable\":{\"schema\":{},\"data\":[]}}]}",
	       -EBADMSG, "frameTable.location is out of range");
}

TEST(nesting_is_bounded)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	for (size_t i = 0; i < 100000; i++)
		strbuf_adds(&text, "{\"meta\":");
	refuse(&format_gecko, strbuf_text(&text), -EBADMSG, "invalid JSON at byte 4097");
	refuse(&format_firefox, strbuf_text(&text), -EBADMSG, "invalid JSON at byte 4097");
}

/* Samples stand one after another: the second begins where the two ticks of the first end. */
TEST(pprof_has_a_row_for_each_sample_type)
{
	struct profile *p = read_file("pprof/cpu.pb", &format_pprof);

	assert_string_equal(strings_get(&p->strings, p->events.rows.items[1].name), "page-faults");
	assert_int_equal(p->events.rows.items[1].weight, 5);
	assert_int_equal(p->meta.interval_ns, 10000000);
	assert_non_null(profile_fact(p, FACT_NO_TIMES, NULL));
	profile_free(p);
	expect("pprof/cpu.pb", &format_pprof,
	       "t1 7 main\n"
	       "0 2x0 main@10[a.c:0:0]:3;work@20[a.c:0:0]:5;inl@20[a.c:0:0]:9\n"
	       "all 7\n"
	       "20 1x0 main@10[a.c:0:0]:3\n"
	       "20 5x1 main@10[a.c:0:0]:3\n");
}

/* Four samples of 10 ms in 20 ms. */
TEST(samples_of_parallel_threads_fit_into_the_duration)
{
	struct profile *p = read_file("pprof/parallel.pb", &format_pprof);

	assert_int_equal(p->meta.end_ns - p->meta.start_ns, 20000000);
	profile_free(p);
	expect("pprof/parallel.pb", &format_pprof,
	       "all 0 main\n"
	       "0 3x0 main;work\n"
	       "15 1x0 main\n");
}

TEST(folded_stacks_are_of_one_thread)
{
	expect("folded/stacks.txt", &format_folded,
	       "all 0 main\n"
	       "0 3x0 main;work;copy_page\n"
	       "3 2x0 main;work;f\n"
	       "5 1x0 main\n");
	refuse(&format_folded, "main;work 3\nno number\n", -EBADMSG, "line 2 is not a stack");
}

/* Threads and places stand in frames, in the ways of py-spy, rbspy and Austin. */
TEST(folded_stacks_have_threads_and_places)
{
	/* Fractions of zero are no fractions. */
	expect("folded/zeros", &format_folded,
	       "all 0 main\n"
	       "0 2x0 a;b\n"
	       "2 1x0 a\n");
	expect("folded/py-spy", &format_folded,
	       "all 0 main\n"
	       "5 1x0 <main>[app.rb:0:0]:3;block in work[lib/a.rb:0:0]:12\n"
	       "6 1x0 a - b\n"
	       "Main Thread 0\n"
	       "0 3x0 <module>[/w.py:0:0]:17;burn[w.py:0:0]:4\n"
	       " 0\n"
	       "3 2x0 operator() (int);thread_run@0\n");
	expect("folded/austin", &format_folded,
	       "all 0 main\n"
	       "0.19 2x0 P1;x\n"
	       " 6360 main\n"
	       "0 186x0 main[/a.py:0:0]:12;load[<frozen x>:0:0]:7\n"
	       " 6360\n"
	       "0.186 4x0 main[/a.py:0:0]:12\n");
}

/* The clock's period is that of its shortest sample; other events are rows of their own. */
TEST(perf_script_prints_samples)
{
	expect("perf_script/samples.txt", &format_perf_script,
	       "cc1 812 main\n"
	       "0 1x0 main@4e07;copy@7f12\n"
	       "cc1 812\n"
	       "0.25 2x0 main@4e07;f(int);0xffffffff81000000@ffffffff81000000\n"
	       "FS Broker 5858 main\n"
	       "0.589 7x1 main@4e07\n");
	expect("perf_script/no-chains.txt", &format_perf_script,
	       "swapper 0 main\n"
	       "0 1x1 main@ffff\n"
	       "main 7 main\n"
	       "100 1x1 main@4e1\n");
	expect("perf_script/places.txt", &format_perf_script,
	       "cc1 812 main\n"
	       "0 1x0 main@4e20;inl;copy@4e07[copy.c:0:0]:12\n"
	       "1 1x0 copy@4e07[copy.c:0:0]:13\n");
	expect("perf_script/not-indented.txt", &format_perf_script,
	       "java 812 main\n"
	       "0 1x1 base(BasicType) const@0;native_write (x)@0\n");
	refuse(&format_perf_script, "words\n", -EBADMSG, "no samples in perf script's format");
}

TEST(speedscope_has_samples_or_events)
{
	expect("speedscope/both.json", &format_speedscope,
	       "t 0 main\n"
	       "1 1000x0 main[a.c:3:0];work\n"
	       "2 2000x0 main[a.c:3:0]\n"
	       "4 2000x0 main[a.c:3:0];work\n"
	       "e 0\n"
	       "0 4x0 main[a.c:3:0]\n"
	       "0.004 2x0 main[a.c:3:0];work\n"
	       "0.006 3x0 main[a.c:3:0]\n");
	/* Weights of 50 and 80 ms are multiples of 10 ms. */
	expect("speedscope/uneven.json", &format_speedscope,
	       "x 0 main\n"
	       "0 5x0 a\n"
	       "50 8x0 b\n");
}

TEST(threads_of_py_spy_have_names_and_ids)
{
	expect("speedscope/py-spy.json", &format_speedscope,
	       "MainThread 0 main\n"
	       "0 2x0 main\n"
	       " 0\n"
	       "0 1x0 main\n");
	expect("trace/py-spy.json", &format_trace,
	       "helper 5230 main\n"
	       "0 2000x0 burn[/w.py:0:0]:4\n"
	       "- burn (/w.py:4) 0 2 \n");
}

/* Chunks of a profile that began before the trace have no functions. */
TEST(traces_of_old_chrome_have_a_whole_profile)
{
	expect("trace/whole.json", &format_trace,
	       " 7 main\n"
	       "- RunTask 0 3 \n"
	       " 7\n"
	       "11 1x0 (root);work[a.js:3:1]\n"
	       "12 1x0 (root);work[a.js:3:1]\n"
	       "13 1x0 (root)\n");
}

TEST(cpu_profiles_of_v8_have_a_tree)
{
	expect("cpuprofile/old.json", &format_cpuprofile,
	       "main 0 main\n"
	       "0 2x0 (root);(anonymous)[/a.js:1:10]\n"
	       "1 2x0 (root);(anonymous)[/a.js:1:10];work[/a.js:7:1]\n"
	       "2 3x0 (root);(anonymous)[/a.js:1:10];work[/a.js:7:1]\n"
	       "3.5 3x0 (root);(idle)\n");
	expect("cpuprofile/node.json", &format_cpuprofile,
	       "main 0 main\n"
	       "0 1x0 (root);(anonymous)[file:///a.js:1:10]\n"
	       "1 1x0 (root);(anonymous)[file:///a.js:1:10];work[file:///a.js:7:4]\n"
	       "2 2x0 (root);(idle)\n");
}

/* A node counts by its own size; the list of samples has less. */
TEST(heap_profiles_of_v8_have_a_tree)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};
	struct error err = {0};
	struct profile *p;

	expect("heapprofile/node.heapprofile", &format_heapprofile,
	       "main 0 main\n"
	       "0 16x1 (root);main[file:///n.js:5:20]\n"
	       "1 9129368x1 (root);main[file:///n.js:5:20];alloc[file:///n.js:3:15]\n"
	       "2 8x1 (root);(anonymous)\n");
	/* Stacks of V8 have up to 128 frames below the root. */
	strbuf_adds(&text, "{\"head\":");
	for (size_t i = 0; i < 130; i++)
		strbuf_adds(&text, "{\"selfSize\":1,\"children\":[");
	for (size_t i = 0; i < 130; i++)
		strbuf_adds(&text, "]}");
	strbuf_adds(&text, "}");
	assert_int_equal(format_heapprofile.read(&p, text.text, text.size, NULL, &err), 0);
	assert_int_equal(p->events.rows.items[1].weight, 130);
	profile_free(p);
}

/* Code that is inlined from a header has the costs of its function. */
TEST(callgrind_shares_costs_among_callers)
{
	struct profile *p = read_file("callgrind/two.out", &format_callgrind);

	assert_int_equal(p->events.rows.count, 3);
	assert_int_equal(p->events.rows.items[1].weight, 1000);
	assert_int_equal(p->events.rows.items[2].weight, 30);
	profile_free(p);
	expect("callgrind/two.out", &format_callgrind,
	       "all 0 main\n"
	       "0 100x1 main@0[main.c:0:0]\n"
	       "0 10x2 main@0[main.c:0:0]\n"
	       "0 500x1 main@0[main.c:0:0];work@0[main.c:0:0]\n"
	       "0 10x2 main@0[main.c:0:0];work@0[main.c:0:0]\n"
	       "0 270x1 main@0[main.c:0:0];work@0[main.c:0:0];malloc@0[malloc.c:0:0]\n"
	       "0 9x2 main@0[main.c:0:0];work@0[main.c:0:0];malloc@0[malloc.c:0:0]\n"
	       "0 100x1 main@0[main.c:0:0];work@0[inlined.h:0:0]\n"
	       "0 30x1 main@0[main.c:0:0];malloc@0[malloc.c:0:0]\n"
	       "0 1x2 main@0[main.c:0:0];malloc@0[malloc.c:0:0]\n");
}

TEST(costs_of_callgrind_may_be_relative)
{
	static const char text[] = "events: cpu(ms)\nfl=a.c\nfn=main\n16 20\n+1 *\nfn=f\n"
				   "+1 -15\n* +100\n* -106\n";
	struct import_counts counts;
	struct profile *p = NULL;
	struct error err = {0};

	assert_int_equal(format_callgrind.read(&p, text, sizeof(text) - 1, &counts, &err), 0);
	assert_int_equal(p->events.rows.items[1].weight, 20 + 20 + 5 + 105);
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[1].name), "cpu");
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[1].unit), "ms");
	assert_int_equal(counts.unread[UNREAD_WEIGHTS], 1);
	profile_free(p);
}

TEST(events_of_xdebug_have_units)
{
	static const char text[] = "version: 1\ncreator: xdebug 3.4\npositions: line\n"
				   "events: Time_(10ns) Memory_(bytes) Odd_(0) Open_(x\n"
				   "fl=a.php\nfn=main\n16 20 15000 3 4\n"
				   "17 9223372036854775807 1 1 1\n";
	struct import_counts counts;
	struct profile *p = NULL;
	struct error err = {0};

	assert_int_equal(format_callgrind.read(&p, text, sizeof(text) - 1, &counts, &err), 0);
	assert_int_equal(p->events.rows.items[1].weight, 200);
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[1].name), "Time");
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[1].unit), "nanoseconds");
	assert_int_equal(p->events.rows.items[2].weight, 15000);
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[2].unit), "bytes");
	assert_int_equal(p->events.rows.items[3].weight, 3);
	assert_string_equal(strings_get(&p->strings, p->events.rows.items[4].name), "Open_(x");
	assert_int_equal(counts.unread[UNREAD_WEIGHTS], 1);
	profile_free(p);
}

TEST(dhat_has_sums_of_bytes_and_blocks)
{
	static const uint64_t sums[] = {427680, 105, 328680, 6, 327680, 5};
	struct profile *p = read_file("dhat/heap.json", &format_dhat);

	for (size_t i = 0; i < 6; i++)
		assert_int_equal(p->events.rows.items[i + 1].weight, sums[i]);
	assert_int_equal(profile_first_event(p), 1);
	profile_free(p);
	expect("dhat/heap.json", &format_dhat,
	       "all 7087 main\n"
	       "0 327680x1 main[hs.c:0:0]:7;leaky[hs.c:0:0]:3\n"
	       "0 5x2 main[hs.c:0:0]:7;leaky[hs.c:0:0]:3\n"
	       "0 327680x3 main[hs.c:0:0]:7;leaky[hs.c:0:0]:3\n"
	       "0 5x4 main[hs.c:0:0]:7;leaky[hs.c:0:0]:3\n"
	       "0 327680x5 main[hs.c:0:0]:7;leaky[hs.c:0:0]:3\n"
	       "0 5x6 main[hs.c:0:0]:7;leaky[hs.c:0:0]:3\n"
	       "1 100000x1 0x400122b;leaky[hs.c:0:0]:3\n"
	       "1 100x2 0x400122b;leaky[hs.c:0:0]:3\n"
	       "1 1000x3 0x400122b;leaky[hs.c:0:0]:3\n"
	       "1 1x4 0x400122b;leaky[hs.c:0:0]:3\n");
}

/* Instructions are no time. */
TEST(massif_may_count_instructions)
{
	static const char text[] = "desc: x\ncmd: ./hs\ntime_unit: i\nsnapshot=0\ntime=700\n"
				   "mem_heap_B=400\n";
	struct profile *p = NULL;

	assert_int_equal(format_massif.read(&p, text, sizeof(text) - 1, NULL, NULL), 0);
	assert_int_equal(profile_duration_ns(p), 0);
	assert_string_equal(vec_last(&p->meta.extra).value, "instructions");
	profile_free(p);
}

/* A node's own bytes are those that its children do not have. */
TEST(massif_has_the_tree_of_the_peak)
{
	struct profile *p = read_file("massif/heap.out", &format_massif);
	const struct counter *heap = &p->counters.rows.items[0];

	assert_int_equal(p->meta.end_ns - p->meta.start_ns, 9000000);
	assert_string_equal(strings_get(&p->strings, heap->name), "Heap");
	assert_int_equal(heap->samples.count, 4);
	assert_int_equal(heap->samples.items[2].delta, 600);
	profile_free(p);
	expect("massif/heap.out", &format_massif,
	       "all 0 main\n"
	       "5 600x1 main[hs.c:0:0]:7;leaky[hs.c:0:0]:3\n"
	       "5 200x1 in 1 place, below massif's threshold (1.00%);leaky[hs.c:0:0]:3\n"
	       "5 100x1 leaky[hs.c:0:0]:3\n"
	       "5 50x1 0x4001\n"
	       "5 50x1 (heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n");
}

#define PREPARE "_start@0;main@0[server.c:0:0]:10;prepare@0[server.c:0:0]:30"
#define LEAKY ";leaky@0[server.c:0:0]:40"

/* Blocks at the peak come first; the frames of an instruction are inlined into one another. */
TEST(heaptrack_has_the_peak_the_total_and_the_end)
{
	struct profile *p = read_file("heaptrack/heap", &format_heaptrack);

	assert_int_equal(p->meta.end_ns - p->meta.start_ns, 20000000);
	assert_string_equal(p->meta.command_line, "./server -c import json?t = 1");
	assert_int_equal(p->counters.rows.items[0].samples.items[0].delta, 2000);
	assert_int_equal(p->counters.rows.items[0].samples.items[1].delta, -700);
	profile_free(p);
	expect("heaptrack/heap", &format_heaptrack,
	       "all 0 main\n"
	       "10 2000x1 " PREPARE "\n"
	       "10 2x2 " PREPARE "\n"
	       "10 300x1 " PREPARE LEAKY "\n"
	       "10 3x2 " PREPARE LEAKY "\n"
	       "20 2000x3 " PREPARE "\n"
	       "20 2x4 " PREPARE "\n"
	       "20 300x3 " PREPARE LEAKY "\n"
	       "20 3x4 " PREPARE LEAKY "\n"
	       "20 16x3 _start@0;0x7f0000001234\n"
	       "20 1x4 _start@0;0x7f0000001234\n"
	       "20 1000x5 " PREPARE "\n"
	       "20 1x6 " PREPARE "\n"
	       "20 300x5 " PREPARE LEAKY "\n"
	       "20 3x6 " PREPARE LEAKY "\n");
	expect("heaptrack/old", &format_heaptrack,
	       "all 0 main\n"
	       "0 8x1 main@0\n0 1x2 main@0\n0 8x3 main@0\n0 1x4 main@0\n"
	       "0 8x5 main@0\n0 1x6 main@0\n");
}

/* Addresses are those of calls, in the file that was mapped there. */
TEST(heaps_of_gperftools_have_objects_and_bytes)
{
	expect("gperftools/heap", &format_gperftools,
	       "all 0 main\n"
	       "0 50x1 0x1080@1080;0x116d@116d;0x50b7@50b7\n"
	       "0 13107200x2 0x1080@1080;0x116d@116d;0x50b7@50b7\n"
	       "0 50x3 0x1080@1080;0x116d@116d;0x50b7@50b7\n"
	       "0 13107200x4 0x1080@1080;0x116d@116d;0x50b7@50b7\n"
	       "1 2000x3 0x1194@1194;0x50b7@50b7\n"
	       "1 20000000x4 0x1194@1194;0x50b7@50b7\n"
	       "- bytes=262144 0 1 \n"
	       "- bytes=10000 1 2 \n");
}

/* Small allocations stand for others that were not sampled. */
TEST(sampled_heaps_are_scaled)
{
	expect("gperftools/jemalloc", &format_gperftools,
	       "all 0 main\n"
	       "0 2x1 0x1080@1080;0x116d@116d\n"
	       "0 6480x2 0x1080@1080;0x116d@116d\n"
	       "1 1x1 0x1194@1194\n"
	       "1 81920x2 0x1194@1194\n"
	       "- bytes=4096 0 1 \n"
	       "- bytes=81920 1 2 \n");
	expect("gperftools/go", &format_gperftools,
	       "all 0 main\n"
	       "0 513x1 main.main[/src/main.go:0:0]:20;main.alloc[/src/main.go:0:0]:12\n"
	       "0 524800x2 main.main[/src/main.go:0:0]:20;main.alloc[/src/main.go:0:0]:12\n"
	       "0 1025x3 main.main[/src/main.go:0:0]:20;main.alloc[/src/main.go:0:0]:12\n"
	       "0 1049600x4 main.main[/src/main.go:0:0]:20;main.alloc[/src/main.go:0:0]:12\n"
	       "- bytes=1024 0 1 \n");
}

TEST(other_texts_of_gperftools_have_counts)
{
	expect("gperftools/contention", &format_gperftools,
	       "all 0 main\n"
	       "0 10x1 0x401010;0x401000\n"
	       "0 20000x2 0x401010;0x401000\n");
	expect("gperftools/threads", &format_gperftools,
	       "all 0 main\n"
	       "0 1x1 0x401020;0x401010\n"
	       "1 1x1 0x401030;0x401010\n");
	expect("gperftools/goroutine", &format_gperftools,
	       "all 0 main\n"
	       "0 2x1 main.wait[/src/main.go:0:0]:3\n"
	       "1 1x1 0x401010\n");
}

/* Java has numbers of methods, which stand below. */
TEST(old_profiles_of_java_have_methods)
{
	expect("gperftools/java-contention", &format_gperftools,
	       "all 0 main\n"
	       "0 200x1 com.example.main[Native Method:0:0];com.example.Lock.get[Lock.java:0:0]:34\n"
	       "0 300000x2 com.example.main[Native Method:0:0];com.example.Lock.get[Lock.java:0:0]:34\n");
	expect("gperftools/java-heap", &format_gperftools,
	       "all 0 main\n"
	       "0 3x1 0x4;com.example.Lock.get[Lock.java:0:0]:34\n"
	       "0 1658823x2 0x4;com.example.Lock.get[Lock.java:0:0]:34\n"
	       "- bytes=524288 0 1 \n");
	expect("gperftools/java-cpu", &format_gperftools,
	       "all 0 main\n"
	       "0 2x0 com.example.main[Main.java:0:0]:5;VM\n"
	       "20 1x0 VM\n");
}

TEST(mappings_of_old_profiles_may_be_brief)
{
	expect("gperftools/brief", &format_gperftools,
	       "all 0 main\n"
	       "0 1x1 0x1000@1000;0x1000@1000\n"
	       "0 64x2 0x1000@1000;0x1000@1000\n"
	       "0 1x3 0x1000@1000;0x1000@1000\n"
	       "0 64x4 0x1000@1000;0x1000@1000\n"
	       "- bytes=64 0 1 \n");
}

static void check_cpu(const char *name)
{
	expect(name, &format_gperftools,
	       "all 0 main\n"
	       "0 2x0 0x1020@1020;0x1010@1010\n"
	       "20 5x0 0x1030@1030\n");
}

/* The leaf, which may stand there twice, keeps its address. */
TEST(cpu_profiles_of_gperftools_have_words_of_a_machine)
{
	check_cpu("gperftools/cpu");
	check_cpu("gperftools/cpu-big-32");
}

TEST(json_of_perf_has_samples)
{
	expect("perf_json/samples.json", &format_perf_json,
	       "worker 7 main\n"
	       "0 1x0 0x7f5e40eb0fba;main@0;work@0\n"
	       "tool 7\n"
	       "1.99694 1x0 _copy_to_iter@0\n");
}

TEST(damage_of_other_formats_is_refused)
{
	refuse(&format_pprof, "\x0a\x7f", -EBADMSG, "at byte 2");
	refuse(&format_pprof, "\x12\x01", -EBADMSG, "truncated");
	refuse(&format_speedscope, "{\"profiles\":[]}", -EBADMSG, "no shared frames");
	refuse(&format_cpuprofile, "{\"nodes\":[]}", -EBADMSG, "not a V8 CPU profile");
	refuse(&format_cpuprofile, "{\"nodes\":[{\"id\":1,", -EBADMSG,
	       "the JSON is cut off at byte 18");
	refuse(&format_cpuprofile, "{\"nodes\":[{\"id\":x", -EBADMSG, "invalid JSON at byte 16");
	refuse(&format_cpuprofile, "{\"nodes\":[],\"samples\":[1]}", -EBADMSG,
	       "index out of range");
	refuse(&format_heapprofile, "{\"head\":3}", -EBADMSG, "nodes");
	refuse(&format_callgrind, "events: Ir\n", -EBADMSG, "no costs");
	refuse(&format_dhat, "{\"dhatFileVersion\":2}", -EBADMSG, "no stacks");
	refuse(&format_massif, "desc: x\ntime_unit: i\n", -EBADMSG, "no snapshots");
	refuse(&format_heaptrack, "v 10400 3\nX a\n", -EBADMSG, "has no allocations");
	refuse(&format_heaptrack, "v 10400 3\nX a\nt 1 0\n", -EBADMSG, "damaged: line 3");
	refuse(&format_heaptrack, "v 10400 0\nX a\n", -ENOTSUP, "before 1.0");
	refuse(&format_perf_json, "{\"linux-perf-json-version\":1}", -EBADMSG, "no samples");
}

/* Waits end at their time; a thread that has no name in the file has its number. */
TEST(flight_recordings_have_samples_waits_and_markers)
{
	expect("jfr/java.jfr", &format_jfr,
	       "java 4711 main\n"
	       "- jdk.GCPhasePause 200 203 \n"
	       "- jdk.GCHeapSummary 300 300 \n"
	       "- jdk.GCHeapSummary 400 400 \n"
	       "- test.Event 400 400 \n"
	       "main 4711\n"
	       "10 1x0 demo.Hot.main:3;demo.Hot.spin:7\n"
	       "30 1x0 demo.Hot.main:3;demo.Hot.spin:7\n"
	       "41 4294967295x2 demo.Hot.main:3;demo.Hot.spin:7\n"
	       "41 705032705x2 demo.Hot.main:3;demo.Hot.spin:7\n"
	       "42 1000x3 java.lang.Thread.run:840;demo.Hot$$Lambda.run\n"
	       "100 2x0 demo.Hot.main:3;demo.Hot.spin:7;[monitor]\n"
	       "- jdk.JavaMonitorEnter 50 100 demo.Hot.main:3;demo.Hot.spin:7\n"
	       "- test.Event 500 510 \n"
	       "wörker 中😀 4711\n"
	       "30 1x0 java.lang.Thread.run:840;demo.Hot$$Lambda.run\n"
	       "40 1x1 demo.Hot.main:3;demo.Hot.spin:7\n"
	       "170 2x0 java.lang.Thread.run:840;demo.Hot$$Lambda.run;[sleep]\n"
	       "- jdk.ThreadSleep 130 170 java.lang.Thread.run:840;demo.Hot$$Lambda.run\n"
	       "virtual #31 4711\n"
	       "20 1x0 java.lang.Thread.run:840;demo.Hot$$Lambda.run\n");
}

static const struct frame *leaf_of(const struct profile *p, thread_id thread)
{
	stack_id stack = NO_STACK;

	samples_for_each(&p->threads.rows.items[thread].samples, sample) {
		stack = sample->stack;
		break;
	}
	assert_int_not_equal(stack, NO_STACK);
	return frames_get(&p->frames, p->stacks.rows.items[stack].frame);
}

TEST(flight_recordings_tell_code_of_java_libraries_and_the_kernel_apart)
{
	struct profile *p = read_file("jfr/async.jfr", &format_jfr);
	const struct frame *leaf = leaf_of(p, 1);
	unsigned int found = 0;

	assert_int_equal(leaf->kind, PROFILE_FRAME_KERNEL);
	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		const struct func *func = &p->funcs.rows.items[frame->func];

		if (strcmp(strings_get(&p->strings, func->name), "memset") != 0)
			continue;
		assert_int_equal(frame->kind, PROFILE_FRAME_NATIVE);
		assert_string_equal(
			strings_get(&p->strings, p->modules.rows.items[frame->module].path),
			"libc.so.6");
		found++;
	}
	assert_int_equal(found, 1);
	profile_free(p);
}

static char *field_text(const struct profile *p, const struct marker *marker, const char *key)
{
	const struct schema *schema = schemas_get(&p->markers.schemas, marker->schema);
	uint32_t field = schema_find_field(&p->markers.schemas, schema,
					   strings_find(&p->strings, key, strlen(key)));
	const struct marker_value *value = marker_value(&p->markers, marker, field);

	assert_int_not_equal(field, schema->field_count);
	if (value->type == FIELD_NONE)
		return xstrdup("none");
	return value->type == FIELD_STRING
		       ? xstrdup(strings_get(&p->strings, value->string))
		       : xasprintf("%u:%" PRId64, value->type, (int64_t)value->number);
}

static void expect_field(const struct profile *p, const struct marker *marker, const char *key,
			 const char *expected)
{
	_cleanup_free_ char *text = field_text(p, marker, key);

	assert_string_equal(text, expected);
}

/* Front-ends give "type" and "cause" meanings of their own. */
TEST(markers_of_flight_recordings_have_all_values)
{
	struct profile *p = read_file("jfr/java.jfr", &format_jfr);
	unsigned int found = 0;

	vec_for_each(&p->threads.rows.items[1].markers, const struct marker *, marker) {
		const char *name = strings_get(&p->strings, marker->name);

		if (strcmp(name, "jdk.JavaMonitorEnter") == 0) {
			found++;
			expect_field(p, marker, "monitorClass", "java.lang.String[][]");
		}
		if (strcmp(name, "test.Event") != 0)
			continue;
		found++;
		expect_field(p, marker, "type_", "ä");
		expect_field(p, marker, "cause_", "2:65535");
		expect_field(p, marker, "number", "2:-3");
		expect_field(p, marker, "real", "2.5");
		expect_field(p, marker, "until", "5:1000000");
		expect_field(p, marker, "address", "0xdead");
	}
	assert_int_equal(found, 2);
	vec_for_each(&p->threads.rows.items[2].markers, const struct marker *, marker)
		expect_field(p, marker, "time", "none");
	profile_free(p);
}

/* Reads what a format makes of a profile; free it. */
static struct profile *through(const struct format *format, const struct profile *p)
{
	const struct export_options how = {.all_threads = true};
	_cleanup_free_ char *text = NULL;
	struct error err = {0};
	struct profile *again = NULL;
	size_t size;

	assert_int_equal(written_text(format, p, &how, NULL, &text, &size, &err), 0);
	assert_ptr_equal(format_of_text(text, size), format);
	if (format->read(&again, text, size, NULL, &err))
		fail_msg("%s", err.text);
	return again;
}

static void expect_same(const struct format *format, const char *name, const struct format *of)
{
	_cleanup_(strbuf_release) struct strbuf before = {0}, after = {0};
	struct profile *p = read_file(name, of), *again = through(format, p);

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread)
		add_thread(p, thread, &before);
	vec_for_each(&again->threads.rows, const struct profile_thread *, thread)
		add_thread(again, thread, &after);
	assert_string_equal(strbuf_text(&after), strbuf_text(&before));
	profile_free(p);
	profile_free(again);
}

TEST(jslb_is_the_same_profile)
{
	expect_same(&format_jslb, "gecko/new.json", &format_gecko);
	expect_same(&format_jslb, "read/version-58.json", &format_firefox);
	refuse(&format_jslb, "short", -EBADMSG, "truncated");
}

TEST(gecko_keeps_stacks_and_markers)
{
	struct profile *p = read_file("read/version-58.json", &format_firefox);
	struct profile *again = through(&format_gecko, p);
	_cleanup_(strbuf_release) struct strbuf out = {0};

	add_thread(again, &again->threads.rows.items[0], &out);
	assert_string_equal(strbuf_text(&out), "GeckoMain 5 main\n"
					       "0 1x0 (root);0x100000010@f;0x100000020@20\n"
					       "1 1x0 (root);0x10000000f@f\n"
					       "2 1x0 (root);0x100000010@f;draw[a.js:10:4]:11\n"
					       "3 1x0 (root);timer\n"
					       "- Paint 1 2 (root);0x100000010@f;0x100000021@20\n"
					       "- DOMEvent 1 3 \n"
					       "- Paint 3 3 \n");
	assert_int_equal(again->counters.rows.count, 1);
	profile_free(p);
	profile_free(again);
}

/* Numbers that no machine has are unknown. */
TEST(numbers_of_machines_are_plausible)
{
	static const char start[] = "{\"meta\":{";
	_cleanup_free_ char *rest = NULL, *text = NULL;
	struct error err = {0};
	struct profile *p;
	size_t size;

	rest = text_read_file(CORPUS "read/version-75.json", 1 << 20, &size);
	assert_non_null(rest);
	text = xasprintf("%s\"logicalCPUs\":4294967298,\"physicalCPUs\":2,"
			 "\"mainMemory\":18446744073709551615,\"configuration\":"
			 "{\"capacity\":2305843009213693953,\"duration\":3e12},%s",
			 start, rest + strlen(start));
	if (format_firefox.read(&p, text, strlen(text), NULL, &err))
		fail_msg("%s", err.text);
	assert_int_equal(p->meta.logical_cpus, 0);
	assert_int_equal(p->meta.physical_cpus, 2);
	assert_int_equal(p->meta.memory_bytes, 0);
	assert_int_equal(p->meta.buffer_bytes, 0);
	assert_int_equal(p->meta.duration_limit_ns, 0);
	profile_free(p);
}
