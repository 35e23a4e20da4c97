/* SPDX-License-Identifier: MIT */
/*
 * Walks the entries of one unit in section order, directly on the bytes. For most entries only the
 * next one's position and the existence of code matter, for which libdw takes several times as
 * long. DWARF 2 to 5, .debug_info and .debug_types.
 */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/binary/debug_sections.h"
#include "lib/code/binary/step_budget.h"

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
