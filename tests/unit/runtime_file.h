/* SPDX-License-Identifier: MIT */
/* Files with a runtime, of tests/fuzz/corpus/runtime_file. */
#ifndef PROF_TESTS_UNIT_RUNTIME_FILE_H
#define PROF_TESTS_UNIT_RUNTIME_FILE_H

#include "lib/code/runtimes/runtime.h"

/* As runtime_probe(), of the file with that name. */
int runtime_probed(const char *name, struct runtime_layout *layout, struct error *err);
void runtime_refused(const char *name, int code, const char *reason);

#endif
