/* SPDX-License-Identifier: MIT */
/* Texts in statements. Whatever they contain, they stay texts. */
#ifndef PROF_LIB_FLEET_SQL_H
#define PROF_LIB_FLEET_SQL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"

/* Appends a literal, quoted: every byte but letters, digits and a few others as \xHH. */
void sql_add_text(struct strbuf *sql, const char *text, size_t size);
/* Can it stand for a database or table as it is? At most 64 letters, digits and _. */
bool sql_is_name(const char *text);

#endif
