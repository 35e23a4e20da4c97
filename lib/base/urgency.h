/* SPDX-License-Identifier: MIT */
/*
 * Niceness of a thread, see setpriority(2). On a machine with many more runnable threads than CPUs,
 * a recorder gets less than it needs, and records are lost.
 */
#ifndef PROF_LIB_BASE_URGENCY_H
#define PROF_LIB_BASE_URGENCY_H

/*
 * Makes the calling thread, and those that it starts from now on, more urgent than others. Changes
 * nothing if that takes rights that prof lacks, or if the user chose a niceness.
 */
void urgency_raise(void);
/* Makes the calling thread as urgent as others if it is more so. */
void urgency_lower(void);

#endif
