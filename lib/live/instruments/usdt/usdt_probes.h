/* SPDX-License-Identifier: MIT */
/*
 * The files of recorded processes that have probes that somebody wants, and where these are. A file
 * is known by its inode: one on which nothing is attached twice.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_USDT_USDT_PROBES_H
#define PROF_LIB_LIVE_INSTRUMENTS_USDT_USDT_PROBES_H

#include <stdint.h>
#include <sys/types.h>

#include "bpf/config.h"
#include "lib/base/vec.h"
#include "lib/live/bpf/uprobe.h"
#include "lib/live/instruments/usdt/usdt_pattern.h"

#define USDT_PATTERNS_MAX 32
#define USDT_FILES_MAX 64
#define USDT_PROBES_MAX 1024

struct usdt_settings {
	struct usdt_pattern patterns[USDT_PATTERNS_MAX];
	uint32_t count;
};

/* Probes of one name, with as many arguments. */
struct usdt_probe {
	const struct usdt_pattern *pattern;
	char *provider, *name;
	uint32_t argument_count;
	uint32_t schema; /* the owner's */
	bool has_schema;
};

struct usdt_file {
	int fd;
	dev_t device;
	ino_t inode;
	bool is_everywhere; /* attached to in all processes */
	VEC(struct uprobe_place) places; /* a cookie is the number of a layout */
};

struct usdt_probes {
	const struct usdt_settings *settings;
	/* Finds the places in a new file. NULL: the probes that the settings ask for. */
	void (*read)(struct usdt_file *file, int fd);
	VEC(struct usdt_probe) probes;
	VEC(struct usdt_file *) files; /* only files that have such probes */
	VEC(struct usdt_layout) layouts;
	uint32_t met; /* a bit for each pattern */
	uint64_t left_out; /* places for which there was no room */
};

#define NO_USDT_FILE UINT32_MAX

/* Returns the row of a file that has probes, which is read if it is new; NO_USDT_FILE: it has none.
 */
uint32_t usdt_probes_find(struct usdt_probes *p, int fd);
void usdt_probes_release(struct usdt_probes *p);

#endif
