/* SPDX-License-Identifier: MIT */
/*
 * Sends requests to an engine from a separate unprivileged process, the only one that uses the
 * network. The process runs prof-view, which links the network library.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/fleet/engine.h"

/* The argument that makes prof-view serve a request. */
#define REQUEST_PROCESS "__request"

/* An engine_send_fn; ctx is not used. */
int request_process_send(void *ctx, const struct engine_request *request, struct strbuf *answer,
			 struct error *err);

/*
 * Protocol: the process reads a request from standard input: the URL, TLS files (or empty strings),
 * the timeout in ns, "grpc" or an empty string, headers and an empty string, each terminated, then
 * the body. It writes the status as int32_t, then the answer; or a negative errno, then the error
 * message.
 */
struct request_message {
	const char *url;
	const char *tls_files[FLEET_TLS_COUNT];
	uint64_t timeout_ns;
	bool is_grpc;
	VEC(const char *) headers; /* NULL-terminated; the terminator is not counted */
	const char *body;
	size_t size;
};

/* Writes all bytes. Returns false with errno set on failure. */
bool request_write(int fd, const void *data, size_t size);
/* Writes a terminated string; NULL is "". */
bool request_write_text(int fd, const char *text);

/* Borrows the text, which is terminated. False if it is not a valid request. */
bool request_message_read(struct request_message *m, const char *text, size_t size);

/*
 * Messages about windows of a running recording, between its processes: recorder ─► converter ─►
 * one pusher per engine. Sockets are SOCK_SEQPACKET. A receiver peeks at a message, answers it, and
 * only then removes it, so that another process can take over.
 */

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
