/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_BASE_SIGNAL_NAME_H
#define PROF_LIB_BASE_SIGNAL_NAME_H

#define SIGNAL_NAME_SIZE 32 /* including the terminator */

/*
 * Writes "SIGTERM" or "SIGRTMIN+3". Numbers are the kernel's; the C library reserves two of them.
 */
void signal_name(int number, char to[SIGNAL_NAME_SIZE]);

#endif
