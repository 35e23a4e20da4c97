/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names the memory in which stacks of context switches are made: a tick can come in between, so it
 * is not the sampler's. Include this first, in the object of waits and in those of runtimes that
 * finish its stacks: user space makes the latter use the former's maps of the same name.
 */
#ifndef PROF_BPF_WAIT_SCRATCH_BPF_H
#define PROF_BPF_WAIT_SCRATCH_BPF_H

#define HAS_OWN_STACK_SCRATCH
#define HAS_OWN_RUNTIME_SCRATCH

#define own_scratches wait_scratches
#define own_copies wait_copies
#define runtime_scratches wait_runtime_scratches
#define managed_scratches wait_managed_scratches
#define python_walks wait_python_walks
#define v8_walks wait_v8_walks
#define sight_scratches wait_sight_scratches

#endif
