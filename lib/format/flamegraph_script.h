/* SPDX-License-Identifier: MIT */
/* The script inside flame graphs. It reads names as text and never as markup. */
#ifndef PROF_LIB_FORMAT_FLAMEGRAPH_SCRIPT_H
#define PROF_LIB_FORMAT_FLAMEGRAPH_SCRIPT_H

extern const char flamegraph_script[];

#endif
