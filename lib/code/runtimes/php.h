/* SPDX-License-Identifier: MIT */
/*
 * PHP's engine. It does not describe its structures: offsets come from a table by version, and are
 * compared with the code of exported functions.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

/* Offsets of a version. False: it is not supported. */
bool php_layout_of_version(uint16_t version, struct php_layout *layout);
