/* SPDX-License-Identifier: MIT */
/*
 * The sections of one file's debug information, plain: compressed ones (zlib, zstd, and the older
 * .zdebug) are unpacked, strings end within their section. Immutable, so that any number of
 * readers in any threads can share one, each through a handle of libelf's of its own.
 */
#ifndef PROF_LIB_BINARY_DEBUG_SECTIONS_H
#define PROF_LIB_BINARY_DEBUG_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct section_places;

/* Those that functions and lines are read from; others are never looked at. */
enum debug_section_kind {
	DEBUG_INFO,
	DEBUG_TYPES,
	DEBUG_ABBREV,
	DEBUG_ADDR,
	DEBUG_LINE,
	DEBUG_LINE_STR,
	DEBUG_STR,
	DEBUG_STR_OFFSETS,
	DEBUG_RANGES,
	DEBUG_RNGLISTS,
	DEBUG_CU_INDEX, /* of .dwp files */
	DEBUG_ARANGES,
	DEBUG_SECTION_COUNT,
};

struct debug_section {
	const uint8_t *data; /* NULL: there is none */
	size_t size;
};

/* Sections, wherever their bytes are. */
struct debug_view {
	struct debug_section at[DEBUG_SECTION_COUNT];
	uint16_t machine; /* e_machine */
	bool is_64bit;
};

struct debug_sections {
	struct debug_view view;
	uint64_t first_vaddr; /* as binary_first_vaddr() */
	struct debug_source *source; /* whose the bytes are */
};

enum debug_file_use {
	DEBUG_FILE_WHOLE,
	DEBUG_FILE_SPLIT, /* a .dwo or .dwp file: of its sections those that end in ".dwo" */
	/* What others have in common, as dwz makes it: that may be strings alone. */
	DEBUG_FILE_SHARED,
};

/*
 * fd is borrowed, and needs not stay open. -ENOENT where there is no .debug_info, -EFBIG where
 * unpacking would take more memory than any compiler's output, -ENOMEM where there is less than
 * that, -ENOEXEC where the file is damaged.
 */
int debug_sections_open(struct debug_sections *s, int fd, enum debug_file_use use,
			struct error *err);
/*
 * The same for who needs a small part of it: .debug_info and .debug_line are zeros where they were
 * packed, up to where debug_sections_need() was told of. The file may be relocatable, with its
 * sections at those places, or as binary_place_sections() has it where there are none: addresses
 * are as they are there then.
 */
int debug_sections_open_lazily(struct debug_sections *s, int fd,
			       const struct section_places *places, struct error *err);
/*
 * Sees to it that the first `end` bytes of a section are there. False: it has no more, or they are
 * damaged. In any thread, while others read what is there already.
 */
bool debug_sections_need(const struct debug_sections *s, enum debug_section_kind kind,
			 uint64_t end);
/* One that was never opened, or zeroed, is fine. */
void debug_sections_release(struct debug_sections *s);

/* As ".debug_info": those of split units have ".dwo" behind it. */
const char *debug_section_name(enum debug_section_kind kind);

/* Bytes in all of them. */
uint64_t debug_view_size(const struct debug_view *view);

/*
 * For libdw, which reads the bytes where they are. To be ended by debug_view_end() before they go.
 * NULL: there is no memory, or more are open than there is room for their headers (some 60,000).
 */
struct Elf;
struct Elf *debug_view_begin(const struct debug_view *view);
/* NULL is fine. */
void debug_view_end(struct Elf *elf);

#endif
