/* SPDX-License-Identifier: MIT */
/* Options of commands that send samples to engines, which store those of many machines. */
#ifndef PROF_CMD_OPTIONS_PUSH_OPTIONS_H
#define PROF_CMD_OPTIONS_PUSH_OPTIONS_H

#include <stdint.h>

#include "cmd/options/option_table.h"
#include "lib/base/error.h"
#include "lib/base/vec.h"

struct push_options {
	VEC(const char *) urls; /* for windows; none: nothing is sent */
	const char *service; /* NULL: each process in a window has its own */
	const char *fallback; /* for processes that name none; NULL: derived from other facts */
	const char *host; /* NULL: the host name */
	uint32_t max_series; /* services, containers and programs a window; 0: the default */
	VEC(const char *) labels; /* "key=value", NULL-terminated after push_options_check() */
	uint64_t every_ns; /* length of a window */
	uint64_t retry_ns; /* the first wait after a failure */
	const char *spool_dir; /* folder of queued windows; NULL: memory */
	const char *status_path; /* NULL: none */
	int alive_fd; /* gets a byte each second while recording; -1: none */
};

/* Rows whose values go into push_options: the sender, and what is sent during a recording. */
extern const struct option_row push_options_who[], push_options_windows[];
/* Rules of push_options_windows, for commands with --push. */
extern const struct option_rule push_options_rules[];

void push_options_init(struct push_options *o);
void push_options_release(struct push_options *o);
/* Call after the last option. -EINVAL with err for invalid addresses. */
int push_options_check(struct push_options *o, struct error *err);

#endif
