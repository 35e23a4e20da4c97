/* SPDX-License-Identifier: MIT */
/*
 * The downloading side of debug_fetch.h. The library depends on a dozen others, so only this
 * process loads it. It is not linked, because prof also runs without it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "symbolize/debuginfo/debug_fetch.h"
#include "symbolize/debuginfo/debug_fetch_wire.h"

#define LIBRARY "libdebuginfod.so.1"

/* The library's interface, from elfutils/debuginfod.h. */
struct debuginfod_client;
typedef int progress_fn(struct debuginfod_client *client, long done, long size);

struct library {
	struct debuginfod_client *client;
	int (*find)(struct debuginfod_client *client, const unsigned char *build_id, int size,
		    char **path);
	int (*find_executable)(struct debuginfod_client *client, const unsigned char *build_id,
			       int size, char **path);
	int (*find_source)(struct debuginfod_client *client, const unsigned char *build_id,
			   int size, const char *source, char **path);
};

static int send_answer(const struct fetch_answer *answer, int fd)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {(void *)answer, sizeof(*answer)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	return sendmsg(DEBUG_FETCH_FD, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* Tells the server that has begun to send; the library's own, NULL if it is too old. */
static const char *(*get_url)(struct debuginfod_client *client);

/*
 * Called a few times a second; anything but 0 ends the download. `done` are the bytes of a file
 * that has begun to come, and else a number of calls.
 */
static int on_progress(struct debuginfod_client *client, long done, long size)
{
	bool has_begun = !get_url || get_url(client);
	const struct fetch_answer answer = {
		.kind = FETCH_PROGRESS,
		.done = has_begun && done > 0 ? (uint64_t)done : 0,
		.size = size > 0 ? (uint64_t)size : 0,
	};

	return send_answer(&answer, -1);
}

bool debug_fetch_is_installed(void)
{
	void *handle = dlopen(LIBRARY, RTLD_LAZY);

	if (handle)
		dlclose(handle);
	return handle;
}

static int load(struct library *library, char *why, size_t room)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW);
	struct debuginfod_client *(*begin)(void);
	void (*set_progress)(struct debuginfod_client *, progress_fn *);

	if (!handle) {
		snprintf(why, room,
			 "DEBUGINFOD_URLS is set, but %s is missing: install libdebuginfod1",
			 LIBRARY);
		return -ENOSYS;
	}
	*(void **)&begin = dlsym(handle, "debuginfod_begin");
	*(void **)&set_progress = dlsym(handle, "debuginfod_set_progressfn");
	*(void **)&get_url = dlsym(handle, "debuginfod_get_url");
	*(void **)&library->find = dlsym(handle, "debuginfod_find_debuginfo");
	*(void **)&library->find_executable = dlsym(handle, "debuginfod_find_executable");
	*(void **)&library->find_source = dlsym(handle, "debuginfod_find_source");
	if (!begin || !set_progress || !library->find || !library->find_executable ||
	    !library->find_source)
		return -ENOSYS;
	library->client = begin();
	if (!library->client)
		return -ENOMEM;
	set_progress(library->client, on_progress);
	return 0;
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Build ids are hexadecimal text, of size 0. Changes the request. */
static int find(const struct library *library, char *request, char **path)
{
	if (begins_with(request, FETCH_EXECUTABLE))
		return library->find_executable(
			library->client, (const unsigned char *)request + strlen(FETCH_EXECUTABLE),
			0, path);
	if (begins_with(request, FETCH_SOURCE)) {
		char *id = request + strlen(FETCH_SOURCE), *source = strchr(id, ' ');

		if (!source)
			return -EINVAL;
		*source++ = '\0';
		return library->find_source(library->client, (const unsigned char *)id, 0, source,
					    path);
	}
	return library->find(library->client, (const unsigned char *)request, 0, path);
}

static int answer_request(struct library *library, char *request)
{
	struct fetch_answer answer = {.kind = FETCH_FAILED};
	char *path = NULL;
	int fd = -1;

	if (!library->client)
		answer.code = load(library, answer.text, sizeof(answer.text));
	if (library->client) {
		fd = find(library, request, &path);
		answer.code = fd < 0 ? fd : 0;
		answer.kind = fd < 0 ? FETCH_FAILED : FETCH_DONE;
		free(path);
	}
	return send_answer(&answer, fd) || (fd >= 0 && close(fd));
}

int debug_fetch_serve(void)
{
	struct library library = {0};
	char request[FETCH_REQUEST_MAX + 1];

	for (;;) {
		ssize_t n = recv(DEBUG_FETCH_FD, request, sizeof(request) - 1, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? 1 : 0;
		request[n] = '\0';
		if (answer_request(&library, request))
			return 1;
	}
}
