/* SPDX-License-Identifier: MIT */
/* Settings of --alloc and related options, and the code that its two instruments share. */
#pragma once

#include "bpf/config.h"
#include "lib/live/instrument.h"

struct alloc_settings {
	bool is_wanted, anyway, held_only;
	bool has_pages; /* sample the kernel's pages instead of an allocator's blocks */
	uint64_t mean; /* mean distance in bytes */
};

/* Fills in the kernel's tables. */
void alloc_settings_sampling(const struct alloc_settings *s, struct alloc_sampling *out);
/* Sends the settings that the session needs. */
void alloc_settings_announce(const struct alloc_settings *s, const struct live *live);
