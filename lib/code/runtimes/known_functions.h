/* SPDX-License-Identifier: MIT */
/* Functions that were read from processes: most compiled code takes in the same few. */
#ifndef PROF_LIB_CODE_RUNTIMES_KNOWN_FUNCTIONS_H
#define PROF_LIB_CODE_RUNTIMES_KNOWN_FUNCTIONS_H

#include "lib/base/index.h"
#include "lib/code/runtimes/runtime.h"

struct function_key {
	uint32_t pid, tid; /* of the process and of the thread that runs it */
	struct managed_source source;
	uint32_t number; /* of the function in its source */
};

struct known_function {
	struct function_key key;
	struct managed_function function;
};

/* A zeroed struct is empty. */
struct known_functions {
	VEC(struct known_function) rows;
	struct index index;
};

void known_functions_release(struct known_functions *k);
/* NULL: unknown. Valid until one is added. */
const struct managed_function *known_functions_find(const struct known_functions *k,
						    const struct function_key *key);
/* Adds a copy of one that is unknown; forgets all others once there are many. */
void known_functions_add(struct known_functions *k, const struct function_key *key,
			 const struct managed_function *function);

#endif
