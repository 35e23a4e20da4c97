/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Masks secrets in command lines as "***", by names, and when in doubt:
 *
 *	--password=x --api-key x -DTOKEN=x PGPASSWORD=x	named password, token, secret or key
 *	Authorization: Bearer x				headers named so
 *	https://user:x@host				in URLs
 *	mysql -px, curl -u user:x			options of known programs
 */
/* clang-format on */
#pragma once

#include "lib/base/base.h"

/*
 * Appends the arguments in `list` (`size` bytes; each terminated, except perhaps the last) to
 * `out`, each terminated. `is_cut`: the last one may be incomplete.
 */
void secrets_mask(struct strbuf *out, const char *list, size_t size, bool is_cut);
