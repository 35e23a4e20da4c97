/* SPDX-License-Identifier: MIT */
/*
 * A socket in the file system on which a recording answers requests of its owner and of root: one
 * line of JSON each, see prof-control(7). Requests come from anybody who may connect, so lines are
 * bounded, and who does not read answers is dropped.
 */
#ifndef PROF_CMD_ELEVATE_CONTROL_SOCKET_H
#define PROF_CMD_ELEVATE_CONTROL_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "lib/base/identity.h"

/* Connections at a time; the one that has been silent longest makes room for another. */
#define CONTROL_CLIENTS_MAX 32
/* Bytes of a line, with its end. */
#define CONTROL_LINE_MAX 4096
/* Environment variable with the socket's path, for the recorded program. */
#define CONTROL_VARIABLE "PROF_CONTROL"

struct control_client {
	int fd;
	size_t used; /* bytes in `line` */
	char *line; /* CONTROL_LINE_MAX bytes */
};

struct control_socket {
	int fd; /* -1: nobody can connect */
	int folder; /* of the socket; -1: it is another process's to remove */
	char *name, *path;
	uid_t owner;
	size_t client_count;
	struct control_client clients[CONTROL_CLIENTS_MAX]; /* the one silent longest first */
};

#define CONTROL_SOCKET_INIT ((struct control_socket){.fd = -1, .folder = -1})

/*
 * Listens on PID.sock in the runtime folder of that user. False: there is no such folder, or it is
 * not the user's alone; signals remain.
 */
bool control_socket_listen(struct control_socket *s, pid_t pid, const struct identity *owner);
/* Takes over a listening socket that belongs to another process. */
void control_socket_adopt(struct control_socket *s, int fd, const struct identity *owner);

/*
 * Answers a request. Returns a new object, to which "ok" is added unless it has an "error"; -EPROTO
 * and the like never happen here: the request is an object with a text "command".
 */
typedef json_t *control_answer_fn(void *ctx, const char *command, const json_t *request);

/*
 * Accepts, reads and answers without waiting. added() and removed() report descriptors that become
 * readable when there is work.
 */
struct control_hooks {
	control_answer_fn *answer;
	void (*added)(void *ctx, int fd);
	void *ctx;
};
void control_socket_poll(struct control_socket *s, const struct control_hooks *hooks);
/* Closes all, and removes the socket. */
void control_socket_close(struct control_socket *s);

/* Makes the answer to one line, which the caller frees with free(). For tests, too. */
char *control_answer_line(const char *line, size_t size, control_answer_fn *answer, void *ctx);

/*
 * Returns the folder of that user's sockets as a descriptor, -1: none that is safe. `creates`: it
 * is made if it is not there. *path gets its name, from malloc(), unless NULL.
 */
int control_folder_open(const struct identity *owner, bool creates, char **path);

#endif
