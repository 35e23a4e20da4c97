/* SPDX-License-Identifier: MIT */
/*
 * Messages about windows of a running recording, between its processes: recorder ─► converter ─►
 * one pusher per engine. Sockets are SOCK_SEQPACKET. A receiver peeks at a message, answers it, and
 * only then removes it, so that another process can take over.
 */
#pragma once

#include "lib/base/base.h"

/* The argument that makes prof-view a pusher. */
#define PUSH_PROCESS "__push"

/* A window on its way to an engine: a profile, whose descriptor comes with the message. */
struct push_job {
	/* Start of the window in ns since the Unix epoch; 0: only requests a report. */
	uint64_t id;
	uint64_t samples;
	uint64_t lost; /* samples lost before the window and not counted in the profile */
};

/* A pusher's answer; counts start with the process. */
struct push_report {
	uint64_t id; /* id of the window */
	uint64_t sent_windows, sent_samples;
	/* Samples rejected by the engine, or dropped for lack of room. */
	uint64_t lost_windows, lost_samples;
	uint64_t refused_profiles; /* profiles rejected by a collector that accepted others */
	uint64_t waiting_windows, waiting_bytes;
	uint64_t failures; /* consecutive failed requests */
	char words[200]; /* reason for the last failure; "": none */
};

/* Makes a pair of sockets. Returns 0 or a negative errno. */
int window_pipe_new(int ends[2]);
/* Sends a message with a descriptor; fd -1: none. Returns 0 or a negative errno. */
int window_pipe_send(int socket, const void *message, size_t size, int fd);
/*
 * Waits for a message of `size` bytes and leaves it in the socket. *fd, owned by the caller,
 * receives its descriptor or -1; NULL: none is expected. Returns 1, 0 if the other side has ended,
 * or a negative errno.
 */
int window_pipe_peek(int socket, void *message, size_t size, int *fd);
/* Removes the message last peeked at. */
void window_pipe_take(int socket);
