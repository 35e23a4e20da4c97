/* SPDX-License-Identifier: MIT */
/*
 * Narrows whatever is a profile, twice it as one, and writes both in every format. What is written
 * as a profile can be read. Text formats have no control character, and images no markup of others.
 */
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/format/format.h"
#include "lib/query/copy_rows.h"
#include "tests/fuzz/input.h"

/* Terminated, to be freed; NULL: the format refuses. */
static char *write_as(const struct format *format, const struct profile *p,
		      const struct profile *base, size_t *size)
{
	int fd = memfd_create("output", MFD_CLOEXEC);
	const struct outfile_options options = {.fd = dup(fd)};
	const struct export_options how = {.all_threads = true, .base = base};
	struct outfile *out;
	char *text = NULL;

	if (fd < 0 || outfile_open(&out, &options, NULL))
		abort();
	if (!format->write(p, &how, out, NULL, NULL)) {
		if (outfile_commit(out, NULL))
			abort();
		*size = outfile_size(out);
		text = xcalloc(1, *size + 1);
		if (pread(fd, text, *size, 0) != (ssize_t)*size)
			abort();
	}
	outfile_free(out);
	close(fd);
	return text;
}

static void check_lines(char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n"))) {
		char *safe = xstrdup(line);

		text_to_line(safe);
		if (strcmp(safe, line) != 0)
			abort();
		free(safe);
	}
}

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)); text++)
		count++;
	return count;
}

/* One script, and as many elements as the graph itself has. */
static void check_image(const char *text)
{
	if (count_of(text, "<script") != 1 || count_of(text, "]]>") != 1 ||
	    count_of(text, "<g><title>") !=
		    count_of(text, "<title>") - (strstr(text, "<html") != NULL) ||
	    count_of(text, "<input") != 1)
		abort();
}

static void write_all(const struct profile *p, const struct profile *base)
{
#define FORMAT_ROW(name) &format_##name,
	static const struct format *const formats[] = {FORMATS(FORMAT_ROW)};

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct format *format = formats[i];
		size_t size;
		char *text = format->write ? write_as(format, p, base, &size) : NULL;
		struct profile *again;

		if (!text)
			continue;
		if (format == &format_flamegraph || (format == &format_html && base))
			check_image(text);
		if (format->read && !(format == &format_html && base)) {
			if (format->read(&again, text, size, NULL, NULL))
				abort();
			profile_free(again);
		} else if (format != &format_pgo && format != &format_perfetto) {
			check_lines(text);
		}
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct query_filter filter = QUERY_FILTER_ALL;
	struct narrow_counts counts;
	char *input = xmalloc(size + 1);
	struct profile *p, *one, *two;
	int ret;

	memcpy(input, data, size);
	ret = format_firefox.read(&p, input, size, NULL, NULL);
	free(input);
	if (ret)
		return 0;
	filter.all_events = true;
	filter.include_idle = true;
	if (narrow(&two, (const struct profile *const[]){p, p}, 2, &filter, &counts, NULL))
		abort();
	filter.hide = "[a-m]";
	filter.until = 5000000;
	if (narrow(&one, (const struct profile *const[]){p}, 1, &filter, &counts, NULL))
		abort();
	write_all(two, one);
	write_all(one, NULL);
	profile_free(one);
	profile_free(two);
	profile_free(p);
	return 0;
}
