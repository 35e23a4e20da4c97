/* SPDX-License-Identifier: MIT */
/*
 * The process that writes a snapshot: copies the window of a capture in memory into a file next to
 * the output, and runs `prof recover` on it. It has the rights of the invoking user.
 */
#pragma once

#include "cmd/options/output_options.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"
#include "lib/stream/capture/capture_format.h"

/* The hidden command: prof __snapshot NUMBER... OUTPUT [OPTION of recover]... */
#define COMMAND_SNAPSHOT "__snapshot"

struct kept_capture {
	int fd; /* descriptor of the capture in memory */
	int copied; /* closed once all data is copied */
	struct capture_window window;
};

/*
 * Returns the command's arguments, NULL-terminated. The strings are borrowed from `output` or owned
 * by the caller, who releases them with kept_capture_free_arguments().
 */
char **kept_capture_arguments(const struct kept_capture *k, const char *path,
			      const struct output_options *output);
void kept_capture_free_arguments(char **arguments);
/* Runs the command; argv[0] is its name. Returns the exit status. */
int kept_capture_run(int argc, char **argv);

/*
 * Writes a profile even if its capture fills the disk. Without room for both, the capture is
 * removed once the profile is certain to fit without it.
 */

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
