/* SPDX-License-Identifier: MIT */
/*
 * Files of other tools that prof recognizes but does not read, and tools that convert or show them.
 */
#include "lib/format/format.h"

#include "lib/base/protobuf.h"

/* Bytes of a file to search for a format's keyword. */
#define HEAD_MAX 4096

#define WITH_SIZE(text) text, sizeof(text) - 1

/* Texts of formats that are recognized in several ways. */
#define MEMRAY "a memray recording; memray transform speedscope converts it"
#define MEMRAY_REPORT "a memray report; memray transform speedscope writes what prof reads"
#define MARSHAL "a Python marshal file, as written by cProfile; flameprof --format=log converts it"
#define ART "an Android method trace; the Firefox Profiler reads it"
#define PAPYRUS "a Papyrus log; speedscope reads it"
#define V8_LOG "a V8 log; node --cpu-prof writes a profile that prof reads"
#define SCALENE "a scalene profile; scalene view shows it"
#define SAFARI "a Safari timeline; speedscope reads it"
#define INSTRUMENTS "a copy from Instruments; speedscope reads it"
#define VTUNE "a VTune report; inferno-collapse-vtune converts it to collapsed stacks"
#define VISUAL_STUDIO "a Visual Studio report; inferno-collapse-vsprof converts it"
#define DTRACE "DTrace output; stackcollapse.pl converts it to collapsed stacks"
#define BPFTRACE "bpftrace output; stackcollapse-bpftrace.pl converts it to collapsed stacks"
#define RPROF "a profile of R by Rprof; to_pprof of the package proffer converts it"
#define ERLANG "an Erlang profiler's report, which has no stacks"
#define PERF_REPORT \
	"a perf report; perf script writes what prof reads, and prof reads perf.data itself"
#define PPROF_REPORT "a pprof report; prof reads the profile itself"
#define PICTURE "a page or picture; most profilers also write collapsed stacks, which prof reads"

static const struct {
	const char *start; /* beginning of the file */
	size_t start_size;
	const char *word; /* somewhere near the beginning; NULL: not needed */
	const char *what;
} unread[] = {
	{WITH_SIZE("memray\0"), NULL, MEMRAY},
	{WITH_SIZE("\x04\x22\x4d\x18"), "memray", MEMRAY},
	{WITH_SIZE("MOJ"), NULL, "an Austin profile; mojo2austin converts it to collapsed stacks"},
	{WITH_SIZE("\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), "\acpython",
	 "a vmprof profile; vmprofshow shows it"},
	{WITH_SIZE("\x80"), "yappi",
	 "a yappi profile; its save(..., \"callgrind\") writes one that prof reads"},
	{WITH_SIZE("HCAT"), NULL,
	 "a binary Python profile; python3 -m profiling.sampling replay converts it"},
	{WITH_SIZE("{\"type\":\"meta\""), "\"sample_interval_usec\"",
	 "lines from Python's profiler; its --gecko and --collapsed write formats that prof reads"},
	{WITH_SIZE("MMPD"), NULL, "a rustc profile; crox converts it to trace events"},
	{WITH_SIZE("Nettrace"), NULL,
	 "a .NET trace; dotnet-trace convert --format Speedscope converts it"},
	{WITH_SIZE("go 1."), " trace\0",
	 "a Go execution trace; go tool trace -pprof=TYPE converts a part of it"},
	{WITH_SIZE("goroutine "), ":\n",
	 "a list of goroutines as text; without ?debug=2 it is a profile that prof reads"},
	{WITH_SIZE(""), "Time and Allocation Profiling Report",
	 "a GHC profile; ghc-prof-flamegraph converts it to collapsed stacks"},
	{WITH_SIZE("{"), "\"cost_centres\"",
	 "a GHC profile; with -p in place of -pj, ghc-prof-flamegraph converts it"},
	{WITH_SIZE("\x04\x08"), NULL,
	 "a Ruby Marshal file, as written by stackprof; stackprof --stackcollapse converts it"},
	{WITH_SIZE("flamegraph("), "\"frame_id\"",
	 "a stackprof flame graph; stackprof --stackcollapse writes what prof reads"},
	{WITH_SIZE("Measure Mode: "), NULL,
	 "a ruby-prof report; its CallTreePrinter writes what prof reads"},
	{WITH_SIZE("NYTProf "), NULL,
	 "a Devel::NYTProf profile; nytprofcalls converts it to collapsed stacks"},
	{WITH_SIZE("sample.interval="), NULL, RPROF},
	{WITH_SIZE("memory profiling: "), "sample.interval=", RPROF},
	{WITH_SIZE("line profiling: "), "sample.interval=", RPROF},
	{WITH_SIZE("GC profiling: "), "sample.interval=", RPROF},
	{WITH_SIZE("{\""),
	 "\":{\"ct\":", "an XHProf profile, which has calls of functions, but no stacks"},
	{WITH_SIZE("\n****** Process <"), NULL, ERLANG},
	{WITH_SIZE("%% Analysis results:"), NULL, ERLANG},
	{WITH_SIZE("--- Execution profile ---"), NULL,
	 "an async-profiler report; its -o collapsed writes what prof reads"},
	{WITH_SIZE("hdrb"), NULL, "a GHC event log; hs-speedscope converts it"},
	{WITH_SIZE("{\xa9"), NULL, MARSHAL},
	{WITH_SIZE("{("), NULL, MARSHAL},
	{WITH_SIZE("\xfb\xa9"), NULL, MARSHAL},
	{WITH_SIZE("\xfb)"), NULL, MARSHAL},
	{WITH_SIZE("\xfb("), NULL, MARSHAL},
	{WITH_SIZE("\x80\x05\x95"), "tracemalloc",
	 "a Python tracemalloc snapshot; tracemalloc.Snapshot.load reads it"},
	{WITH_SIZE("\x80"), "line_profiler",
	 "a line_profiler profile; python3 -m line_profiler shows it"},
	{WITH_SIZE("gmon"), NULL, "a gcc -pg profile; gprof shows it"},
	{WITH_SIZE("Flat profile:\n"), NULL, "a gprof report, which has no stacks"},
	{WITH_SIZE("\x5e\x97\xca\xfd"), NULL, "a Sysprof capture; sysprof shows it"},
	{WITH_SIZE("# Function Call Graph for "), NULL,
	 "a uftrace report; uftrace dump --chrome converts its data"},
	{WITH_SIZE("*version"), NULL, ART},
	{WITH_SIZE("SLOW"), NULL, ART},
	{WITH_SIZE("SIMPLEPERF"), NULL,
	 "a simpleperf report; the Firefox Profiler reads it, and prof its perf.data"},
	{WITH_SIZE("Script_"), " log opened", PAPYRUS},
	{WITH_SIZE("Stack_"), " log opened", PAPYRUS},
	{WITH_SIZE("\xfd\x37zXZ"), NULL, "compressed by xz; xz -d unpacks it"},
	{WITH_SIZE("BZh"), NULL, "compressed by bzip2; bzip2 -d unpacks it"},
	{WITH_SIZE("PK\x03\x04"), NULL, "a zip archive; unzip unpacks it"},
	{WITH_SIZE("v "), "\nx ",
	 "raw heaptrack data; zstd -dc FILE | heaptrack_interpret converts it"},
	{WITH_SIZE("v8-version,"), NULL, V8_LOG},
	{WITH_SIZE("{"), "\"SHARED_LIB\"", V8_LOG},
	{WITH_SIZE("Statistical profiling result from "), NULL, V8_LOG},
	{WITH_SIZE("{\"snapshot\""), "\"node_fields\"",
	 "a V8 heap snapshot; --heap-prof writes a profile that prof reads"},
	{WITH_SIZE("{"), "\"missed_samples\"",
	 "a stackprof profile; stackprof --stackcollapse converts it"},
	{WITH_SIZE("{"), "\"root_frame\"",
	 "a pyinstrument profile; pyinstrument -r speedscope writes one that prof reads"},
	{WITH_SIZE("{"), "\"frame_records\"",
	 "a pyinstrument session; pyinstrument --load FILE -r speedscope converts it"},
	{WITH_SIZE("{"), "\"elapsed_time_sec\"", SCALENE},
	{WITH_SIZE("{"), "\"alloc_samples\"", SCALENE},
	{WITH_SIZE("{"), "\"sampleStackTraces\"", SAFARI},
	{WITH_SIZE("{"), "\"timeline-record-type-", SAFARI},
	{WITH_SIZE("{"), "\"total_num_allocations\"", MEMRAY_REPORT},
	{WITH_SIZE("allocator,num_allocations,"), NULL, MEMRAY_REPORT},
	{WITH_SIZE("{\"resourceProfiles\":"), NULL,
	 "OpenTelemetry profiles as JSON; the Collector's file exporter also writes format: proto"},
	{WITH_SIZE("{\"version\": 0, \"costs\""), NULL,
	 "a profile for gprof2dot; memray transform speedscope writes one that prof reads"},
	{WITH_SIZE("{"), "profileJSONWithSymbolicationTable",
	 "a Firefox profile from before version 29; no tool converts it today"},
	{WITH_SIZE("Analysis of sampling "), NULL,
	 "a report by macOS's sample; inferno-collapse-sample converts it"},
	{WITH_SIZE(""), "<trace-query-result>",
	 "an xctrace export; inferno-collapse-xctrace converts it to collapsed stacks"},
	{WITH_SIZE(""), "\tSymbol Name", INSTRUMENTS},
	{WITH_SIZE(""), "Self Weight\t", INSTRUMENTS},
	{WITH_SIZE("Function Stack,"), NULL, VTUNE},
	{WITH_SIZE("\"Function Stack\","), NULL, VTUNE},
	{WITH_SIZE("Level,Function Name,"), NULL, VISUAL_STUDIO},
	{WITH_SIZE("\xef\xbb\xbfLevel,Function Name,"), NULL, VISUAL_STUDIO},
	{WITH_SIZE("CPU     ID"), NULL, DTRACE},
	{WITH_SIZE("dtrace: "), NULL, DTRACE},
	{WITH_SIZE("Attach"), " probe", BPFTRACE},
	{WITH_SIZE("{\"type\": \"attached_probes\""), NULL, BPFTRACE},
	{WITH_SIZE("\n@["), NULL, BPFTRACE},
	{WITH_SIZE("@["), NULL, BPFTRACE},
	{WITH_SIZE("@ "), " samples]\n",
	 "a pmcstat call graph; stackcollapse-pmc.pl converts it to collapsed stacks"},
	{WITH_SIZE("# To display the perf.data"), NULL, PERF_REPORT},
	{WITH_SIZE("\n0x"), "raw event: size", PERF_REPORT},
	{WITH_SIZE("File: "), "\nType: ", PPROF_REPORT},
	{WITH_SIZE("PeriodType: "), "\nSamples:\n", PPROF_REPORT},
	{WITH_SIZE("# started on "), NULL,
	 "perf stat counts, which have no functions; prof reads perf.data of perf record"},
	{WITH_SIZE("digraph "), NULL, PICTURE},
	{WITH_SIZE(""), "<!DOCTYPE svg", PICTURE},
	{WITH_SIZE(""), "<svg", PICTURE},
	{WITH_SIZE(""), "<!DOCTYPE html", PICTURE},
	{WITH_SIZE(""), "<html", PICTURE},
};

/*
 * Returns true for a packet of a trace, whose fields differ from a sample type of pprof. A text may
 * look like one, but has no control characters.
 */
static bool is_perfetto(const char *text, size_t size)
{
	struct protobuf_cursor s = protobuf_cursor_of(text, size < HEAD_MAX ? size : HEAD_MAX);
	struct protobuf_field packet, field;
	size_t plain = 0;

	while (plain < size && plain < HEAD_MAX && (unsigned char)text[plain] >= '\t')
		plain++;
	if (plain == size || plain == HEAD_MAX || !protobuf_next(&s, &packet) ||
	    packet.number != 1 || !packet.is_bytes)
		return false;
	while (protobuf_next(&packet.bytes, &field)) {
		if (field.number > 2)
			return true;
	}
	return false;
}

const char *format_unread(const char *text, size_t size)
{
	if (!size)
		return "an empty file";
	if (is_perfetto(text, size))
		return "a Perfetto trace; traceconv profile converts its stacks to pprof";
	for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++) {
		const char *word = unread[i].word;

		if (size >= unread[i].start_size &&
		    !memcmp(text, unread[i].start, unread[i].start_size) &&
		    (!word || memmem(text, size < HEAD_MAX ? size : HEAD_MAX, word, strlen(word))))
			return unread[i].what;
	}
	return NULL;
}
