/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/code/binary/debug_sections.h"
#include "tests/fuzz/input.h"

/* The first byte tells whether the rest is a section or a whole file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct debug_link link;
	struct alt_link alt;
	struct binary *b;
	int fd;

	if (!size)
		return 0;
	if (data[0] == '1') {
		if (debug_link_parse(&link, data + 1, size - 1) &&
		    (strchr(link.name, '/') || !link.name[0]))
			abort();
		if (alt_link_parse(&alt, data + 1, size - 1) &&
		    (!strlen(alt.path) || alt.build_id_size > sizeof(alt.build_id)))
			abort();
		return 0;
	}
	fd = input_open(data, size);
	if (binary_open(&b, fd, NULL) == 0) {
		debug_link_read(&link, b);
		alt_link_read(&alt, b);
		binary_free(b);
	}
	close(fd);
	return 0;
}
