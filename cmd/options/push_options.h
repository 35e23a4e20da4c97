/* SPDX-License-Identifier: MIT */
/* Options of commands that send samples to engines that keep those of many machines. */
#ifndef PROF_CMD_OPTIONS_PUSH_OPTIONS_H
#define PROF_CMD_OPTIONS_PUSH_OPTIONS_H

#include <stdint.h>

#include "cmd/options/option_table.h"
#include "lib/base/error.h"
#include "lib/base/vec.h"

struct push_options {
	VEC(const char *) urls; /* of windows; none: nothing is sent */
	const char *service; /* NULL: of windows, each process has its own */
	const char *fallback; /* of processes that name none; NULL: what is known of them */
	const char *host; /* NULL: this machine's name */
	uint32_t max_series; /* services, containers and programs in a window; 0: the default */
	VEC(const char *) labels; /* "key=value", NULL-terminated after push_options_check() */
	uint64_t every_ns; /* length of a window */
	uint64_t retry_ns; /* the first wait after a failure */
	const char *spool_dir; /* folder where windows wait; NULL: memory */
	const char *status_path; /* NULL: none */
	int alive_fd; /* gets a byte each second while it records; -1: none */
};

/* Rows whose values go into push_options: who sends, and what is sent while it is recorded. */
extern const struct option_row push_options_who[], push_options_windows[];
/* The latter's rules, where there is an option --push. */
extern const struct option_rule push_options_rules[];

void push_options_init(struct push_options *o);
void push_options_release(struct push_options *o);
/* Call after the last option: refuses addresses that are wrong. -EINVAL with err. */
int push_options_check(struct push_options *o, struct error *err);

#endif
