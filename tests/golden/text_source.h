/* SPDX-License-Identifier: MIT */
/* Records as text, as a source of recordings: what an importer of other files has to bring. */
#ifndef PROF_TESTS_GOLDEN_TEXT_SOURCE_H
#define PROF_TESTS_GOLDEN_TEXT_SOURCE_H

#include "lib/recording/source_kind.h"

extern const struct source_kind text_source;

#endif
