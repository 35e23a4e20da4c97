/* SPDX-License-Identifier: MIT */
/*
 * Messages between the two halves of an elevated recording. The caller is the prof that a
 * user without privileges started: it forks the command and stays. The helper is the same program,
 * started by it through sudo: it records and writes. Between them is one SEQPACKET socket, the
 * helper's standard input:
 *
 *	helper                              caller
 *	HELLO    it runs as root      ──►
 *	                              ◄──   START     with the descriptors
 *	READY    all is armed         ──►
 *	                              ◄──   EXECUTED  the command, or the reason for the failure
 *	                              ◄──   SIGNAL    a signal arrived; any number of them
 *	                              ◄──   ENDED     the command, with its status
 *	DONE     the exit status      ──►
 *
 * At end of file, the helper ends the recording and writes; for the caller, it means that the
 * helper died. Without a command, there is no READY, EXECUTED or ENDED.
 */
#pragma once

#include <signal.h>

#include "cmd/options/live_options.h"
#include "lib/base/base.h"
#include "lib/base/identity.h"
#include "lib/base/outfile.h"

/* Name under which prof starts as a helper, before the command and options; not for users. */
#define COMMAND_HELPER "--record-for-front-end"

enum elevation_kind {
	ELEVATION_HELLO = 1,
	ELEVATION_START, /* value: set of descriptors sent, as bits 1 << enum elevation_fd */
	ELEVATION_READY,
	ELEVATION_EXECUTED, /* value: 0, or a negative errno with text */
	ELEVATION_SIGNAL, /* value: signal number */
	ELEVATION_ENDED, /* value: wait status; cpu_ns */
	ELEVATION_DONE, /* value: exit status of prof */
	ELEVATION_FORK, /* value: number of the variant to fork; its command waits */
	ELEVATION_FORKED, /* value: as for START; text: reason for a failure */
};

/* Descriptors in the order in which they are sent. */
enum elevation_fd {
	ELEVATION_STDERR,
	ELEVATION_STDOUT,
	ELEVATION_FOLDER, /* working directory */
	ELEVATION_COMMAND, /* pidfd of the waiting command; with --iterations, sent per run */
	ELEVATION_READY_FD, /* descriptor of --ready-fd */
	ELEVATION_FETCHER, /* socket of the process that downloads debug files */
	ELEVATION_CONTROL, /* listening control socket */
	ELEVATION_CONTROL_FD, /* descriptors of --control-fd */
	ELEVATION_ACK_FD,
	ELEVATION_FD_COUNT,
};

struct elevation_message {
	uint32_t kind;
	int32_t value;
	uint32_t from_terminal; /* for SIGNAL */
	uint32_t reserved;
	uint64_t cpu_ns; /* for ENDED: child_cpu_ns() */
	char text[512]; /* for EXECUTED and FORKED; NUL-terminated */
};

/*
 * Sends a message. fds: by enum elevation_fd, -1 for missing ones; NULL: none at all. Returns 0 or
 * a negative errno.
 */
int elevation_send(int socket, struct elevation_message *message, const int *fds);
/*
 * Returns 0 or a negative errno: -EAGAIN if the socket is non-blocking and has no message, -EPIPE
 * at the end of file, -EPROTO for a malformed message. fds (ELEVATION_FD_COUNT of them) get new
 * descriptors, -1 for those not sent; NULL: none may be sent.
 */
int elevation_receive(int socket, struct elevation_message *message, int *fds);

struct pipeline_options;

/*
 * Records for a user without privileges through a helper started by sudo. Replaces pipeline_run()
 * if privileges_are_missing(). Returns the exit status.
 */
int elevate_run(const struct pipeline_options *options);

/*
 * Reads SIGINT, SIGTERM, SIGHUP and SIGQUIT, and the requests SIGUSR1 and SIGUSR2, as events. Works
 * even if prof was started with SIGINT ignored, as a shell does for background jobs.
 */

struct signal_event {
	int signal;
	bool from_terminal; /* from the terminal, so the command received the signal as well */
};

struct signals {
	int fd; /* readable when a signal has arrived */
	/* State at the start of prof, restored for the command. */
	sigset_t inherited_mask, inherited_ignored;
	int last_signal; /* last signal with its sender and time */
	pid_t last_sender;
	uint64_t last_ns;
	/* Returns signals that another process received for this one; NULL: none. */
	bool (*next_elsewhere)(void *ctx, struct signal_event *event);
	void *ctx;
};

/* True for signals that request something without ending the recording. */
static inline bool signal_is_request(int number)
{
	return number == SIGUSR1 || number == SIGUSR2;
}

/* Ignores SIGPIPE and SIGXFSZ from now on. The signals above arrive only as events. */
int signals_init(struct signals *s, struct error *err);
/*
 * Stores the next signal; false if there is none. Immediate repetition by the same sender counts
 * once: timeout(1) signals first the process and then its whole group.
 */
bool signals_next(struct signals *s, struct signal_event *event);
/* Restores the signals before another program is executed. */
void signals_restore(const struct signals *s);
/* Leaves the signals' dispositions unchanged. */
void signals_release(struct signals *s);

/* Reports to a script that recording has begun: --ready-fd and --ready-file. */

struct ready {
	int fd; /* -1: none, or already written */
	struct outfile *file; /* NULL: none, or already written */
};

/* Returns -EBADF if the descriptor of --ready-fd is not writable. */
int ready_check(const struct live_options *options, struct error *err);
/*
 * Opens early, so that errors come early. Takes ownership of the descriptor and makes it close-on-
 * exec.
 */
int ready_open(struct ready *r, const struct live_options *options, struct identity owner,
	       struct error *err);
/* Writes "ready" and closes. It is not an error if the reader has closed its end. */
int ready_say(struct ready *r, struct error *err);
void ready_release(struct ready *r);
