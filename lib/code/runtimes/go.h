/* SPDX-License-Identifier: MIT */
/* Go programs whose goroutines have labels. */
#pragma once

#include "lib/code/runtimes/runtime.h"

/* Finds the location of goroutine labels in a Go program (pprof.Do of Go's runtime/pprof). */

struct go_label_places {
	uint16_t version; /* 119 for Go 1.19 */
	/*
	 * Offset of "g" from the thread pointer, bytes; 0: in the register with DWARF number g_reg.
	 */
	int16_t tls;
	uint8_t g_reg;
	uint16_t m, current, labels; /* offsets of m in g, the goroutine in m, labels in g; bytes */
};

/*
 * Returns 0 if found; -ENOENT if it is not a Go program, or never sets labels; another negative
 * errno if not supported, with the reason in err.
 */
int go_label_places_find(struct go_label_places *places, int fd, struct error *err);

/* Looks for labels in a file, like struct runtime's probe. */
int go_probe(int fd, struct runtime_layout *layout, struct error *err);
