/* SPDX-License-Identifier: MIT */
/* Any bytes as a perf.data file: its records are valid, and make a profile. */
#include "lib/recording/perf_data/perf_source.h"
#include "lib/stream/record/records.h"
#include "lib/stream/session/session.h"
#include "tests/fuzz/input.h"

#define EVENTS 63

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct perf_source_options options = {.max_event = EVENTS, .branches = true};
	int fd = input_open(data, size);
	struct perf_source *source;
	struct session *session;
	struct profile *p;
	const struct rec *rec;

	if (!perf_file_is_one(fd) || perf_source_open(&source, fd, &options, NULL)) {
		close(fd);
		return 0;
	}
	p = profile_new();
	p->meta.start_ns = perf_source_file(source)->start_ns;
	session = session_new(p);
	perf_source_origin(source);
	while (source_next(perf_source_records(source), &rec, NULL) == SOURCE_RECORD) {
		require(record_is_valid(rec, record_size(rec)));
		session_feed(session, rec);
	}
	session_finish(session, perf_source_file(source)->end_ns);
	session_free(session);
	profile_free(p);
	perf_source_free(source);
	close(fd);
	return 0;
}
