/* SPDX-License-Identifier: MIT */
#include "symbolize/kernel/kallsyms.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

/* Ten times the list of a kernel with everything built in. */
#define MAX_TEXT ((size_t)128 << 20)
/* The kernel's own limit is 512. */
#define MAX_NAME 4096

DEFINE_CLEANUP(struct kernel_table *, kernel_table_free)

/* "ffffffff81000000 T _text" or "ffffffffc0000000 t name\t[module]", terminated in place. */
static void parse_line(struct kernel_table *t, char *line, char *end)
{
	const char *at = line;
	struct kernel_table_row row = {0};
	char *name, *name_end;

	if (!text_scan_hex(&at, end, &row.start) || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return;
	row.is_code = at[1] && strchr("tTwWi", at[1]);
	name = line + (at + 3 - line);
	name_end = memchr(name, '\t', (size_t)(end - name));
	row.has_module = name_end != NULL;
	if (!name_end)
		name_end = end;
	*name_end = *end = '\0';
	if (!*name || name_end - name > MAX_NAME)
		return;
	row.name = (uint32_t)(name - t->text.text);
	vec_push(&t->rows, row);
}

static void parse(struct kernel_table *t)
{
	char *end = t->text.text + t->text.size;

	for (char *line = t->text.text; line < end;) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		/* The text may be cut off in a name at its end. */
		if (!line_end)
			break;
		parse_line(t, line, line_end);
		line = line_end + 1;
	}
}

int kallsyms_read(struct kernel_table **out, int fd, struct error *err)
{
	_cleanup_(kernel_table_free) struct kernel_table *t = kernel_table_new();
	struct strbuf *text = &t->text;

	t->is_list = true;
	/* The kernel's list does not tell its size; it has 5 to 10 MB. */
	text->capacity = (size_t)4 << 20;
	text->text = xmalloc(text->capacity);
	while (text->size < MAX_TEXT) {
		ssize_t n;

		if (text->size + 1 == text->capacity)
			text->text = xrealloc(text->text, text->capacity *= 2);
		n = pread(fd, text->text + text->size, text->capacity - text->size - 1,
			  (off_t)text->size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(err, -errno, "read kernel symbols");
		if (n == 0)
			break;
		text->size += (size_t)n;
	}
	text->text[text->size] = '\0';
	parse(t);
	kernel_table_seal(t);
	if (!t->rows.count || vec_last(&t->rows).start == 0)
		return error_text(err, -ENOENT, "the kernel hides its symbols' addresses");
	*out = steal(t);
	return 0;
}
