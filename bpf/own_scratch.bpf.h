/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scratch memory, with runtimes, for programs that can be interrupted: separate from the sampler's.
 * Must be included first. Objects share these maps only if user space arranges it: programs that
 * finish another object's stacks need that.
 */
#pragma once

#define HAS_OWN_STACK_SCRATCH
#define HAS_OWN_RUNTIME_SCRATCH

#define runtime_scratches own_runtime_scratches
#define managed_scratches own_managed_scratches
#define function_scratches own_function_scratches
