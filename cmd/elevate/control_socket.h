/* SPDX-License-Identifier: MIT */
/*
 * A Unix socket through which a recording answers requests of its owner and of root: one line of
 * JSON each, see prof-control(7). Any user may be able to connect, so lines are bounded, and
 * clients that do not read their answers are disconnected.
 */
#pragma once

#include <jansson.h>

#include "lib/base/identity.h"

/* Maximum number of connections. A further one replaces the client that has been silent longest. */
#define CONTROL_CLIENTS_MAX 32
/* Maximum size of a line in bytes, including its end. */
#define CONTROL_LINE_MAX 4096
/* Environment variable with the socket's path, for the recorded program. */
#define CONTROL_VARIABLE "PROF_CONTROL"

struct control_client {
	int fd;
	size_t used; /* number of bytes in `line` */
	char *line; /* buffer of CONTROL_LINE_MAX bytes */
};

struct control_socket {
	int fd; /* -1: not listening */
	int folder; /* folder of the socket; -1: a different process removes the socket */
	char *name, *path;
	uid_t owner;
	size_t client_count;
	struct control_client clients[CONTROL_CLIENTS_MAX]; /* longest silent client first */
};

#define CONTROL_SOCKET_INIT ((struct control_socket){.fd = -1, .folder = -1})

/*
 * Listens on PID.sock in the runtime folder of that user. Returns false if there is no such folder
 * or others can access it; signals still work then.
 */
bool control_socket_listen(struct control_socket *s, pid_t pid, const struct identity *owner);
/* Takes over a listening socket that belongs to another process. */
void control_socket_adopt(struct control_socket *s, int fd, const struct identity *owner);

/*
 * Answers a request, an object with a string "command". Returns a new object, to which "ok" is
 * added unless it has "error".
 */
typedef json_t *control_answer_fn(void *ctx, const char *command, const json_t *request);

/* added() receives each new descriptor, which is readable when control_socket_poll() has work. */
struct control_hooks {
	control_answer_fn *answer;
	void (*added)(void *ctx, int fd);
	void *ctx;
};
/* Accepts, reads and answers without blocking. */
void control_socket_poll(struct control_socket *s, const struct control_hooks *hooks);
/* Closes everything and removes the socket. */
void control_socket_close(struct control_socket *s);

/* Returns the answer to one line, to be freed with free(). Exported for tests. */
char *control_answer_line(const char *line, size_t size, control_answer_fn *answer, void *ctx);

/*
 * Opens the folder for that user's sockets. Returns a descriptor, -1 if no folder is safe.
 * `creates`: create a missing folder. *path gets its name, from malloc(), unless NULL.
 */
int control_folder_open(const struct identity *owner, bool creates, char **path);
