/* SPDX-License-Identifier: MIT */
/*
 * Prints the instructions of a file as prof shows them, for scripts/prove view: "disassemble FILE".
 * Reads lines of address and size, hexadecimal.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/binary.h"
#include "symbolize/disassemble.h"

static int print_range(int fd, const struct binary_summary *summary, uint64_t address,
		       uint64_t size)
{
	uint8_t *code = xmalloc(size);
	struct error err = {0};
	struct disassembly d;

	for (size_t i = 0; i < summary->segment_count; i++) {
		const struct binary_segment *s = &summary->segments[i];

		if (address >= s->vaddr && address - s->vaddr + size <= s->file_size &&
		    pread(fd, code, size, (off_t)(s->file_offset + address - s->vaddr)) !=
			    (ssize_t)size)
			return 1;
	}
	if (disassemble(&d, summary->machine, code, size, address, &err)) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	vec_for_each(&d.rows, const struct instruction *, row)
		printf("0x%" PRIx64 "\t%" PRIu32 "\t%s\t%" PRIx64 "\n", address + row->offset,
		       row->size, row->text, row->data == NO_TARGET ? 0 : row->data);
	disassembly_release(&d);
	free(code);
	return 0;
}

int main(int argc, char **argv)
{
	struct binary_summary summary = {0};
	uint64_t address, size;
	int fd, ret = 0;

	if (argc != 2)
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || binary_summarize(fd, &summary, NULL))
		return 1;
	while (!ret && scanf("%" SCNx64 " %" SCNx64, &address, &size) == 2)
		ret = print_range(fd, &summary, address, size);
	binary_summary_release(&summary);
	close(fd);
	return ret;
}
