/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User space loads probes/shared.bpf.c first and makes each other BPF object use its maps of the
 * same name, including the two maps that hold the variables in these sections. Only maps.bpf.c
 * defines variables there; it is linked into each object, so they have the same offsets everywhere.
 * Each object has its own .rodata, .data and .bss.
 */
#pragma once

#include "bpf/kernel.h"

/* Written before any object is loaded, and from then on constant to the verifier. */
#define SHARED_CONSTANT SEC(".rodata.shared")
#define SHARED_VARIABLE SEC(".data.shared")
