/* SPDX-License-Identifier: MIT */
/*
 * Writes a profile even if its capture fills the disk. Without room for both, the capture is
 * removed once the profile is certain to fit without it.
 */
#pragma once

#include "cmd/options/output_options.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

struct full_disk {
	const struct output_options *output;
	const struct identity *owner;
	/* Writes the whole profile. May be called again after a failure. */
	int (*write)(void *ctx, struct outfile *out, struct error *err);
	/*
	 * Calls fstat() on the capture. Returns false if there is no capture that may be removed.
	 */
	bool (*find_capture)(void *ctx, struct stat *st);
	/* Removes the capture and closes it. */
	void (*abandon)(void *ctx);
	void *ctx;
};

/* Writes and commits `*out`, which is reopened if the first attempt fails. */
int full_disk_write(const struct full_disk *d, struct outfile **out, struct error *err);
