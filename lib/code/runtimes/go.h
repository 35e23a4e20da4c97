/* SPDX-License-Identifier: MIT */
/* Go programs whose goroutines have labels. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/code/runtimes/runtime.h"

/* Finds the place of goroutine labels in a Go program (pprof.Do of Go's runtime/pprof). */

struct go_label_places {
	uint16_t version; /* 119 for Go 1.19 */
	/* Place of "g" from the thread pointer, bytes; 0: in the register with DWARF number g_reg.
	 */
	int16_t tls;
	uint8_t g_reg;
	uint16_t m, current, labels; /* offsets of m in g, the goroutine in m, labels in g; bytes */
};

/*
 * Returns 0 if found; -ENOENT: not a Go program, or one that never sets labels. Another negative
 * errno: not supported, with the reason in err.
 */
int go_label_places_find(struct go_label_places *places, int fd, struct error *err);

extern const struct runtime runtime_go;

/* Looks for labels in a file, as struct runtime's probe. */
int go_probe(int fd, struct runtime_layout *layout, struct error *err);
