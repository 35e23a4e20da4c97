/* SPDX-License-Identifier: MIT */
/*
 * Debug files from servers, by debuginfod's client, in a process of its own that has none of our
 * privileges: it is the only part that talks to a network.
 */
#ifndef PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FETCH_H
#define PROF_SYMBOLIZE_DEBUGINFO_DEBUG_FETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/identity.h"
#include "lib/profile/modules.h"

/* The descriptor on which the process that is started finds its requests. */
#define DEBUG_FETCH_FD 3

struct debug_fetcher;

struct debug_fetcher_options {
	/* The program and arguments whose main() calls debug_fetch_serve(); NULL-terminated. */
	const char *const *command;
	int socket; /* command is NULL: to one that runs already, taken over */
	const struct identity *owner; /* who that process is to be; NULL: who we are */
	const char *home; /* of the owner; NULL: as the environment says */
	uint64_t limit_ns; /* all downloads together; 0: none */
	/*
	 * Some times a second while something is downloaded: bytes done and to do (0: unknown).
	 * True: stop, and download nothing more. Never from two threads at a time.
	 */
	bool (*progress)(void *ctx, const char *path, uint64_t done, uint64_t size);
	void *ctx;
};

/* Nothing is started before the first file is asked for. What options point to is borrowed. */
struct debug_fetcher *debug_fetcher_new(const struct debug_fetcher_options *options);
/* Ends the process. NULL is fine. */
void debug_fetcher_free(struct debug_fetcher *f);

/*
 * Runs the command of these options alone, for a debug_fetcher of another process. 0, or a negative
 * errno; the caller kills and collects it.
 */
int debug_fetch_run(const struct debug_fetcher_options *options, pid_t *pid, int *socket);

/*
 * The file for a build id (hexadecimal), a new descriptor; or -1 and why: SYMBOLS_NO_DEBUG_FILE
 * where no server has it, SYMBOLS_DOWNLOAD_FAILED or _TIMEOUT. `path` is for the progress. One file
 * at a time: other threads wait.
 */
int debug_fetch(struct debug_fetcher *f, const char *build_id, const char *path,
		enum symbol_reason *reason);

/* The other side: answers until nobody is there to ask. The exit status. */
int debug_fetch_serve(void);

#endif
