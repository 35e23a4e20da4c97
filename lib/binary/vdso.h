/* SPDX-License-Identifier: MIT */
/* The vDSO, which is no file: an image of our own one, the same for every 64-bit process. */
#ifndef PROF_LIB_BINARY_VDSO_H
#define PROF_LIB_BINARY_VDSO_H

#include "lib/base/error.h"

/* A new memory file with a copy of this process's vDSO; -ENOENT where there is none. */
int vdso_open(struct error *err);
/* The same with the image that 32-bit programs get; -ENOENT where the kernel does not give it. */
int vdso_open_32bit(struct error *err);

#endif
