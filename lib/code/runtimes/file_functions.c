/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/file_functions.h"

#include <stdlib.h>

#define HDR_MAX ((size_t)1 << 24)

bool file_functions_read(const struct binary *b, struct file_functions *functions)
{
	struct cfi_section section = {0};
	size_t size;

	if (!binary_section_vaddr(b, ".eh_frame_hdr", &section.vaddr) ||
	    binary_read_section(b, ".eh_frame_hdr", HDR_MAX, &functions->data, &size, NULL))
		return false;
	section.data = functions->data;
	section.size = size;
	eh_frame_hdr_read(&functions->hdr, &section);
	return functions->hdr.count;
}

void file_functions_release(struct file_functions *functions)
{
	free(functions->data);
	*functions = (struct file_functions){0};
}

uint64_t file_functions_end(const struct file_functions *functions, uint64_t start)
{
	uint64_t end;

	return file_functions_around(functions, start, &end) == start ? end : 0;
}

uint64_t file_functions_around(const struct file_functions *functions, uint64_t vaddr,
			       uint64_t *end)
{
	struct eh_frame_hdr hdr = functions->hdr;
	uint64_t start = 0;

	while (bytes_left(&hdr.entries)) {
		uint64_t next = eh_frame_hdr_next(&hdr).start;

		if (start && vaddr >= start && vaddr < next) {
			*end = next;
			return start;
		}
		start = next;
	}
	return 0;
}
