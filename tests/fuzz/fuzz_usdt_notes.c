/* SPDX-License-Identifier: MIT */
/* Any bytes as a file that declares probes. */
#include "lib/code/binary/usdt_notes.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = input_open(data, size);
	struct usdt_notes notes;

	usdt_notes_read(&notes, fd, NULL);
	/* Breakpoints are set there. */
	vec_for_each(&notes.rows, const struct usdt_note *, note) {
		if (!*note->provider || !*note->name || note->offset >= size)
			abort();
	}
	usdt_notes_release(&notes);
	close(fd);
	return 0;
}
