/* SPDX-License-Identifier: MIT */
/*
 * USDT probes of a program or library: notes of the owner "stapsdt", as written by <sys/sdt.h>. The
 * code has a no-op at the location of each. Untrusted, as in binary.h.
 */
#pragma once

#include "lib/base/base.h"

#define USDT_NOTES_MAX 65536

struct usdt_note {
	/* In the notes' bytes; neither name is empty. */
	const char *provider, *name, *arguments;
	uint64_t offset; /* file offset of the instruction */
	/*
	 * File offset of the 16-bit counter of attached tracers: while it is 0, the program skips
	 * preparing the probe's arguments. 0: no counter.
	 */
	uint64_t semaphore;
};

struct usdt_notes {
	VEC(struct usdt_note) rows; /* in file order */
	uint16_t machine; /* e_machine */
	uint8_t *bytes; /* owned */
};

/*
 * Reads the notes of an ELF file; fd is borrowed. Leaves out damaged notes: those whose location is
 * outside a code segment or not a no-op. A file without notes yields none. Returns -ENOEXEC if it
 * is not an ELF file.
 */
int usdt_notes_read(struct usdt_notes *notes, int fd, struct error *err);
void usdt_notes_release(struct usdt_notes *notes);
