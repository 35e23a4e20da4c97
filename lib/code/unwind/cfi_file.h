/* SPDX-License-Identifier: MIT */
/*
 * Locates an ELF file's call frame information, code and stubs. Opening reads only headers, with
 * pread(). The file is untrusted.
 */
#pragma once

#include "lib/code/binary/paged_section.h"
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/compile.h"

/* Limits of sections and segments; the rest is ignored. */
#define CFI_FILE_MAX_SECTIONS 16384
#define CFI_FILE_MAX_SEGMENTS 1024
/* Larger CFI sections are refused; the largest known have some 100 MB. */
#define CFI_FILE_MAX_CFI (256u << 20)

/* A range of the file and its address. */
struct file_range {
	uint64_t offset, size; /* size 0: absent */
	uint64_t vaddr;
};

/* Reusable memory for file contents. Zeroed initially; the owner frees `data`. */
struct cfi_buffer {
	uint8_t *data;
	size_t capacity;
};

struct cfi_file {
	int fd; /* borrowed */
	uint64_t size;
	const struct unwind_arch *arch;
	bool is_32bit; /* ELFCLASS32, the class of machines with 4-byte words */
	uint64_t entry; /* e_entry */
	bool has_fixed_place; /* ET_EXEC: certainly a program, not a library */
	VEC(struct file_range) segments; /* PT_LOAD, the parts backed by the file */
	VEC(struct code_range) code; /* the executable ones among them */
	struct file_range eh_frame, eh_frame_hdr, debug_frame, sframe;
	bool packed_debug_frame; /* debug_frame is compressed: read it with cfi_file_inflate() */
	struct file_range plt, plt_sec, plt_got, init, fini, text;
	/*
	 * Go's table of functions, sections that may contain it, and the source of its addresses.
	 */
	struct file_range go_build_info, go_build_id, go_functions, go_module, relro, relocations;
	uint64_t tls_size; /* aligned size of the file's thread-local variables */
	bool has_interpreter; /* a dynamically linked program; libraries have none */
};

/*
 * Opens a file. Returns -ENOEXEC if it is not an ELF file of a supported machine. Release it even
 * on error.
 */
int cfi_file_open(struct cfi_file *file, int fd, struct error *err);
void cfi_file_release(struct cfi_file *file);
/* Returns the range from a vaddr to the end of its segment; size 0 if there is none. */
struct file_range cfi_file_find(const struct cfi_file *file, uint64_t vaddr);
/*
 * Copies a range into *data, freed by the caller. A range beyond the end of the file is cut; *size
 * is the number of bytes copied.
 */
int cfi_file_read(const struct cfi_file *file, const struct file_range *range, uint8_t **data,
		  size_t *size, struct error *err);
/* cfi_file_read() into a buffer that is reused. */
int cfi_file_read_into(const struct cfi_file *file, const struct file_range *range,
		       struct cfi_buffer *buffer, size_t *size, struct error *err);
/*
 * Allocates zeroed memory for a range, freed by the caller and filled by *pages; pages->memory is
 * NULL if the range is empty. Uses the file's descriptor until paged_section_release().
 */
int cfi_file_page(const struct cfi_file *file, const struct file_range *range,
		  struct paged_section *pages, struct error *err);
/* cfi_file_read() for a compressed .debug_frame, as Go's linker writes it. */
int cfi_file_inflate(const struct cfi_file *file, uint8_t **data, size_t *size, struct error *err);
