/* SPDX-License-Identifier: MIT */
/* Finds the subsystem of a kernel function by its name and source file. */
#ifndef PROF_LIB_MODEL_MEANING_KERNEL_SUBSYSTEMS_H
#define PROF_LIB_MODEL_MEANING_KERNEL_SUBSYSTEMS_H

#include <stdint.h>

/* No single subsystem: the function serves several, or is unknown. */
#define KERNEL_SUBSYSTEM_ANY 0xfe

struct kernel_subsystems;

struct kernel_subsystems *kernel_subsystems_new(void);
/* Accepts NULL. */
void kernel_subsystems_free(struct kernel_subsystems *a);
/*
 * Returns an enum kernel_subcategory or KERNEL_SUBSYSTEM_ANY. Tries three things in turn: the names
 * of ways into the kernel; the directory of the source file (NULL: unknown); the prefix of the
 * name, by the kernel's naming habits.
 */
uint8_t kernel_subsystems_of_function(const struct kernel_subsystems *a, const char *name,
				      const char *file);
/* Returns the same for a loaded module, "[ext4]". */
uint8_t kernel_subsystems_of_module(const struct kernel_subsystems *a, const char *name);

#endif
