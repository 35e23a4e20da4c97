/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Masks in command lines what others must not read. A guess by names, in favour of masking: what
 * follows is "***".
 *
 *	--password=x --api-key x -DTOKEN=x PGPASSWORD=x	whose name says password, token, secret or key
 *	Authorization: Bearer x				likewise, and of headers
 *	https://user:x@host				in URLs
 *	mysql -px, curl -u user:x			of programs that are known for it
 */
/* clang-format on */
#ifndef PROF_LIB_BASE_SECRETS_H
#define PROF_LIB_BASE_SECRETS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"

/*
 * Appends the arguments in `list` (`size` bytes; each terminated, except perhaps the last) to
 * `out`, each terminated. `is_cut`: the last one may be incomplete.
 */
void secrets_mask(struct strbuf *out, const char *list, size_t size, bool is_cut);

#endif
