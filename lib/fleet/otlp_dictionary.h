/* SPDX-License-Identifier: MIT */
/*
 * Tables that all profiles of an OTLP message share. Each begins with an element for nothing, and
 * has only what is used.
 */
#ifndef PROF_LIB_FLEET_OTLP_DICTIONARY_H
#define PROF_LIB_FLEET_OTLP_DICTIONARY_H

#include "lib/base/strbuf.h"
#include "lib/format/location_table.h"
#include "lib/model/tables/profile.h"

/* Fields of the message, by their numbers in profiles.proto. */
enum table {
	MAPPING_TABLE = 1,
	LOCATION_TABLE,
	FUNCTION_TABLE,
	LINK_TABLE,
	STRING_TABLE,
	ATTRIBUTE_TABLE,
	STACK_TABLE,
	TABLES_END,
};
struct otlp_dictionary {
	const struct profile *profile;
	struct strings strings; /* the first is "" */
	const struct location_table *locations;
	/* Numbers in the tables, by ids of the profile and rows of chains; 0: not there. */
	uint32_t *stacks, *mappings, *functions, *places;
	uint32_t counts[TABLES_END]; /* rows of the tables, without those for nothing */
	struct strings attributes; /* key and value; the first is "" */
	struct strbuf tables[TABLES_END], message; /* the latter is being built */
};

/* Borrows both. */
void otlp_dictionary_init(struct otlp_dictionary *w, const struct profile *p,
			  const struct location_table *locations);
void otlp_dictionary_release(struct otlp_dictionary *w);
/* Return the number of a string, of an attribute with a text or, if that is NULL, a number, ... */
uint64_t otlp_text(struct otlp_dictionary *w, const char *text);
uint64_t otlp_attribute(struct otlp_dictionary *w, const char *key, const char *text,
			uint64_t number);
/* ... and of a stack, NO_STACK included. */
uint64_t otlp_stack(struct otlp_dictionary *w, stack_id stack);
/* Appends all of it as that field. */
void otlp_dictionary_write(struct otlp_dictionary *w, struct strbuf *out, uint32_t field);

#endif
