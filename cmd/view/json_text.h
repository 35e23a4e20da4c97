/* SPDX-License-Identifier: MIT */
/* JSON as text, for answers of which trees of values would take longer than finding them. */
#ifndef PROF_CMD_VIEW_JSON_TEXT_H
#define PROF_CMD_VIEW_JSON_TEXT_H

#include <stdint.h>

#include "lib/base/strbuf.h"

/* Appends the text quoted; invalid UTF-8 becomes U+FFFD. */
void json_text_string(struct strbuf *out, const char *text);
/* Appends ',' and '"key":'; no comma behind '{'. The key needs no escaping. */
void json_text_key(struct strbuf *out, const char *key);
void json_text_u64(struct strbuf *out, uint64_t value);
/* Appends "0x12", quoted. */
void json_text_hex(struct strbuf *out, uint64_t value);
/* Appends a comma unless a list or an object begins there. */
void json_text_next(struct strbuf *out);

#endif
