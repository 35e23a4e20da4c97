/* SPDX-License-Identifier: MIT */
/* Reads profiles of OpenTelemetry. */
#define FOREIGN_FORMAT format_otlp
#include "tests/fuzz/foreign.h"
