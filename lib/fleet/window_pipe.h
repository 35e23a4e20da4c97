/* SPDX-License-Identifier: MIT */
/*
 * Messages about windows of a recording that goes on, between the processes that record it, name it
 * and send it: recorder ─► converter ─► a pusher for each engine. Sockets of the kind
 * SOCK_SEQPACKET: who gets a message looks at it, answers, and only then takes it, so that another
 * one can take over.
 */
#ifndef PROF_LIB_FLEET_WINDOW_PIPE_H
#define PROF_LIB_FLEET_WINDOW_PIPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The argument that makes prof-view a pusher. */
#define PUSH_PROCESS "__push"

/* A window on its way to an engine: a profile, whose descriptor comes with the message. */
struct push_job {
	uint64_t id; /* when it began, since the Unix epoch, ns; 0: a question for the report */
	uint64_t samples;
	uint64_t lost; /* samples lost before it that it does not say of itself */
};

/* A pusher's answer; what it counts begins with the process. */
struct push_report {
	uint64_t id; /* of the job */
	uint64_t sent_windows, sent_samples;
	uint64_t lost_windows, lost_samples; /* refused, or given up for lack of room */
	uint64_t refused_profiles; /* of those sent, by a collector that took a part */
	uint64_t waiting_windows, waiting_bytes;
	uint64_t failures; /* requests in a row */
	char words[200]; /* why the last one failed; "": it did not */
};

/* Makes a pair of sockets. 0 or a negative errno. */
int window_pipe_new(int ends[2]);
/* Sends a message with a descriptor; -1: without. 0 or a negative errno. */
int window_pipe_send(int socket, const void *message, size_t size, int fd);
/*
 * Waits for a message of that size and leaves it there. *fd, the caller's, is the descriptor that
 * came with it, or -1; NULL: none is expected. 1; 0: the other side has ended; or a negative errno.
 */
int window_pipe_peek(int socket, void *message, size_t size, int *fd);
/* Takes the message that was looked at. */
void window_pipe_take(int socket);

#endif
