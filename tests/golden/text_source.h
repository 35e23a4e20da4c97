/* SPDX-License-Identifier: MIT */
/* Records as text, as a source of recordings: what an importer of other files has to bring. */
#pragma once

#include "lib/recording/source_kind.h"

extern const struct source_kind text_source;
