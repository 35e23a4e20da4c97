/* SPDX-License-Identifier: MIT */

#include <errno.h>
#include <stdlib.h>

#include "lib/base/cleanup.h"
#include "lib/model/tables/markers.h"
#include "tests/unit/export_fixture.h"
#include "tests/unit/test.h"

#define START_NS EXPORT_START_NS
#define FFFD "\xef\xbf\xbd"

#define CASE(name) TEST_WITH(name, export_setup, export_teardown)

CASE(test_no_thread)
{
	struct exported *f = *state;
	struct error err = {0};

	assert_int_equal(format_firefox.write(f->p, NULL, NULL, NULL, &err), -ENODATA);
	assert_int_equal(err.code, -ENODATA);
}

CASE(test_meta)
{
	struct exported *f = *state;
	json_t *root;

	f->p->meta.duration_limit_ns = 1500000000;
	profile_add_extra(f->p, "Losses", "Ring full", "integer", "12");
	profile_add_extra(f->p, "Losses", "Share", "percentage", "0.25");
	profile_add_extra(f->p, "Losses", "No number", "integer", "some");
	profile_add_extra(f->p, "Settings", "Bad \xff text", "string", "12");
	export_add_thread(f, 10, 10, "make");
	root = export_run(f);
	export_expect(root, "meta.preprocessedProfileVersion", "70");
	export_expect(root, "meta.version", "36");
	export_expect(root, "meta.interval", "1.001001");
	export_expect(root, "meta.startTime", "1700000000123.456");
	export_expect(root, "meta.endTime", "1700000000125.956");
	export_expect(root, "meta.profilingStartTime", "0");
	export_expect(root, "meta.profilingEndTime", "2.5");
	export_expect(root, "meta.startTimeAsClockMonotonicNanosecondsSinceBoot", "5000000000");
	export_expect(root, "meta.product", "\"make\"");
	export_expect(root, "meta.oscpu", "\"Linux 6.1.0 x86_64\"");
	export_expect(root, "meta.mainMemory", "17179869184");
	export_expect(root, "meta.sampleUnits",
		      "{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
	export_expect(root, "meta.configuration",
		      "{\"threads\":[\"make\"],\"features\":[\"cpu-clock\"],"
		      "\"capacity\":1024,\"duration\":1.5}");
	export_expect(root, "meta.categories.0",
		      "{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}");
	export_expect(root, "meta.extra.1",
		      "{\"label\":\"Losses\",\"entries\":["
		      "{\"label\":\"Ring full\",\"format\":\"integer\",\"value\":12},"
		      "{\"label\":\"Share\",\"format\":\"percentage\",\"value\":0.25},"
		      "{\"label\":\"No number\",\"format\":\"string\",\"value\":\"some\"}]}");
	export_expect(root, "meta.extra.2.entries.0",
		      "{\"label\":\"Bad " FFFD " text\",\"format\":\"string\",\"value\":\"12\"}");
	assert_null(json_object_get(export_at(root, "meta"), "CPUName"));
	assert_null(json_object_get(export_at(root, "meta"), "toolkit"));
	assert_null(json_object_get(export_at(root, "meta"), "appBuildID"));
	export_expect(root, "meta.updateChannel", "\"release\"");
	export_expect(root, "meta.symbolicationNotSupported", "true");
}

CASE(test_unnamed)
{
	struct exported *f = *state;
	json_t *root;

	f->p->meta.symbolicated = false;
	export_add_thread(f, 10, 10, "make");
	root = export_run(f);
	export_expect(root, "meta.symbolicated", "false");
	assert_null(json_object_get(export_at(root, "meta"), "symbolicationNotSupported"));
}

/* The recorded process is the root, even if another is busier. */
CASE(test_root)
{
	struct exported *f = *state;
	json_t *root;

	export_add_sample(export_add_thread(f, 10, 10, "busy"), 1000000, NO_STACK, 1000000);
	export_add_thread(f, 20, 20, "make");
	export_add_thread(f, 20, 21, "worker");
	export_add_thread(f, 20, 20, "cc")->incarnation = 1;
	f->options.cpus = true;
	f->p->meta.root_pid = 20;
	root = export_run(f);
	export_expect(root, "threads.0.name", "\"make\"");
	export_expect(root, "threads.0.processType", "\"default\"");
	export_expect(root, "threads.1.name", "\"worker\"");
	export_expect(root, "threads.1.processType", "\"default\"");
	export_expect(root, "threads.2.name", "\"busy\"");
	for (size_t i = 2; i < 5; i++)
		export_expect(json_array_get(export_at(root, "threads"), i), "processType",
			      "\"process\"");
	export_expect(root, "threads.4.profView", "\"cpu\"");
	assert_null(json_object_get(export_at(root, "threads.0"), "profView"));
}

/* Without a recorded process, which may have ended before, the first is the root. */
CASE(test_no_root)
{
	struct exported *f = *state;
	json_t *root;

	export_add_thread(f, 10, 10, "quiet");
	export_add_sample(export_add_thread(f, 20, 20, "busy"), 1000000, NO_STACK, 1000000);
	f->p->meta.root_pid = 30;
	root = export_run(f);
	export_expect(root, "threads.0.name", "\"busy\"");
	export_expect(root, "threads.0.processType", "\"default\"");
	export_expect(root, "threads.1.processType", "\"process\"");
}

CASE(test_without_samples)
{
	struct exported *f = *state;
	json_t *root;

	export_add_thread(f, 10, 10, "make");
	export_add_thread(f, 10, 11, "");
	root = export_run(f);
	export_expect(root, "meta.initialVisibleThreads", "[0,1]");
	export_expect(root, "meta.initialSelectedThreads", "[0]");
	export_expect(root, "libs", "[]");
	export_expect(root, "shared.stringArray", "[]");
	export_expect(root, "shared.stackTable", "{\"frame\":[],\"prefixOffset\":[],\"length\":0}");
	export_expect(root, "threads.0.samples",
		      "{\"stack\":[],\"timeDeltas\":[],\"weight\":[],\"weightType\":\"tracing-ms\","
		      "\"threadCPUDelta\":[],\"length\":0}");
	export_expect(root, "threads.1.name", "\"tid 11\"");
	export_expect(root, "threads.1.processName", "\"pid 10\"");
}

CASE(test_threads)
{
	struct exported *f = *state;
	struct profile_thread *row;
	json_t *root;

	/* The second process with a pid, which starts earlier, and a thread with a known end. */
	row = export_add_thread(f, 10, 10, "late");
	row->start = row->process_start = START_NS + 1500000;
	row->incarnation = 1;
	row = export_add_thread(f, 10, 11, "worker");
	row->end = START_NS + 1000001;
	row->process_end = START_NS + 1200000;
	row->process_start = START_NS - 77;
	row = export_add_thread(f, 10, 10, "early");
	row->start = row->process_start = START_NS - 77;
	row->process_end = START_NS + 1200000;
	root = export_run(f);
	export_expect(root, "threads.0.name", "\"early\"");
	export_expect(root, "threads.0.isMainThread", "true");
	export_expect(root, "threads.0.registerTime", "0");
	export_expect(root, "threads.0.unregisterTime", "null");
	export_expect(root, "threads.0.pid", "\"10\"");
	export_expect(root, "threads.0.tid", "10");
	export_expect(root, "threads.1.name", "\"worker\"");
	export_expect(root, "threads.1.isMainThread", "false");
	export_expect(root, "threads.1.unregisterTime", "1.000001");
	export_expect(root, "threads.1.processShutdownTime", "1.2");
	export_expect(root, "threads.2.name", "\"late\"");
	export_expect(root, "threads.2.pid", "\"10.1\"");
	export_expect(root, "threads.2.tid", "\"10.1\"");
	export_expect(root, "threads.2.registerTime", "1.5");
	export_expect(root, "threads.2.processStartupTime", "1.5");
}

CASE(test_samples)
{
	struct exported *f = *state;
	frame_id frame = export_add_frame(f, NO_MODULE, NO_FUNC, 0x7f0000001234);
	stack_id stack = stacks_intern(&f->p->stacks, NO_STACK, frame);
	stack_id child = stacks_intern(&f->p->stacks, stack, frame);
	struct profile_thread *row = export_add_thread(f, 10, 10, "make");
	json_t *root;

	export_add_sample(row, 500000, stack, 7);
	export_add_sample(row, 1501001, NO_STACK, 1001001);
	export_add_sample(row, 1501000, child, 0);
	export_add_sample(row, 3501000, child, 999000);
	row = export_add_thread(f, 10, 11, "weights");
	export_add_sample(row, 1, child, 0);
	export_add_sample(row, 2, child, 0);
	row->samples.open.items[1].weight = 3;
	root = export_run(f);
	export_expect(root, "threads.0.samples",
		      "{\"stack\":[0,null,1,1],\"timeDeltas\":[0.5,1.001001,0,1.999999],"
		      "\"weight\":[1.001001,1.001001,1.001001,1.001001],"
		      "\"weightType\":\"tracing-ms\","
		      "\"threadCPUDelta\":[7,1001001,0,999000],\"length\":4}");
	export_expect(root, "threads.1.samples.weight", "[1.001001,3.003003]");
	export_expect(root, "shared.stackTable",
		      "{\"frame\":[0,0],\"prefixOffset\":[0,1],\"length\":2}");
	export_expect_text(root, "shared.funcTable.name", 0, "0x7f0000001234");
	export_expect(root, "shared.frameTable.lib", "[-1]");
	export_expect(root, "shared.frameTable.address", "[-1]");
	export_expect(root, "libs", "[]");
}

/* Readings of CPU time come late: no interval holds more than its length. */
CASE(test_cpu_deltas)
{
	static const uint32_t deltas[] = {0, 1000, 4200000000u, 4294967295u};
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "make");

	for (uint64_t i = 0; i < 4; i++)
		export_add_sample(row, 4295000000 * i, NO_STACK, deltas[i]);
	export_expect(export_run(f), "threads.0.samples.threadCPUDelta",
		      "[0,0,0,1000,0,0,4200000000,4294967295]");
}

CASE(test_markers)
{
	struct exported *f = *state;
	struct profile_thread *row = export_add_thread(f, 10, 10, "make");
	struct marker marker;
	json_t *root;

	schema_text_intern_first(&f->p->markers.schemas, &f->p->strings);
	marker = markers_make(&f->p->markers, MARKER_EXEC, START_NS + 1000, START_NS + 1000);
	*marker_value(&f->p->markers, &marker,
		      EXEC_PROGRAM) = marker_string(export_intern(f, "gcc"));
	vec_push(&row->markers, marker);
	marker = markers_make(&f->p->markers, MARKER_LOST, START_NS - 1, START_NS + 2000000);
	*marker_value(&f->p->markers, &marker, LOST_COUNT) = marker_integer(5);
	*marker_value(&f->p->markers, &marker, LOST_CPU) = marker_integer(3);
	*marker_value(&f->p->markers, &marker,
		      LOST_REASON) = marker_string(export_intern(f, "stack"));
	vec_push(&row->markers, marker);
	root = export_run(f);
	export_expect(root, "threads.0.markers.startTime", "[0.001,0]");
	export_expect(root, "threads.0.markers.endTime", "[null,2]");
	export_expect(root, "threads.0.markers.phase", "[0,1]");
	/* Groups of the chart: only those that occur are there. */
	export_expect(root, "threads.0.markers.category", "[1,2]");
	export_expect(root, "meta.categories.1.name", "\"Process\"");
	export_expect(root, "meta.categories.2.name", "\"Own\"");
	assert_int_equal(json_array_size(export_at(root, "meta.categories")), 3);
	export_expect(root, "meta.markerSchema.0.chartLabel",
		      "\"{marker.data.program} {marker.data.arguments}\"");
	export_expect(root, "meta.markerSchema.0.tooltipLabel",
		      "\"{marker.name}: {marker.data.program} {marker.data.arguments}\"");
	export_expect(root, "threads.0.markers.length", "2");
	export_expect(root, "threads.0.markers.data.1",
		      "{\"type\":\"lost samples\",\"count\":5,\"cpu\":3,\"reason\":3}");
	export_expect(root, "threads.0.markers.data.0.type", "\"exec\"");
	export_expect(root, "shared.stringArray", "[\"exec\",\"lost samples\",\"gcc\",\"stack\"]");
	export_expect(root, "threads.0.markers.name", "[0,1]");
	export_expect(root, "threads.0.markers.data.0.program", "2");
	export_expect(root, "meta.markerSchema.0.name", "\"exec\"");
	assert_int_equal(json_array_size(export_at(root, "meta.markerSchema")), MARKERS_OF_SESSION);
}

/* 20 processes of two threads; only the workers do anything. */
CASE(test_initial_threads)
{
	struct exported *f = *state;
	json_t *root, *visible;

	for (uint32_t i = 0; i < 20; i++) {
		export_add_thread(f, 100 + 10 * i, 100 + 10 * i, "main");
		export_add_sample(export_add_thread(f, 100 + 10 * i, 101 + 10 * i, "worker"), 1,
				  NO_STACK, i == 7 ? 5000 : 1000 + i);
	}
	f->p->meta.root_pid = 100;
	root = export_run(f);
	visible = export_at(root, "meta.initialVisibleThreads");
	/* All that was on a CPU, so that the tree is that of the whole recording. */
	export_expect(root, "meta.initialSelectedThreads",
		      "[1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33,35,37,39]");
	/* Includes the first process, which is the least busy. */
	assert_int_equal(json_array_size(visible), 31);
	export_expect(visible, "0", "0");
	export_expect(visible, "1", "2");
	export_expect(visible, "2", "3");
	export_expect(visible, "30", "31");
}
