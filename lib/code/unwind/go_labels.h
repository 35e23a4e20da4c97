/* SPDX-License-Identifier: MIT */
/* Finds where a Go program keeps the labels of its goroutines (pprof.Do of Go's runtime/pprof). */
#ifndef PROF_LIB_CODE_UNWIND_GO_LABELS_H
#define PROF_LIB_CODE_UNWIND_GO_LABELS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

struct go_label_places {
	uint16_t version; /* 119 for Go 1.19 */
	/* Place of "g" from the thread pointer, bytes; 0: in the register with DWARF number g_reg.
	 */
	int16_t tls;
	uint8_t g_reg;
	uint16_t m, current, labels; /* of m in g, of the goroutine in m, of labels in g; bytes */
};

/*
 * 0: found. -ENOENT: no Go program, or one that never sets labels. Another negative errno: one that
 * cannot be followed, err says why.
 */
int go_label_places_find(struct go_label_places *places, int fd, struct error *err);

#endif
