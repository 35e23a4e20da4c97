/* SPDX-License-Identifier: MIT */
/* "fun_<hex>" for functions that nothing gives a name: that they are functions is known from CFI.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"
#include "lib/unwind/fde_ranges.h"
#include "symbolize/arena.h"
#include "symbolize/symbolizer.h"

struct fde_names {
	struct symbolizer base;
	int fd;
	bool was_read; /* which is done when the first address needs it */
	struct fde_ranges *ranges; /* NULL: not to be had */
	struct fde_range last; /* size 0: none yet */
	const char *last_name;
	struct arena texts;
};

static int fde_open(struct symbolizer **out, const struct symbolizer_input *input,
		    struct error *err)
{
	struct fde_names *n;

	if (input->fd < 0)
		return error_text(err, -ENOENT, "no file");
	n = xcalloc(1, sizeof(*n));
	n->base.ops = &symbolizer_fde;
	n->fd = input->fd;
	*out = &n->base;
	return 0;
}

static struct fde_ranges *ranges_of(struct fde_names *n)
{
	struct error err = {0};

	if (!n->was_read && fde_ranges_new(&n->ranges, n->fd, &err) != 0)
		log_debug("functions without a name: %s", err.text);
	n->was_read = true;
	return n->ranges;
}

/* Where DWARF knows the function, a guess about its symbol's reach does no harm. */
static bool needs_name(const struct answer *answer)
{
	if (!answer->func)
		return true;
	return answer->is_reach_guessed && !(answer->depth && answer->chain[0].func);
}

static void name(struct fde_names *n, struct answer *answer)
{
	char text[32];

	/* The symbol is that of the function itself. */
	if (answer->func && answer->func_start >= n->last.rva) {
		answer->func_size = n->last.rva + n->last.size - answer->func_start;
		answer->is_reach_guessed = false;
		return;
	}
	if (!n->last_name) {
		snprintf(text, sizeof(text), "fun_%" PRIx64, n->last.rva);
		n->last_name = arena_strndup(&n->texts, text, strlen(text));
	}
	answer->func = n->last_name;
	answer->func_start = n->last.rva;
	answer->func_size = n->last.size;
	answer->is_made_up = true;
	answer->is_reach_guessed = false;
}

static void fde_lookup(struct symbolizer *base, const uint64_t *rvas, size_t count,
		       struct answer *answers)
{
	struct fde_names *n = (struct fde_names *)base;

	for (size_t i = 0; i < count; i++) {
		if (!needs_name(&answers[i]) || !ranges_of(n))
			continue;
		if (rvas[i] - n->last.rva >= n->last.size) {
			n->last_name = NULL;
			if (!fde_ranges_find(n->ranges, rvas[i], &n->last)) {
				n->last.size = 0;
				continue;
			}
		}
		name(n, &answers[i]);
	}
}

static void fde_free(struct symbolizer *base)
{
	struct fde_names *n = (struct fde_names *)base;

	fde_ranges_free(n->ranges);
	arena_release(&n->texts);
	free(n);
}

const struct symbolizer_ops symbolizer_fde = {
	.name = "fde",
	.open = fde_open,
	.lookup = fde_lookup,
	.free = fde_free,
};
