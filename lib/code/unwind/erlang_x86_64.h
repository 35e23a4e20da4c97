/* SPDX-License-Identifier: MIT */
#pragma once

#include "lib/code/unwind/stub_rows.h"

/* Adds rows for a module of Erlang's compiled code: see UNWIND_CFA_ERLANG. */
void erlang_x86_64(struct stubs *stubs, const struct stub_code *code);
