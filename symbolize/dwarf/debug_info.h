/* SPDX-License-Identifier: MIT */
/*
 * The DWARF of one file, indexed on demand: all units by address, functions and lines of a unit
 * once an address falls into it, inlined calls of a function once an address falls into that.
 * Private to the dwarf*.c. All state is in one struct debug_info with its own libdw handle, so
 * several can work in parallel.
 *
 * DWARF is untrusted: the depth of each walk is limited, and the steps of all walks together by
 * `budget`.
 */
#pragma once

#include <elfutils/libdw.h>

#include "lib/base/bytes.h"
#include "lib/code/binary/debug_sections.h"
#include "lib/code/binary/line_table.h"
#include "lib/code/binary/segments.h"
#include "symbolize/answers.h"
#include "symbolize/module_files.h"
#include "symbolize/symbolizer.h"

/*
 * Walks the entries of one unit in section order, directly on the bytes. For most entries only the
 * next one's position and the existence of code matter, for which libdw takes several times as
 * long. DWARF 2 to 5, .debug_info and .debug_types.
 */

struct abbrevs;

/* Cache of recent abbreviation tables, which many units can share. A zeroed struct is empty. */
#define ABBREV_TABLES 8
struct abbrev_cache {
	struct abbrevs *tables[ABBREV_TABLES];
	unsigned int next; /* next row to replace */
};
void abbrev_cache_release(struct abbrev_cache *cache);

struct die_entry {
	const uint8_t *at; /* position in the section */
	const uint8_t *sibling; /* position after the children; NULL: unknown */
	unsigned int tag; /* DW_TAG_… */
	unsigned int depth; /* 0: child of the entry at which the walk starts */
	bool has_children;
	bool has_code; /* the entry has attributes with code ranges */
	bool is_plain; /* the code is a single range */
	uint64_t start, end; /* vaddrs */
};

struct die_walk {
	struct bytes b; /* the unit, including its header */
	const struct abbrevs *abbrevs;
	struct step_budget *budget;
	unsigned int depth;
};

/*
 * Opens the unit with that header. Borrows the section's bytes and the cache; the walk is valid
 * until ABBREV_TABLES others were opened. Takes a step of the budget for each abbreviation that
 * must be read, and later one for each entry. False if damaged.
 */
bool die_walk_open(struct die_walk *w, struct abbrev_cache *cache, const struct debug_view *view,
		   const uint8_t *header, struct step_budget *budget);
/* Moves to the children of that entry. */
void die_walk_enter(struct die_walk *w, const uint8_t *parent);
/* Stores the next entry, children before siblings. False at the end, or if damaged. */
bool die_walk_next(struct die_walk *w, struct die_entry *e);
/* Skips the children of the last entry. */
void die_walk_skip(struct die_walk *w, const struct die_entry *e);

/*
 * Address range lists of split units, whose base address and address table are in another file:
 * DWARF 5 §7.25, for older units DWARF 4 §2.17.3.
 */

/* Parameters of all lists of one unit. */
struct range_source {
	const struct debug_view *view; /* its .debug_addr begins with the unit's first address */
	uint64_t base; /* base address of the unit */
	uint16_t version;
	uint8_t address_size, offset_size;
};

struct range_list {
	const struct range_source *source;
	struct bytes at;
	uint64_t base;
};

/* Opens a list by offset in .debug_ranges or .debug_rnglists. */
void range_list_open(struct range_list *l, const struct range_source *source, uint64_t offset);
/* Opens a list by number (DW_FORM_rnglistx). */
void range_list_open_number(struct range_list *l, const struct range_source *source,
			    uint64_t number);
/* Returns false at the end, or if the list is damaged. Also returns empty ranges. */
bool range_list_next(struct range_list *l, uint64_t *start, uint64_t *end);

/*
 * Finds the parts of a package's sections (.dwp) that belong to one split unit: .debug_cu_index
 * (DWARF 5, 7.3.5.3) and GNU's form of it for DWARF 4.
 */

/*
 * Views the package as the unit's own file: each section reduced to the unit's part, strings whole.
 * False if the index is damaged or lists no unit of that id.
 */
bool unit_index_find(const struct debug_view *package, uint64_t unit_id, struct debug_view *unit);

/* Maximum nesting of scopes and of inlined calls. */
#define MAX_DIE_DEPTH 200

/* Maximum number of visits: each entry and line takes more than a byte. */
#define STEPS_PER_BYTE 4

struct inlined_call {
	const uint8_t *at; /* position of the entry; see unit_die_at() */
	uint32_t parent; /* index in `calls`; UINT32_MAX: the function itself */
};

struct inline_tree {
	VEC(struct inlined_call) calls; /* parents come before their children */
	struct segments segments; /* address ranges of calls */
};

struct function {
	const uint8_t *at; /* position of the entry; see unit_die_at() */
	struct inline_tree *inlines; /* NULL until an address in the function is looked up */
};

struct unit_detail {
	VEC(struct function) functions;
	struct segments segments; /* address ranges of functions */
	bool is_ada; /* symbols are not spelled like functions in the source */
	bool is_deep; /* functions inside types and functions have been collected as well */
	struct line_table lines;
};

/* A unit in a different file than its lines, presented as a file of its own. */
struct split {
	struct debug_sections sections; /* zeroed for a part of the package */
	struct debug_view view;
	struct Elf *elf;
	Dwarf *dwarf;
	Dwarf_Die die;
	struct range_source ranges; /* ranges of the view */
};

struct unit {
	uint64_t offset; /* offset in .debug_info */
	bool is_open; /* the following members are valid */
	struct intervals ranges; /* ranges of the unit's code, unless read for all units at once */
	Dwarf_Die die; /* entry with lines and files */
	bool is_skeleton; /* the functions are in a split unit */
	struct split *split; /* NULL: no split unit, not needed yet, or not available */
	struct unit_detail *detail; /* NULL until an address in the unit is looked up */
};

/* Maximum memory of all details; a single unit may exceed it. */
#define MAX_DETAIL_BYTES ((size_t)64 << 20)

/* A cached result for an object that does not move in memory. */
struct cached {
	const void *place;
	const void *value; /* may be NULL */
};

struct caches {
	VEC(struct cached) rows;
	struct index index;
};

/* Whole paths, each stored once for all units. */
struct path_set {
	VEC(const char *) rows;
	struct index index;
};

struct debug_info {
	struct symbolizer base;
	struct module_files *files;
	const struct debug_sections *sections, *shared; /* sections of `dwarf` and `shared_dwarf` */
	struct line_sections line_sections; /* sections for line tables */
	struct Elf *elf, *shared_elf;
	Dwarf *dwarf,
		*shared_dwarf; /* shared_dwarf: handle of the shared file made by dwz; NULL: none */
	uint64_t first_vaddr;
	struct step_budget budget;
	VEC(struct unit) units;
	struct segments segments; /* address ranges of units */
	uint64_t heads_end; /* end of the unit headers in .debug_info that have been read */
	/* otherwise, only units that list their own code ranges are known, by offset */
	bool has_all_units;
	size_t detail_bytes; /* size of the details of all units */
	bool wants_discriminators;
	bool has_symbols; /* another symbolizer also has symbols */
	struct debug_sections package; /* package of split units; zeroed: none */
	bool has_looked_for_package;
	uint64_t split_bytes; /* size of all open split units */
	struct caches views; /* by handle, for all handles but `dwarf` */
	struct caches names; /* names of functions, by entry in the section */
	struct path_set paths;
	struct abbrev_cache abbrevs;
	struct arena arena;
};

/* dwarf_index.c */
void units_index(struct debug_info *info);
/*
 * Finds the unit that covers the address; NULL if there is none. May invalidate pointers to other
 * units. `listed`: searches only units that list their code ranges separately, if there are any.
 */
struct unit *units_find_at(struct debug_info *info, uint64_t addr, bool listed);
/* Unpacks all units of the module's own file. False if damaged. */
bool units_need_all(struct debug_info *info);

/* dwarf_units.c */
/* Adds the ranges of an entry of the unit or its split unit as intervals of that id and rank. */
void die_add_ranges(const struct unit *unit, Dwarf_Die *die, uint32_t id, uint32_t rank,
		    struct intervals *intervals, struct step_budget *budget);
/* Does the same for an entry from a walk. */
void entry_add_ranges(const struct unit *unit, const struct die_entry *e, uint32_t id,
		      uint32_t rank, struct intervals *intervals, struct step_budget *budget);
/* Opens a walk over the entries of the unit or its split unit. False if damaged. */
bool unit_walk_open(struct debug_info *info, const struct unit *unit, struct die_walk *walk);
/* Makes a libdw entry from its address in the unit or its split unit. */
Dwarf_Die unit_die_at(const struct unit *unit, const uint8_t *at);
void units_release(struct debug_info *info);
/*
 * Returns the unit with its detail; NULL if no unit covers the address. May invalidate units and
 * details found before.
 */
struct unit *units_find(struct debug_info *info, uint64_t addr, bool listed);
/*
 * Returns NULL if no function of the unit covers the address. `is_thorough` includes functions
 * inside types and other functions; later searches find those, too.
 */
struct function *unit_find_function(struct debug_info *info, struct unit *unit, uint64_t addr,
				    bool is_thorough);

/* True if the functions of this unit of the module's file are elsewhere; `type` is libdw's. */
bool is_skeleton(struct debug_info *info, Dwarf_Die *die, uint8_t type);
/* Returns NULL if not available; the module's files hold the reason. */
struct split *split_open(struct debug_info *info, Dwarf_Die *skeleton);
/* Accepts NULL. */
void split_free(struct split *split);
/* Like die_add_ranges(), for an entry of the split unit. */
void split_add_ranges(const struct split *split, Dwarf_Die *die, uint32_t id, uint32_t rank,
		      struct intervals *intervals, struct step_budget *budget);

/* Accepts NULL. */
void inline_tree_free(struct inline_tree *t);
/*
 * Fills in functions and lines at an address, outermost first. `unit` and `function` may be NULL.
 * The arena owns the chain.
 */
void describe_address(struct debug_info *info, struct unit *unit, struct function *function,
		      uint64_t addr, struct answer *answer);

/* dwarf_names.c */
/* Returns a string that libdw finds in an entry; NULL if it does not end within its section. */
const char *attribute_text(struct debug_info *info, Dwarf_Die *die, unsigned int name);
/*
 * Returns the linkage name of a function or inlined call, or its name, prefixed by its scopes if
 * the language has any; NULL if it has no name. Lives as long as info.
 */
const char *die_function_name(struct debug_info *info, Dwarf_Die *die);
/* Returns the line of the declaration of a function or inlined call, 0 if unknown. */
uint32_t die_start_line(struct debug_info *info, Dwarf_Die die);

/* dwarf_names.c */
/* Returns DW_AT_language of a unit's entry, 0 for none. */
uint64_t unit_language(Dwarf_Die *unit);
bool language_is_ada(uint64_t language);
/*
 * Returns the path of a file number in the line table, DW_AT_decl_file or DW_AT_call_file; or NULL.
 */
const char *unit_file(struct debug_info *info, struct unit *unit, uint64_t number);
void path_set_release(struct path_set *set);

/* `value` must live at least as long as the cache. */
void caches_add(struct caches *caches, const void *place, const void *value);
void caches_release(struct caches *caches);

/*
 * .debug_aranges (DWARF 5, 6.1.2): the code ranges of units. Not all compilers write it, and one
 * file may contain units of several compilers.
 */

/*
 * If several units claim the same code, it belongs to the first: inline functions are compiled with
 * each unit that uses them; linkers keep the first copy and make the entries of all others refer to
 * it.
 */
#define UNIT_RANK(number) (UINT32_MAX - (uint32_t)(number))

struct aranges {
	VEC(uint64_t) units; /* offsets of units in .debug_info, ascending */
	struct intervals ranges; /* range ids are indexes of `units` */
};

/* Skips damaged sets and forms that no supported machine uses. */
void aranges_read(struct aranges *a, const struct debug_section *section,
		  struct step_budget *budget);
void aranges_release(struct aranges *a);
