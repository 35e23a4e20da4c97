/* SPDX-License-Identifier: MIT */
/*
 * Finds the parts of a package's sections (.dwp) that belong to one split unit: .debug_cu_index
 * (DWARF 5, 7.3.5.3) and GNU's form of it for DWARF 4.
 */
#pragma once

#include "lib/code/binary/debug_sections.h"

/*
 * Views the package as the unit's own file: each section reduced to the unit's part, strings whole.
 * False if the index is damaged or lists no unit of that id.
 */
bool unit_index_find(const struct debug_view *package, uint64_t unit_id, struct debug_view *unit);
