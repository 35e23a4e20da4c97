/* SPDX-License-Identifier: MIT */
/* Functions of a file with a runtime, by the table of its linker: stripped files have no other. */
#pragma once

#include "lib/code/binary/binary.h"
#include "lib/code/unwind/eh_frame.h"

struct file_functions {
	struct eh_frame_hdr hdr;
	uint8_t *data;
};

/* False: the file has no table. */
bool file_functions_read(const struct binary *b, struct file_functions *functions);
void file_functions_release(struct file_functions *functions);
/* Returns the start of the next function; 0 if none begins at `start`. */
uint64_t file_functions_end(const struct file_functions *functions, uint64_t start);
/* Returns the start of the function that contains the address, and the next one's; 0: none. */
uint64_t file_functions_around(const struct file_functions *functions, uint64_t vaddr,
			       uint64_t *end);

/* Returns the 32-bit number in x86-64 code. */
int32_t code_int(const uint8_t *code);
/* Returns the target of a call, jump or access whose 32-bit distance is at `code`, at that vaddr.
 */
uint64_t code_target(const uint8_t *code, uint64_t vaddr);
