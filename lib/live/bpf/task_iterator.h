/* SPDX-License-Identifier: MIT */
/* Reads what an iterator over the machine's tasks writes. */
#ifndef PROF_LIB_LIVE_BPF_TASK_ITERATOR_H
#define PROF_LIB_LIVE_BPF_TASK_ITERATOR_H

#include <stddef.h>

struct bpf_program;

typedef void task_row_fn(void *ctx, const void *row);

/* Passes each row of `size` bytes, at most 256, to `fn`. 0 or a negative errno. */
int task_iterator_read(const struct bpf_program *program, size_t size, task_row_fn *fn, void *ctx);

#endif
