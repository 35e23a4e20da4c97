/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names the memory of programs that others can interrupt, with runtimes: it is not the sampler's.
 * Include this first. Objects share these maps only if user space is set up to do so: a program
 * that finishes the stacks of another object needs that.
 */
#pragma once

#define HAS_OWN_STACK_SCRATCH
#define HAS_OWN_RUNTIME_SCRATCH

#define runtime_scratches own_runtime_scratches
#define managed_scratches own_managed_scratches
#define function_scratches own_function_scratches
