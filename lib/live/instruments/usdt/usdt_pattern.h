/* SPDX-License-Identifier: MIT */
/*
 * Reads what --usdt asks for: PROVIDER:NAME[=LABEL]. Provider and name are globs. In the label,
 * "%d", "%x" and "%s" stand for an argument each, in their order, or that of a number: "%2$s" is
 * the second, read as the address of a text. "%%" is a percent sign.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_USDT_USDT_PATTERN_H
#define PROF_LIB_LIVE_INSTRUMENTS_USDT_USDT_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

struct usdt_pattern {
	char provider[64], name[128];
	const char *text; /* the whole, as it was asked for; borrowed */
	const char *label; /* in it; NULL: none */
	/* Bits of arguments. */
	uint16_t texts, hexadecimals;
};

/* Returns 0, or -EINVAL with err. Borrows the text. */
int usdt_pattern_parse(struct usdt_pattern *p, const char *text, struct error *err);
bool usdt_pattern_matches(const struct usdt_pattern *p, const char *provider, const char *name);
/*
 * Appends the name of markers: what the label begins with, up to its first argument; by default
 * PROVIDER:NAME.
 */
void usdt_pattern_print_name(const struct usdt_pattern *p, const char *provider, const char *name,
			     struct strbuf *out);
/* Appends the label of a schema, in which fields stand for the arguments, of `count` ones. */
void usdt_pattern_print_label(const struct usdt_pattern *p, uint32_t count, struct strbuf *out);

#endif
