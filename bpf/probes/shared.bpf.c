// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Contains no program: holds the maps that objects share, and is loaded before all others. The maps
 * of maps.bpf.c are linked in; those below are used by only some objects.
 */
#include "bpf/copy.bpf.h"
#include "bpf/stack_cache.bpf.h"
