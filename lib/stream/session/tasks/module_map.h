/* SPDX-License-Identifier: MIT */
/* Maps module ids of the stream to rows of the profile. */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/session/tasks/tasks.h"

/* The users in whose processes a module has frames. */

/*
 * Fills in the users of all modules except the kernel's. Call once all samples are in the rows of
 * their threads, while thread ids are still valid.
 */
void module_users_find(struct tasks *t);

struct module_map {
	struct profile *profile;
	struct index by_key; /* by module.file_key, the id on the wire */
};

/* A reused id means the new module from now on. */
void module_map_add(struct module_map *m, const struct rec_module *rec);
/* Ignores sections of unknown modules. */
void module_map_add_section(struct module_map *m, const struct rec_section *rec);
void module_map_add_symbol(struct module_map *m, const struct rec_symbol *rec);
/* Returns NO_MODULE if no record had this id. */
module_id module_map_find(const struct module_map *m, uint32_t key);
