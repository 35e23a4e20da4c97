/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User space loads probes/shared.bpf.c first and makes each other BPF object use its maps of the
 * same name, including the two maps that hold the variables in these sections. maps.bpf.c alone
 * defines variables there and is linked into each object, so they have the same offsets everywhere.
 * An object's .rodata, .data and .bss are its own.
 */
#pragma once

#include "bpf/kernel.h"

/* Written before any object is loaded; constant to the verifier from then on. */
#define SHARED_CONSTANT SEC(".rodata.shared")
#define SHARED_VARIABLE SEC(".data.shared")
