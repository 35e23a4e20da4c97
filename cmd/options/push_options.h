/* SPDX-License-Identifier: MIT */
/* Options of commands that send samples to engines, which store those of many machines. */
#pragma once

#include "cmd/options/option_table.h"

struct push_options {
	VEC(const char *) urls; /* engines to send windows to; empty: none */
	const char *service; /* service of all processes; NULL: each process has its own */
	/* Service of processes that name none; NULL: derived from other facts. */
	const char *fallback;
	const char *host; /* NULL: the host name */
	uint32_t max_series; /* maximum number of services, containers and programs per window; 0:
				the default */
	VEC(const char *) labels; /* "key=value", NULL-terminated after push_options_check() */
	uint64_t every_ns; /* length of a window */
	uint64_t retry_ns; /* delay after the first failure */
	const char *spool_dir; /* folder for queued windows; NULL: keep them in memory */
	const char *status_path; /* NULL: not requested */
	int alive_fd; /* descriptor that receives a byte each second while recording; -1: none */
};

/*
 * Rows whose values are stored in push_options: options about the sender, and about pushing during
 * a recording.
 */
extern const struct option_row push_options_who[], push_options_windows[];
/* Rules for push_options_windows, for commands with --push. */
extern const struct option_rule push_options_rules[];

void push_options_init(struct push_options *o);
void push_options_release(struct push_options *o);
/* Call after the last option. -EINVAL with err for invalid addresses. */
int push_options_check(struct push_options *o, struct error *err);
