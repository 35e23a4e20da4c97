/* SPDX-License-Identifier: MIT */
#include "lib/code/runtimes/file_functions.h"

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

static uint64_t start_of(const struct file_functions *functions, uint64_t number)
{
	struct eh_frame_hdr hdr = functions->hdr;

	bytes_skip(&hdr.entries, number * (hdr.is_wide ? 16 : 8));
	return eh_frame_hdr_next(&hdr).start;
}

uint64_t file_functions_around(const struct file_functions *functions, uint64_t vaddr,
			       uint64_t *end)
{
	uint64_t from = 0, until = functions->hdr.count, start;

	/* Find the first function after the address. */
	while (from < until) {
		uint64_t middle = from + (until - from) / 2;

		if (start_of(functions, middle) <= vaddr)
			from = middle + 1;
		else
			until = middle;
	}
	if (!from || from == functions->hdr.count)
		return 0;
	start = start_of(functions, from - 1);
	if (start)
		*end = start_of(functions, from);
	return start;
}

int32_t code_int(const uint8_t *code)
{
	struct bytes b;

	bytes_init(&b, code, 4);
	return (int32_t)bytes_u32(&b);
}

uint64_t code_target(const uint8_t *code, uint64_t vaddr)
{
	return vaddr + 4 + (uint64_t)(int64_t)code_int(code);
}
