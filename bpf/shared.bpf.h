/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BPF objects are loaded one by one, and share what user space hands from the first one to the
 * others by name: each map that the first one has, too, and variables in these two sections, which
 * are maps. maps.bpf.c alone defines any there, and is linked into each object, so they lie at the
 * same place in all. What an object has in .rodata, .data and .bss is its own.
 */
#ifndef PROF_BPF_SHARED_BPF_H
#define PROF_BPF_SHARED_BPF_H

#include "bpf/kernel.h"

/* Written before the first object is loaded: constant for the verifier from then on. */
#define SHARED_CONSTANT SEC(".rodata.shared")
#define SHARED_VARIABLE SEC(".data.shared")

#endif
