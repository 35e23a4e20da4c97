/* SPDX-License-Identifier: MIT */
/*
 * USDT probes of a program or library: notes of the owner "stapsdt", as written by <sys/sdt.h>. The
 * code has a no-op at the place of each. Untrusted, as in binary.h.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"

#define USDT_NOTES_MAX 65536

struct usdt_note {
	/* Within the notes' bytes; neither name is empty. */
	const char *provider, *name, *arguments;
	uint64_t offset; /* file offset of the instruction */
	/*
	 * Offset in the file of the 16-bit counter of tracers: the program skips the probe's
	 * preparations while it is 0. 0: it has none.
	 */
	uint64_t semaphore;
};

struct usdt_notes {
	VEC(struct usdt_note) rows; /* in file order */
	uint16_t machine; /* e_machine */
	uint8_t *bytes; /* owned */
};

/*
 * Reads the notes of an ELF file; fd is borrowed. Leaves out damaged notes: those whose place is
 * not in a code segment, or has no no-op. A file without notes yields none. -ENOEXEC if it is not
 * an ELF file.
 */
int usdt_notes_read(struct usdt_notes *notes, int fd, struct error *err);
void usdt_notes_release(struct usdt_notes *notes);
