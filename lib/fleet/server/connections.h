/* SPDX-License-Identifier: MIT */
/*
 * Connections of a server, so that nobody is shut out by others who hold them: one without the head
 * of a request ends after some seconds, and the oldest of these as soon as there are many.
 */
#ifndef PROF_LIB_FLEET_SERVER_CONNECTIONS_H
#define PROF_LIB_FLEET_SERVER_CONNECTIONS_H

#include <stdint.h>

/* Time for the head of a request. */
#define CONNECTION_HEAD_NS 5000000000ull
/* Connections at a time whose request has not been admitted. */
#define CONNECTIONS_WAITING_MAX 128

enum connection_state {
	CONNECTION_HEAD, /* waits for the head of a request */
	CONNECTION_ADMITTED, /* its head was accepted or refused: takes as long as it takes */
	CONNECTION_IDLE, /* has had its answer, and may send another request */
};

struct connections;
struct connection;

struct connections *connections_new(void);
/* NULL is fine. All connections have been removed. */
void connections_free(struct connections *c);
/*
 * Adds a socket, which is borrowed until connections_remove(). Shuts down the oldest one that
 * waits if there are too many.
 */
struct connection *connections_add(struct connections *c, int fd, uint64_t now);
void connections_remove(struct connections *c, struct connection *connection);
void connections_set(struct connections *c, struct connection *connection,
		     enum connection_state state, uint64_t now);
/* Shuts down those that have waited for too long; call several times a second. */
void connections_evict(struct connections *c, uint64_t now);

#endif
