/* SPDX-License-Identifier: MIT */
/* Go programs whose goroutines have labels. */
#ifndef PROF_LIB_CODE_RUNTIMES_GO_H
#define PROF_LIB_CODE_RUNTIMES_GO_H

#include "lib/code/runtimes/runtime.h"

extern const struct runtime runtime_go;

/* Looks for labels in a file, as struct runtime's probe. */
int go_probe(int fd, struct runtime_layout *layout, struct error *err);

#endif
