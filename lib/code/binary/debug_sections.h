/* SPDX-License-Identifier: MIT */
/*
 * The sections of one file's debug information, uncompressed: zlib, zstd and the older .zdebug are
 * unpacked; strings end within their section. Immutable, so that threads can share them, each
 * through its own libelf handle.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/code/binary/binary.h"

struct section_places;

/* Sections with functions and lines; others are ignored. */
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
	DEBUG_CU_INDEX, /* index of .dwp files */
	DEBUG_ARANGES,
	DEBUG_SECTION_COUNT,
};

struct debug_section {
	const uint8_t *data; /* NULL: no such section */
	size_t size;
};

/* Sections at any place in memory. */
struct debug_view {
	struct debug_section at[DEBUG_SECTION_COUNT];
	uint16_t machine; /* Sections, each anywhere in memory. */
	bool is_64bit;
};

struct debug_sections {
	struct debug_view view;
	uint64_t first_vaddr; /* value of binary_first_vaddr() */
	struct debug_source *source; /* owner of the bytes */
};

enum debug_file_use {
	DEBUG_FILE_WHOLE,
	DEBUG_FILE_SPLIT, /* a .dwo or .dwp file: its sections ending in ".dwo" */
	/* A part shared by several files, made by dwz: possibly only strings. */
	DEBUG_FILE_SHARED,
};

/*
 * Opens all sections. fd is borrowed and need not stay open. Returns -ENOENT without .debug_info,
 * -EFBIG if the unpacked size exceeds any compiler's output, -ENOMEM if memory is short, -ENOEXEC
 * if the file is damaged.
 */
int debug_sections_open(struct debug_sections *s, int fd, enum debug_file_use use,
			struct error *err);
/*
 * The same for readers of a small part: .debug_info and .debug_line are zeros until
 * debug_sections_need() reads or unpacks them, so fd must stay open until the release. The file may
 * be relocatable; its addresses are then relocated to `places`, or to the default ones of
 * binary_place_sections(). Unpacked contents are cached for later runs in `folder`; NULL: not
 * cached.
 */
int debug_sections_open_lazily(struct debug_sections *s, int fd,
			       const struct section_places *places, const char *folder,
			       struct error *err);
/*
 * Reads or unpacks at least the bytes from `start` to `end` of a section. Returns false if it has
 * fewer, or they are damaged. May run in any thread while others read bytes already present.
 */
bool debug_sections_need(const struct debug_sections *s, enum debug_section_kind kind,
			 uint64_t start, uint64_t end);
/* Accepts a zeroed struct, or one whose opening failed. */
void debug_sections_release(struct debug_sections *s);

/* Returns the name, such as ".debug_info"; sections of split units add ".dwo". */
const char *debug_section_name(enum debug_section_kind kind);

/* Returns the bytes of all sections. */
uint64_t debug_view_size(const struct debug_view *view);

/*
 * Makes an image for libdw, which reads the bytes in place. Call debug_view_end() before they are
 * freed. Returns NULL if memory is short, or more images are open than there is room for headers
 * (some 60,000).
 */
struct Elf;
struct Elf *debug_view_begin(const struct debug_view *view);
/* Accepts NULL. */
void debug_view_end(struct Elf *elf);

/* Links from a file to the one that holds the rest of its debug information. */

/* .gnu_debuglink, written by strip and objcopy: a file name and the checksum of that file. */
struct debug_link {
	char name[256]; /* file name without a folder */
	uint32_t crc;
};

/* .gnu_debugaltlink, written by dwz: a path and the build id of that file. */
struct alt_link {
	char path[1024]; /* relative paths start in the folder of the file with the link */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_size;
};

/* Parses the bytes of such a section; false if they are damaged or the name is empty. */
bool debug_link_parse(struct debug_link *link, const void *data, size_t size);
bool alt_link_parse(struct alt_link *link, const void *data, size_t size);
/* Reads the link from the file; false also if it has none. */
bool debug_link_read(struct debug_link *link, const struct binary *b);
bool alt_link_read(struct alt_link *link, const struct binary *b);

/*
 * Computes the CRC-32 of a whole file. -EFBIG if it is larger than max_size, -ETIME after
 * deadline_ns (CLOCK_MONOTONIC, 0: none), else the error of read().
 */
int crc32_of_file(int fd, uint64_t max_size, uint64_t deadline_ns, uint32_t *crc);
