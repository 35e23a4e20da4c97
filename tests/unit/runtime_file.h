/* SPDX-License-Identifier: MIT */
/* Files with a runtime, of tests/fuzz/corpus/runtime_file. */
#pragma once

#include "lib/code/runtimes/runtime.h"

/* As runtime_probe(), of the file with that name. */
int runtime_probed(const char *name, struct runtime_layout *layout, struct error *err);
void runtime_refused(const char *name, int code, const char *reason);
