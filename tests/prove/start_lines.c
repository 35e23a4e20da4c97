/* SPDX-License-Identifier: MIT */
/*
 * Prints the functions at addresses of a file with their first lines, for scripts/prove pgo:
 * "start_lines dwarf|go FILE". Reads hexadecimal addresses in ascending order; prints a line for
 * each, the outermost function first.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/code/binary/binary.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

int main(int argc, char **argv)
{
	struct module module = {.kind = PROFILE_MODULE_FILE};
	struct symbolizer_input input = {.module = &module};
	struct binary_summary summary = {0};
	const struct symbolizer_ops *ops;
	struct symbolizer *symbolizer;
	uint64_t address;

	if (argc != 3)
		return 2;
	ops = strcmp(argv[1], "go") == 0 ? &symbolizer_go : &symbolizer_dwarf;
	input.path = argv[2];
	input.fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (input.fd < 0 || binary_summarize(input.fd, &summary, NULL) || !summary.segment_count)
		return 1;
	input.files = module_files_new(&input);
	if (ops->open(&symbolizer, &input, NULL))
		return 1;
	while (scanf("%" SCNx64, &address) == 1) {
		uint64_t rva = address - summary.segments[0].vaddr;
		struct answer answer = {0};

		ops->lookup(symbolizer, &rva, 1, &answer);
		printf("%" PRIx64, address);
		for (size_t i = 0; i < answer.depth; i++)
			printf("\t%" PRIu32 " %s", answer.chain[i].start_line,
			       answer.chain[i].func ? answer.chain[i].func : "?");
		putchar('\n');
	}
	ops->free(symbolizer);
	module_files_unref(input.files);
	binary_summary_release(&summary);
	close(input.fd);
	return 0;
}
