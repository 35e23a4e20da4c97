/* SPDX-License-Identifier: MIT */
/*
 * PHP's engine. It does not describe its structures: offsets come from a table by version, and are
 * compared with the code of exported functions.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

/* See struct runtime. */
int php_probe(const struct binary *b, struct runtime_layout *layout, struct error *err);

/* Offsets of a version. False: it is not supported. */
bool php_layout_of_version(uint16_t version, struct php_layout *layout);
