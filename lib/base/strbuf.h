/* SPDX-License-Identifier: MIT */
/* A growing, always terminated string. A zeroed struct is empty (text may then be NULL). */
#pragma once

struct strbuf {
	char *text;
	size_t size, capacity; /* size does not include the terminator */
};

void strbuf_release(struct strbuf *s);
void strbuf_reset(struct strbuf *s);
void strbuf_add(struct strbuf *s, const void *data, size_t size);
void strbuf_adds(struct strbuf *s, const char *text);
void strbuf_addch(struct strbuf *s, char c);
/* Appends a character as UTF-8; U+FFFD in place of half a surrogate pair. */
void strbuf_add_utf8(struct strbuf *s, uint32_t c);
void strbuf_addf(struct strbuf *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "1,234,567" in every locale. */
void strbuf_add_grouped(struct strbuf *s, uint64_t value);
/* Returns the text, "" if nothing was ever added; valid until the next change. */
const char *strbuf_text(const struct strbuf *s);
/* Transfers ownership of the text, never NULL; s is empty afterwards. */
char *strbuf_take(struct strbuf *s);

static inline void strbuf_release_cleanup(struct strbuf *s)
{
	strbuf_release(s);
}
