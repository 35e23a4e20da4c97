/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile where the capture from which it can be made may fill the disk. If there is no
 * room for both, the capture is given up once it is certain that the profile fits without it.
 */
#ifndef PROF_CMD_RUN_FULL_DISK_H
#define PROF_CMD_RUN_FULL_DISK_H

#include <stdbool.h>
#include <sys/stat.h>

#include "cmd/options/output_options.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

struct full_disk {
	const struct output_options *output;
	const struct identity *owner;
	/* Writes all of the profile; may be called again after a failure. */
	int (*write)(void *ctx, struct outfile *out, struct error *err);
	/* Gives the capture's status. Returns false if no capture may be given up. */
	bool (*find_capture)(void *ctx, struct stat *st);
	/* Removes the capture and closes it. */
	void (*abandon)(void *ctx);
	void *ctx;
};

/* Writes and commits `*out`, which is opened anew if the first try fails. */
int full_disk_write(const struct full_disk *d, struct outfile **out, struct error *err);

#endif
