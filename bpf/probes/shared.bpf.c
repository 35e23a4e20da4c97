// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * No program: the maps that objects share, in an object that is loaded before all others. Those of
 * maps.bpf.c are linked into it, too; these are the ones that only some objects have.
 */
#include "bpf/copy.bpf.h"
#include "bpf/stack_cache.bpf.h"
