/* SPDX-License-Identifier: MIT */
/*
 * Reads any profile and writes it: prof itself could have written the result. That file, read and
 * written again, stays the same.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/profile_check.h"

/* Returns the terminated text; free it. */
static char *write_to_memory(const struct profile *p, size_t *size)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	const struct outfile_options options = {.fd = dup(fd)};
	const struct export_options how = {.all_threads = true, .cpus = true};
	struct outfile *out;
	char *text;

	if (fd < 0 || outfile_open(&out, &options, NULL) ||
	    format_firefox.write(p, &how, out, NULL, NULL) || outfile_commit(out, NULL))
		abort();
	*size = outfile_size(out);
	outfile_free(out);
	text = xcalloc(1, *size + 1);
	if (pread(fd, text, *size, 0) != (ssize_t)*size)
		abort();
	close(fd);
	return text;
}

static char *write_again(const char *text, size_t size, size_t *again_size)
{
	struct import_counts counts;
	struct error err = {0};
	struct profile *p;
	char *again;

	if (format_firefox.read(&p, text, size, &counts, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	check_profile(p);
	again = write_to_memory(p, again_size);
	profile_free(p);
	return again;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_counts counts;
	char *input, *foreign, *first, *second;
	size_t foreign_size, first_size, second_size;
	struct profile *p;

	/* Ends with the text, so that sanitizers see reads beyond it. */
	input = xmalloc(size + 1);
	memcpy(input, data, size);
	if (format_firefox.read(&p, input, size, &counts, NULL)) {
		free(input);
		return 0;
	}
	check_profile(p);
	free(input);
	foreign = write_to_memory(p, &foreign_size);
	profile_free(p);
	/* Sums of the first file may not fit into its own format. */
	first = write_again(foreign, foreign_size, &first_size);
	free(foreign);
	second = write_again(first, first_size, &second_size);
	if (first_size != second_size || memcmp(first, second, first_size) != 0) {
		fprintf(stderr, "%s\n%s\n", first, second);
		abort();
	}
	free(first);
	free(second);
	return 0;
}
