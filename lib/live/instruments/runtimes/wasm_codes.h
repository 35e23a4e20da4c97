/* SPDX-License-Identifier: MIT */
/* Names the code of WebAssembly by the tables that its engine keeps of it. */
#pragma once

#include "lib/code/runtimes/v8_wasm.h"
#include "lib/live/process/late_reader.h"

/* Knowledge of a process. A zeroed struct is empty. */
struct wasm_codes {
	struct wasm_modules modules;
	uint64_t search_ns, wait_ns; /* time of the next search for the tables, and time between */
	uint64_t generation, generation_ns; /* number at that time */
};

void wasm_codes_release(struct wasm_codes *w);
/*
 * Finds and names the code at an address that was seen in a process at that time. Returns false,
 * with `code` unchanged, if it is not WebAssembly, or the tables are not known yet.
 */
bool wasm_codes_find(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
		     uint64_t addr, uint64_t time, struct late_reader *reader,
		     struct sampled_code *code);
/*
 * Searches the tables in the data of the process's files. Returns false if they are known already,
 * or do not have the address, which may be of other code.
 */
bool wasm_codes_search(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
		       uint64_t addr, uint64_t time, struct late_reader *reader);
/* Returns a number that changes when memory of known code may have been reused. */
uint64_t wasm_codes_generation(struct wasm_codes *w, const struct runtime *runtime, uint32_t pid,
			       uint64_t time, struct late_reader *reader);
