/* SPDX-License-Identifier: MIT */
/*
 * Where an ELF file has its call frame information, its code and its stubs. Headers alone are read
 * on opening, with pread(); the file may be anything.
 */
#ifndef PROF_LIB_UNWIND_CFI_FILE_H
#define PROF_LIB_UNWIND_CFI_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/unwind/arch.h"
#include "lib/unwind/compile.h"

/* Sections, and what is said of segments, in excess of this are not looked at. */
#define CFI_FILE_MAX_SECTIONS 16384
#define CFI_FILE_MAX_SEGMENTS 1024
/* Sections of CFI beyond this are refused; the largest known have some 100 MB. */
#define CFI_FILE_MAX_CFI (256u << 20)

/* Bytes of the file, and where they are mapped. */
struct file_range {
	uint64_t offset, size; /* size 0: there is none */
	uint64_t vaddr;
};

/* Memory for bytes of files, one after the other; zeroed at first, the owner frees `data`. */
struct cfi_buffer {
	uint8_t *data;
	size_t capacity;
};

struct cfi_file {
	int fd; /* borrowed */
	uint64_t size;
	const struct unwind_arch *arch;
	bool is_32bit; /* ELFCLASS32, which is that of machines with words of 4 bytes */
	uint64_t entry; /* e_entry */
	VEC(struct file_range) segments; /* PT_LOAD, what is in the file of it */
	VEC(struct code_range) code; /* the executable ones of them */
	struct file_range eh_frame, eh_frame_hdr, debug_frame;
	bool packed_debug_frame; /* it is compressed: cfi_file_inflate() alone reads it */
	struct file_range plt, plt_sec, plt_got, init, fini, text;
};

/* -ENOEXEC where it is no ELF file of a supported machine. Release it in any case. */
int cfi_file_open(struct cfi_file *file, int fd, struct error *err);
void cfi_file_release(struct cfi_file *file);
/* What is at that vaddr up to the end of its segment; size 0 where nothing is. */
struct file_range cfi_file_find(const struct cfi_file *file, uint64_t vaddr);
/* A copy of those bytes, to be freed: what ends with the file is cut, *size says to what. */
int cfi_file_read(const struct cfi_file *file, const struct file_range *range, uint8_t **data,
		  size_t *size, struct error *err);
/* The same in memory that may be there already. */
int cfi_file_read_into(const struct cfi_file *file, const struct file_range *range,
		       struct cfi_buffer *buffer, size_t *size, struct error *err);
/* The same for .debug_frame where it is compressed, as linkers of Go do it. */
int cfi_file_inflate(const struct cfi_file *file, uint8_t **data, size_t *size, struct error *err);

#endif
