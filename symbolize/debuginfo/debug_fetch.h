/* SPDX-License-Identifier: MIT */
/*
 * Downloads debug files with debuginfod's client in a separate unprivileged process, the only one
 * that uses the network.
 */
#pragma once

#include "lib/base/identity.h"
#include "lib/model/tables/modules.h"

/*
 * The protocol between the two processes, as text. A request is a build id, for debug information;
 * "executable ID"; or "source ID PATH".
 */

#define FETCH_REQUEST_MAX 4608
#define FETCH_EXECUTABLE "executable "
#define FETCH_SOURCE "source "

enum fetch_kind { FETCH_PROGRESS, FETCH_DONE, FETCH_FAILED };

/* FETCH_DONE comes with a descriptor. */
struct fetch_answer {
	uint32_t kind;
	int32_t code; /* for FETCH_FAILED: negative errno */
	uint64_t done, size; /* for FETCH_PROGRESS: bytes; size 0: unknown */
	char text[128]; /* for FETCH_FAILED: message to show, or empty */
};

/* The descriptor on which the started process receives requests. */
#define DEBUG_FETCH_FD 3

struct debug_fetcher;

struct debug_fetcher_options {
	/* Program and arguments, NULL-terminated; its main() calls debug_fetch_serve(). */
	const char *const *command;
	int socket; /* if command is NULL: socket to a running process; ownership is taken */
	const struct identity *owner; /* user to run the command as; NULL: the current user */
	const char *home; /* home folder of the owner; NULL: from the environment */
	uint64_t limit_ns; /* time limit for all downloads together; 0: none */
	uint64_t stall_ns; /* time limit for a download without progress; 0: none */
	/*
	 * Called a few times a second during a download, with bytes done and in total (0: unknown).
	 * True cancels it and all later downloads. Calls never overlap.
	 */
	bool (*progress)(void *ctx, const char *path, uint64_t done, uint64_t size);
	void *ctx;
};

/* Starts no process before the first request. Borrows everything that `options` points to. */
struct debug_fetcher *debug_fetcher_new(const struct debug_fetcher_options *options);
/* Ends the process. Accepts NULL. */
void debug_fetcher_free(struct debug_fetcher *f);

/*
 * True if debuginfod's client is installed on this machine. Loads it, so not for a process with
 * privileges.
 */
bool debug_fetch_is_installed(void);

/*
 * Only runs the command of these options, for a debug_fetcher in a different process. Returns 0 or
 * a negative errno. The caller kills and reaps the child.
 */
int debug_fetch_run(const struct debug_fetcher_options *options, pid_t *pid, int *socket);

enum debug_fetch_kind {
	DEBUG_FETCH_INFO,
	DEBUG_FETCH_EXECUTABLE,
	DEBUG_FETCH_SOURCE,
};

struct debug_request {
	enum debug_fetch_kind kind;
	const char *build_id; /* in hexadecimal */
	const char *source; /* absolute path as in the debug information; NULL: not a source file */
	const char *path; /* path to show as progress; NULL: show the build id */
};

/*
 * Downloads the file. Returns a new descriptor, or -1 and the reason: SYMBOLS_NO_DEBUG_FILE if no
 * server has it, SYMBOLS_DOWNLOAD_FAILED or _TIMEOUT. One file at a time; other threads wait.
 */
int debug_fetch(struct debug_fetcher *f, const struct debug_request *request,
		enum symbol_reason *reason);

/* Serves requests in the downloading process until the requester exits. Returns the exit status. */
int debug_fetch_serve(void);
