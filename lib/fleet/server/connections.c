/* SPDX-License-Identifier: MIT */
#include "lib/fleet/server/connections.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "lib/base/alloc.h"
#include "lib/base/vec.h"

struct connection {
	int fd;
	enum connection_state state;
	uint64_t since; /* of the state */
	bool is_down;
};

struct connections {
	pthread_mutex_t lock;
	VEC(struct connection *) rows;
};

struct connections *connections_new(void)
{
	struct connections *c = xcalloc(1, sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	return c;
}

void connections_free(struct connections *c)
{
	if (!c)
		return;
	vec_for_each(&c->rows, struct connection **, row)
		free(*row);
	vec_release(&c->rows);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The server's thread finds the end of the stream, and closes the socket. */
static void shut_down(struct connection *connection)
{
	connection->is_down = true;
	shutdown(connection->fd, SHUT_RDWR);
}

/* Is it the other end that has to go on? Bytes that nobody has read yet are the server's delay. */
static bool is_waiting(const struct connection *connection)
{
	int unread = 0;

	if (connection->is_down || connection->state == CONNECTION_ADMITTED)
		return false;
	return ioctl(connection->fd, FIONREAD, &unread) != 0 || !unread;
}

static void drop_oldest(struct connections *c)
{
	struct connection *oldest = NULL;
	size_t waiting = 0;

	vec_for_each(&c->rows, struct connection **, row) {
		if (!is_waiting(*row))
			continue;
		waiting++;
		if (!oldest || (*row)->since < oldest->since)
			oldest = *row;
	}
	if (waiting > CONNECTIONS_WAITING_MAX)
		shut_down(oldest);
}

struct connection *connections_add(struct connections *c, int fd, uint64_t now)
{
	struct connection *connection = xcalloc(1, sizeof(*connection));

	connection->fd = fd;
	connection->since = now;
	pthread_mutex_lock(&c->lock);
	vec_push(&c->rows, connection);
	drop_oldest(c);
	pthread_mutex_unlock(&c->lock);
	return connection;
}

void connections_remove(struct connections *c, struct connection *connection)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->rows.count; i++) {
		if (c->rows.items[i] != connection)
			continue;
		c->rows.items[i] = vec_last(&c->rows);
		c->rows.count--;
		break;
	}
	pthread_mutex_unlock(&c->lock);
	free(connection);
}

void connections_set(struct connections *c, struct connection *connection,
		     enum connection_state state, uint64_t now)
{
	pthread_mutex_lock(&c->lock);
	connection->state = state;
	connection->since = now;
	pthread_mutex_unlock(&c->lock);
}

void connections_evict(struct connections *c, uint64_t now)
{
	pthread_mutex_lock(&c->lock);
	vec_for_each(&c->rows, struct connection **, row) {
		if ((*row)->state == CONNECTION_HEAD && now - (*row)->since > CONNECTION_HEAD_NS &&
		    is_waiting(*row))
			shut_down(*row);
	}
	pthread_mutex_unlock(&c->lock);
}
