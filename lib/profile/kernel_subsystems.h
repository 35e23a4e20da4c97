/* SPDX-License-Identifier: MIT */
/* Tells the part of the kernel that a function belongs to by its name and its source file. */
#ifndef PROF_LIB_PROFILE_KERNEL_SUBSYSTEMS_H
#define PROF_LIB_PROFILE_KERNEL_SUBSYSTEMS_H

#include <stdint.h>

/* A function that tells nothing: it serves several parts, or is not known. */
#define KERNEL_SUBSYSTEM_ANY 0xfe

struct kernel_subsystems;

struct kernel_subsystems *kernel_subsystems_new(void);
/* NULL is fine. */
void kernel_subsystems_free(struct kernel_subsystems *a);
/*
 * An enum kernel_subcategory, or KERNEL_SUBSYSTEM_ANY. First by what the function is where it is a
 * way into the kernel; then by the directory of its source file, where that is known (else NULL);
 * then by how its name begins, as the kernel's naming goes.
 */
uint8_t kernel_subsystems_of_function(const struct kernel_subsystems *a, const char *name,
				      const char *file);
/* The same of a loaded module, "[ext4]". */
uint8_t kernel_subsystems_of_module(const struct kernel_subsystems *a, const char *name);

#endif
