/* SPDX-License-Identifier: MIT */
/* Sends a window, which is a profile, to an engine, and judges what came of it. */
#ifndef PROF_CMD_RUN_WINDOW_SEND_H
#define PROF_CMD_RUN_WINDOW_SEND_H

#include "lib/fleet/engine.h"
#include "lib/fleet/outbox.h"
#include "lib/fleet/push.h"

enum window_fate {
	WINDOW_SENT, /* the engine has it, as far as it wants it */
	WINDOW_LATER, /* it is to be sent again */
	WINDOW_REFUSED, /* it never will be taken */
};

struct window_send {
	const char *host, *service, *fallback; /* the last two as in fleet_origin, or "" */
	size_t max_series;
	const char *const *labels; /* "key=value", NULL-terminated */
	size_t request_bytes; /* learnt from refusals; 0: the default */
};

/*
 * `fd` has the profile. *status is that of the latest answer, 0 without one, which the engine's
 * send() sets. err says what failed, and with WINDOW_SENT what was refused.
 */
enum window_fate window_send(struct window_send *s, const struct engine *e, int fd,
			     const struct outbox_row *row, const int *status,
			     struct fleet_pushed *pushed, struct error *err);

#endif
