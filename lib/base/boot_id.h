/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_BASE_BOOT_ID_H
#define PROF_LIB_BASE_BOOT_ID_H

#include <stdbool.h>
#include <stdint.h>

#define BOOT_ID_SIZE 16

/*
 * Reads the id that the kernel chose when the machine started, as random(4) describes. False: it
 * cannot be read, and bytes that are missing stay as they are.
 */
bool boot_id_read(uint8_t id[BOOT_ID_SIZE]);

#endif
