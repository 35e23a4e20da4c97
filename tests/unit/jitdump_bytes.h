/* SPDX-License-Identifier: MIT */
/* Writes jitdumps for tests, record by record. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct jitdump_line {
	uint64_t addr;
	uint32_t line;
	const char *file;
};

/* `padding` goes into a field that the format leaves unused. */
void jitdump_write_header(int fd, uint32_t padding, uint64_t flags);
/* Writes a record with `size` bytes of machine code, of which at most a page goes into the file. */
void jitdump_write_load(int fd, uint64_t time, uint64_t start, uint64_t size, uint64_t code_index,
			const char *name);
void jitdump_write_move(int fd, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
			uint64_t code_index);
void jitdump_write_lines(int fd, uint64_t start, const struct jitdump_line *lines, size_t count);
/* Writes .eh_frame, then as many bytes of .eh_frame_hdr as the record announces. */
void jitdump_write_unwinding(int fd, const void *data, size_t size, size_t hdr_size);
/* Writes any other record. */
void jitdump_write_record(int fd, uint32_t kind, uint64_t time, const void *body, size_t size);
