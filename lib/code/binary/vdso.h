/* SPDX-License-Identifier: MIT */
/*
 * The vDSO, which has no file: a copy of this process's image, identical in every 64-bit process.
 */
#pragma once

#include "lib/base/base.h"

/* Returns a new memory file with a copy of this process's vDSO; -ENOENT if it has none. */
int vdso_open(struct error *err);
/* Does the same with the image for 32-bit programs; -ENOENT if the kernel does not provide it. */
int vdso_open_32bit(struct error *err);
