/* SPDX-License-Identifier: MIT */
/*
 * Files of recorded processes with requested probes, and the probes' locations. A file is
 * identified by its inode, so that nothing is attached twice.
 */
#pragma once

#include "bpf/config.h"
#include "lib/base/base.h"
#include "lib/live/bpf/uprobe.h"
#include "lib/live/process/user_budget.h"

/*
 * Parses the argument of --usdt: PROVIDER:NAME[=LABEL]. Provider and name are globs. In the label,
 * "%d", "%x" and "%s" each stand for the next argument, or for a numbered one: "%2$s" is the
 * second, read as the address of a string. "%%" is a percent sign.
 */

struct usdt_pattern {
	char provider[64], name[128];
	const char *text; /* whole value of --usdt; borrowed */
	const char *label; /* part of the text; NULL: none */
	/* A bit per argument. */
	uint16_t texts, hexadecimals;
};

/* Returns 0, or -EINVAL with err. Borrows the text. */
int usdt_pattern_parse(struct usdt_pattern *p, const char *text, struct error *err);
bool usdt_pattern_matches(const struct usdt_pattern *p, const char *provider, const char *name);
/*
 * Appends the name of markers: the label up to its first argument, or PROVIDER:NAME if that is
 * empty.
 */
void usdt_pattern_print_name(const struct usdt_pattern *p, const char *provider, const char *name,
			     struct strbuf *out);
/* Appends the label of a schema, with fields in place of the `count` arguments. */
void usdt_pattern_print_label(const struct usdt_pattern *p, uint32_t count, struct strbuf *out);

#define USDT_PATTERNS_MAX 32
#define USDT_FILES_MAX 64
#define USDT_PROBES_MAX 2048

struct usdt_settings {
	struct usdt_pattern patterns[USDT_PATTERNS_MAX];
	uint32_t count;
};

/* Probes with the same name and number of arguments. */
struct usdt_probe {
	const struct usdt_pattern *pattern;
	char *provider, *name;
	uint32_t argument_count;
	uint32_t schema; /* for use by the owner */
	bool has_schema;
};

struct usdt_file {
	int fd;
	dev_t device;
	ino_t inode;
	uid_t owner;
	bool is_everywhere; /* attached in all processes at once */
	VEC(struct uprobe_place) places; /* the cookie of a place is the number of its layout */
};

struct usdt_probes {
	const struct usdt_settings *settings;
	/* Finds the places in a new file. NULL: those of the probes in the settings. */
	void (*read)(struct usdt_file *file, int fd);
	VEC(struct usdt_probe) probes;
	VEC(struct usdt_file *) files; /* files with matching probes */
	VEC(struct usdt_layout) layouts;
	/* Shares of the owners of files in the rows of these tables. */
	struct user_budget probe_budget, file_budget, layout_budget;
	uint32_t met; /* a bit for each pattern that was found */
	uint64_t left_out; /* number of places without room */
};

#define NO_USDT_FILE UINT32_MAX

/* Returns the row of a file with probes, after reading a new file; NO_USDT_FILE: no probes. */
uint32_t usdt_probes_find(struct usdt_probes *p, int fd);
/* Appends the owners of files that were left out, as user_budget_list_refused() does. */
void usdt_probes_list_refused(const struct usdt_probes *p, struct strbuf *out);
void usdt_probes_release(struct usdt_probes *p);
