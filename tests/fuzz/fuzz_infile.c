/* SPDX-License-Identifier: MIT */
#include "lib/base/infile.h"
#include "tests/fuzz/input.h"

#define TEXT_MAX ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	char *text;
	size_t text_size;

	lseek(fd, 0, SEEK_SET);
	if (infile_read(fd, "input", TEXT_MAX, &text, &text_size, NULL) == 0) {
		if (text_size > TEXT_MAX || text[text_size])
			abort();
		free(text);
	}
	close(fd);
	return 0;
}
