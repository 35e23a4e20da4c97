/* SPDX-License-Identifier: MIT */
/* Arguments with which programs were executed. */
#pragma once

#include "bpf/record.h"
#include "lib/stream/session/tasks/tasks.h"

/*
 * Adds the arguments to the record's process and to its last exec. A process that was already
 * running has no exec.
 */
void arguments_enter(struct tasks *t, const struct rec_arguments *rec);
