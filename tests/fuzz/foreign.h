/* SPDX-License-Identifier: MIT */
/*
 * The fuzz target of a reader: FOREIGN_FORMAT says which. Whatever is read is sound, and can be
 * written.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/profile_check.h"

static void write_profile(const struct profile *p, const struct format *format)
{
	const struct outfile_options options = {.fd = memfd_create("output", MFD_CLOEXEC)};
	const struct export_options how = {.all_threads = true};
	struct outfile *out;

	if (outfile_open(&out, &options, NULL) || format->write(p, &how, out, NULL, NULL) ||
	    outfile_commit(out, NULL))
		abort();
	outfile_free(out);
}

#define LIGHT 100000

static uint64_t weight_of(const struct profile *p)
{
	uint64_t weight = 0;

	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample)
			weight += sample->weight;
	}
	return weight;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Ends with the text, so that sanitizers see reads beyond it. */
	char *input = xmalloc(size + 1);
	struct import_counts counts;
	struct error err = {0};
	struct profile *p;

	memcpy(input, data, size);
	FOREIGN_FORMAT.matches(input, size);
	if (FOREIGN_FORMAT.read(&p, input, size, &counts, &err)) {
		if (!*err.text)
			abort();
		free(input);
		return 0;
	}
	free(input);
	check_profile(p);
	write_profile(p, &format_firefox);
	/* Its rows are repeated by their weights. */
	if (weight_of(p) < LIGHT)
		write_profile(p, &format_gecko);
	profile_free(p);
	return 0;
}
