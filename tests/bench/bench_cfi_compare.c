/* SPDX-License-Identifier: MIT */
/*
 * Compares our unwind tables with libdw's reading of the same files, row by row.
 *
 *	bench_cfi_compare [-v] [FILE…]
 *
 * Prints "metric value unit" lines, with -v also a line per difference. Skips files that are not
 * ELF. Exit status 1 if there is a difference.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "tests/unit/cfi_reference.h"

struct printer {
	const char *path;
	bool is_verbose;
};

static void print(void *context, const struct cfi_difference *d)
{
	const struct printer *printer = context;

	if (printer->is_verbose && d->verdict != CFI_STUB)
		printf("%s %#" PRIx64 " %s %s\n", printer->path, d->pc,
		       cfi_verdict_names[d->verdict], d->what);
}

int main(int argc, char **argv)
{
	static const char *const defaults[] = {"/proc/self/exe",
					       "/usr/lib/x86_64-linux-gnu/libc.so.6",
					       "/usr/lib/aarch64-linux-gnu/libc.so.6"};
	struct printer printer = {.is_verbose = argc > 1 && strcmp(argv[1], "-v") == 0};
	struct cfi_comparison comparison = {.report = print, .context = &printer};
	int first = 1 + printer.is_verbose, files = 0;
	int count = argc > first ? argc - first : (int)(sizeof(defaults) / sizeof(defaults[0]));

	for (int i = 0; i < count; i++) {
		printer.path = argc > first ? argv[first + i] : defaults[i];

		_cleanup_close_ int fd = open(printer.path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0 && cfi_compare(fd, &comparison, NULL) == 0)
			files++;
	}
	printf("cfi_files %d files\n", files);
	for (int i = 0; i < CFI_VERDICT_COUNT; i++)
		printf("cfi_%s %" PRIu64 " places\n", cfi_verdict_names[i], comparison.counts[i]);
	return comparison.counts[CFI_DIFFERENT] ? 1 : 0;
}
