/* SPDX-License-Identifier: MIT */
/*
 * Files of other tools that prof recognizes but does not read, and tools that convert or show them.
 */
#include "lib/format/format.h"

#include <string.h>

#include "lib/format/protobuf.h"

/* Bytes of a file to search for a format's keyword. */
#define HEAD_MAX 4096

#define WITH_SIZE(text) text, sizeof(text) - 1

static const struct {
	const char *start; /* beginning of the file */
	size_t start_size;
	const char *word; /* somewhere near the beginning; NULL: not needed */
	const char *what;
} unread[] = {
	{WITH_SIZE("memray\0"), NULL,
	 "a recording of memray; memray transform speedscope converts it"},
	{WITH_SIZE("HCAT"), NULL,
	 "a binary profile of Python; python3 -m profiling.sampling replay converts it"},
	{WITH_SIZE("{\"type\":\"meta\""), "\"sample_interval_usec\"",
	 "lines of Python's profiler; its --gecko and --collapsed write formats that prof reads"},
	{WITH_SIZE("MMPD"), NULL, "a profile of rustc; crox converts it to trace events"},
	{WITH_SIZE("Nettrace"), NULL,
	 "a trace of .NET; dotnet-trace convert --format Speedscope converts it"},
	{WITH_SIZE("go 1."), " trace\0",
	 "an execution trace of Go; go tool trace -pprof=TYPE converts a part of it"},
	{WITH_SIZE(""), "Time and Allocation Profiling Report",
	 "a profile of GHC; ghc-prof-flamegraph converts it to collapsed stacks"},
	{WITH_SIZE("\x04\x08"), NULL,
	 "a file of Ruby's Marshal, as of stackprof; stackprof --stackcollapse converts it"},
	{WITH_SIZE("{\xa9"), NULL,
	 "a file of Python's marshal, as of cProfile; flameprof --format=log converts it"},
	{WITH_SIZE("{("), NULL,
	 "a file of Python's marshal, as of cProfile; flameprof --format=log converts it"},
	{WITH_SIZE("\x28\xb5\x2f\xfd"), NULL, "compressed by zstd; zstd -d unpacks it"},
	{WITH_SIZE("\xfd\x37zXZ"), NULL, "compressed by xz; xz -d unpacks it"},
	{WITH_SIZE("BZh"), NULL, "compressed by bzip2; bzip2 -d unpacks it"},
	{WITH_SIZE("PK\x03\x04"), NULL, "a zip archive; unzip unpacks it"},
	{WITH_SIZE("{"), "\"missed_samples\"",
	 "a profile of stackprof; stackprof --stackcollapse converts it"},
	{WITH_SIZE("{"), "\"root_frame\"",
	 "a profile of pyinstrument; pyinstrument -r speedscope writes one that prof reads"},
	{WITH_SIZE("{"), "\"frame_records\"",
	 "a session of pyinstrument; pyinstrument --load FILE -r speedscope converts it"},
	{WITH_SIZE("{"), "\"elapsed_time_sec\"", "a profile of scalene; scalene view shows it"},
	{WITH_SIZE("{"), "\"sampleStackTraces\"", "a timeline of Safari; speedscope reads it"},
};

/* Returns true for a packet of a trace, whose fields differ from a sample type of pprof. */
static bool is_perfetto(const char *text, size_t size)
{
	struct protobuf_cursor s = protobuf_cursor_of(text, size < HEAD_MAX ? size : HEAD_MAX);
	struct protobuf_field packet, field;

	if (!protobuf_next(&s, &packet) || packet.number != 1 || !packet.is_bytes)
		return false;
	while (protobuf_next(&packet.bytes, &field)) {
		if (field.number > 2)
			return true;
	}
	return false;
}

const char *format_unread(const char *text, size_t size)
{
	if (is_perfetto(text, size))
		return "a trace of Perfetto; traceconv profile converts its stacks to pprof";
	for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++) {
		const char *word = unread[i].word;

		if (size >= unread[i].start_size &&
		    !memcmp(text, unread[i].start, unread[i].start_size) &&
		    (!word || memmem(text, size < HEAD_MAX ? size : HEAD_MAX, word, strlen(word))))
			return unread[i].what;
	}
	return NULL;
}
