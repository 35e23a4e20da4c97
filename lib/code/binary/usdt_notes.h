/* SPDX-License-Identifier: MIT */
/*
 * The probes that a program or library declares for tracers (USDT): notes of the owner "stapsdt",
 * as <sys/sdt.h> writes them. At the place of each the code has an instruction that does nothing.
 * Untrusted, as in binary.h.
 */
#ifndef PROF_LIB_CODE_BINARY_USDT_NOTES_H
#define PROF_LIB_CODE_BINARY_USDT_NOTES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"

#define USDT_NOTES_MAX 65536

struct usdt_note {
	const char *provider, *name,
		*arguments; /* within the notes' bytes; neither name is empty */
	uint64_t offset; /* of the instruction in the file */
	/*
	 * Offset in the file of the 16-bit counter of tracers: the program skips the probe's
	 * preparations while it is 0. 0: it has none.
	 */
	uint64_t semaphore;
};

struct usdt_notes {
	VEC(struct usdt_note) rows; /* in the order of the file */
	uint16_t machine; /* e_machine */
	uint8_t *bytes; /* owned */
};

/*
 * Reads the notes of an ELF file; fd is borrowed. Leaves out what is damaged: a place that is not
 * in a segment of code, or has no instruction that does nothing. A file without notes has none.
 * -ENOEXEC if it is no ELF file.
 */
int usdt_notes_read(struct usdt_notes *notes, int fd, struct error *err);
void usdt_notes_release(struct usdt_notes *notes);

#endif
