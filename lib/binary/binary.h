/* SPDX-License-Identifier: MIT */
/*
 * One opened ELF file: identity, segments, sections, symbols. The only room that knows libelf. The
 * file is untrusted; nothing in it can make these functions fail in another way than by returning.
 */
#ifndef PROF_LIB_BINARY_BINARY_H
#define PROF_LIB_BINARY_BINARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"

#define BUILD_ID_MAX 20

struct binary_segment {
	uint64_t file_offset, file_size, vaddr;
	bool executable;
};

/* What a recorder needs to know of a mapped file, read with a few pread() calls. */
struct binary_summary {
	uint8_t build_id[BUILD_ID_MAX];
	/* 0: none. Of Go programs without a GNU build id: 20, with a hash of Go's own. */
	uint8_t build_id_size;
	uint16_t machine; /* e_machine */
	bool is_64bit;
	struct binary_segment *segments; /* PT_LOADs in file order; owned */
	size_t segment_count; /* at most 1024 are read */
};

/* -ENOEXEC where it is no ELF file of this machine's byte order. fd is borrowed. */
int binary_summarize(int fd, struct binary_summary *summary, struct error *err);
void binary_summary_release(struct binary_summary *summary);

/*
 * The file as libelf sees it. fd is borrowed, needs no name any more, and must stay open for the
 * life of the binary. -ENOEXEC where it is no ELF file, or one built to keep libelf busy.
 */
struct binary;
int binary_open(struct binary **out, int fd, struct error *err);
/* NULL is fine. */
void binary_free(struct binary *b);

/*
 * Where a section of a relocatable file (ET_REL) is when it is loaded. Of none but a kernel's
 * module is it known: `offset` from where the module's code begins.
 */
#define SECTION_NAME_SIZE 32
struct section_place {
	char name[SECTION_NAME_SIZE]; /* terminated */
	uint64_t offset;
};

struct section_places {
	const struct section_place *rows; /* borrowed for the call */
	size_t count;
};

/*
 * A relocatable file says not where its sections will be. Those with code are taken to lie where
 * the kernel puts those of a module, until this says better: then they are there, and what is not
 * among the places is nowhere. Without effect on other files.
 */
void binary_place_sections(struct binary *b, const struct section_places *places);

/*
 * The vaddr of the first PT_LOAD, to which RVAs are relative; 0 where there is none. Of a
 * relocatable file: the one that its code is taken to begin at.
 */
uint64_t binary_first_vaddr(const struct binary *b);
/*
 * From the note sections, which hold in separate debug files too, where the segments' offsets are
 * those of another file; else from the segments. Otherwise as in struct binary_summary. Size, 0
 * where there is none.
 */
size_t binary_build_id(const struct binary *b, uint8_t build_id[BUILD_ID_MAX]);
/* Is there a section of that name with bytes in the file? */
bool binary_has_section(const struct binary *b, const char *name);

/*
 * A copy of the section as it is in memory, inflated; the caller's to free. -ENOENT where there is
 * none, -EFBIG where it has more bytes than `max`, -ENOEXEC where it cannot be read.
 */
int binary_read_section(const struct binary *b, const char *name, size_t max, uint8_t **data,
			size_t *size, struct error *err);

enum binary_binding { BINARY_LOCAL, BINARY_WEAK, BINARY_GLOBAL };

/* A symbol in an executable section. */
/* No section of code is taken to be larger, whatever its header says. */
#define BINARY_SYMBOL_MAX ((uint64_t)1 << 40)

struct binary_symbol {
	uint64_t vaddr;
	uint64_t size; /* 0: not said; ends within its section */
	uint64_t limit; /* end of its section */
	const char *name; /* the binary's; with "@VERSION" where the table has it */
	bool is_func; /* STT_FUNC or STT_GNU_IFUNC; else a label of an assembler */
	enum binary_binding binding : 8; /* there can be a million of them */
	bool is_reach_guessed; /* for the caller: size is not the symbol's own */
};

struct binary_symbols {
	VEC(struct binary_symbol) rows;
};

/* Appends those of .symtab, or of .dynsym where there is no .symtab, in the order of the table. */
void binary_add_symbols(const struct binary *b, struct binary_symbols *symbols);

/* A stub through which other files' functions, or functions chosen at run time, are called. */
struct binary_stub {
	uint64_t vaddr, size;
	const char *name; /* of the function that it leads to, the binary's; NULL: none */
	uint64_t target; /* where there is no name: vaddr of the function that chooses; 0: none */
};

struct binary_stubs {
	VEC(struct binary_stub) rows; /* by vaddr, not overlapping */
};

/*
 * The entries of .plt, .plt.sec, .plt.got and .iplt that lead to a function, on x86-64 and arm64,
 * as told by their own code and by the relocations (ELF gABI and psABIs) of what they jump through.
 * `stubs` is empty before.
 */
void binary_find_stubs(const struct binary *b, struct binary_stubs *stubs);
/* No stub lies outside of [*start, *end), which costs next to nothing to say; vaddrs. */
void binary_stub_extent(const struct binary *b, uint64_t *start, uint64_t *end);

/* "1a2b…", lower case; text has room for 2 * BUILD_ID_MAX + 1. */
void build_id_to_text(const uint8_t *build_id, size_t size, char *text);

#endif
