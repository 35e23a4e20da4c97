/* SPDX-License-Identifier: MIT */
/*
 * An opened ELF file: identity, segments, sections, symbols. The only room that uses libelf. The
 * file is untrusted: whatever it contains, these functions return an error at worst.
 */
#pragma once

#include "lib/base/base.h"

#define BUILD_ID_MAX 20

struct binary_segment {
	uint64_t file_offset, file_size, vaddr;
	bool executable;
};

/* The facts a recorder needs about a mapped file, read with a few pread() calls. */
struct binary_summary {
	uint8_t build_id[BUILD_ID_MAX];
	/* 0: none. Go programs without a GNU build id have 20 bytes, a hash of Go's own. */
	uint8_t build_id_size;
	uint16_t machine; /* e_machine */
	bool is_64bit;
	struct binary_segment *segments; /* PT_LOADs in file order; owned */
	size_t segment_count; /* at most 1024 are read */
};

/* Returns -ENOEXEC if the file is not an ELF file of this machine's byte order. fd is borrowed. */
int binary_summarize(int fd, struct binary_summary *summary, struct error *err);
void binary_summary_release(struct binary_summary *summary);

/*
 * Opens the file with libelf. fd is borrowed, may be unlinked, and must stay open for the life of
 * the binary. Returns -ENOEXEC if the file is not ELF, or is forged to overload libelf.
 */
struct binary;
int binary_open(struct binary **out, int fd, struct error *err);
/* Accepts NULL. */
void binary_free(struct binary *b);

/*
 * Location of a loaded section of a relocatable file (ET_REL), known only for kernel modules:
 * `offset` from the start of the module's code.
 */
#define SECTION_NAME_SIZE 32
struct section_place {
	char name[SECTION_NAME_SIZE]; /* NUL-terminated */
	uint64_t offset;
};

struct section_places {
	const struct section_place *rows; /* borrowed during the call */
	size_t count;
};

/*
 * Sets the locations of a relocatable file's sections, which the file does not contain. By default,
 * its code sections are placed like a kernel module's. After this call, sections not listed have no
 * location. Has no effect on other files.
 */
void binary_place_sections(struct binary *b, const struct section_places *places);

/*
 * Returns the vaddr of the first PT_LOAD, to which RVAs are relative; 0 if there is none. For a
 * relocatable file: the vaddr assumed for the start of its code.
 */
uint64_t binary_first_vaddr(const struct binary *b);
uint16_t binary_machine(const struct binary *b); /* e_machine */
/*
 * Reads the build id from the note sections, or else from the segments. Sections come first because
 * the segments of a separate debug file have offsets of another file. Otherwise as in struct
 * binary_summary. Returns the size; 0: none.
 */
size_t binary_build_id(const struct binary *b, uint8_t build_id[BUILD_ID_MAX]);
/* True if a section of that name has bytes in the file. */
bool binary_has_section(const struct binary *b, const char *name);

/*
 * Stores the vaddr of a section that has bytes in the file. Returns false if no section has that
 * name.
 */
bool binary_section_vaddr(const struct binary *b, const char *name, uint64_t *vaddr);

/*
 * Copies the section, inflated; the caller frees the copy. -ENOENT if missing, -EFBIG if it has
 * more than `max` bytes, -ENOEXEC if it cannot be read.
 */
int binary_read_section(const struct binary *b, const char *name, size_t max, uint8_t **data,
			size_t *size, struct error *err);

/* Bytes at the end of a piece with which the next one begins. */
#define BINARY_PIECE_OVERLAP 64
/* Examines a piece of a section. Returns false to end the search. */
typedef bool binary_piece_fn(void *ctx, const uint8_t *piece, size_t size);

/*
 * Passes the section to `take_piece`, piece by piece, without keeping it in memory. Returns false
 * if it is missing, compressed, has more than `max` bytes, or cannot be read to its end.
 */
bool binary_search_section(const struct binary *b, const char *name, uint64_t max,
			   binary_piece_fn *take_piece, void *ctx);

enum binary_binding { BINARY_LOCAL, BINARY_WEAK, BINARY_GLOBAL };

/* Limit for a code section's size; larger headers are damage. */
#define BINARY_SYMBOL_MAX ((uint64_t)1 << 40)

struct binary_symbol {
	uint64_t vaddr;
	uint64_t size; /* 0: unknown; does not exceed the section */
	uint64_t limit; /* maximum end of a symbol without a size, at most the section's end */
	/* Owned by the binary; followed by "@VERSION" if the table has the version. */
	const char *name;
	bool is_func; /* STT_FUNC or STT_GNU_IFUNC; otherwise an assembler label */
	bool is_dynamic; /* from .dynsym */
	enum binary_binding binding : 8; /* packed, because there can be a million rows */
	bool is_reach_guessed; /* set by the caller: the size is guessed */
};

struct binary_symbols {
	VEC(struct binary_symbol) rows;
};

/* Selects symbols by their properties other than names. */
struct binary_symbol_filter {
	bool (*wants)(void *ctx, const struct binary_symbol *symbol);
	void *ctx;
};

/*
 * Appends the symbols in executable sections from .symtab, or from .dynsym if there is no .symtab,
 * in table order. filter NULL: all symbols.
 */
void binary_add_symbols(const struct binary *b, const struct binary_symbol_filter *filter,
			struct binary_symbols *symbols);

/* A stub that calls a function of another file, or a function chosen at run time. */
struct binary_stub {
	uint64_t vaddr, size;
	/* Name of the function to which the stub leads, once read; owned by the binary. */
	const char *name;
	struct lazy_names *names; /* NULL: the stub has no name */
	uint64_t symbol; /* offset in the file of the symbol with the name */
	uint64_t target; /* for a stub without a name: vaddr of the function that chooses the
			    target; 0: none */
};

struct binary_stubs {
	VEC(struct binary_stub) rows; /* sorted by vaddr, without overlaps */
};

/*
 * Finds the entries of .plt, .plt.sec, .plt.got and .iplt that lead to a function, on x86-64 and
 * arm64, from their code and from the relocations (ELF gABI and psABIs) of the words through which
 * they jump. `stubs` must be empty.
 */
void binary_find_stubs(const struct binary *b, struct binary_stubs *stubs);
/*
 * Reads the stub's name, unless it is there already. Returns false if it leads nowhere: to neither
 * a name nor a target. Not thread-safe.
 */
bool binary_name_stub(const struct binary *b, struct binary_stub *stub);
/* Returns the range of vaddrs, [*start, *end), that contains all stubs. Very cheap. */
void binary_stub_extent(const struct binary *b, uint64_t *start, uint64_t *end);

/*
 * Returns a hash of the file's size and some of its pages, to distinguish files without a build id.
 * Builds that differ only elsewhere have the same hash. 0: unreadable or empty.
 */
uint64_t binary_contents_hash(int fd);
/* "1a2b…", lower case; text has room for 2 * BUILD_ID_MAX + 1. */
void build_id_to_text(const uint8_t *build_id, size_t size, char *text);
