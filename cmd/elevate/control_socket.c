/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/control_socket.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/un.h>

#define BACKLOG 64

/* Ignores another user's environment. Root gets a folder even if nobody has logged in. */
static char *runtime_folder(const struct identity *owner)
{
	const char *folder = owner->is_self ? getenv("XDG_RUNTIME_DIR") : NULL;
	_cleanup_free_ char *usual = xasprintf("/run/user/%u", (unsigned int)owner->uid);

	if (folder && *folder == '/')
		return xstrdup(folder);
	if (owner->uid == 0 && access(usual, F_OK) != 0)
		return xstrdup("/run");
	return steal(usual);
}

static bool is_own_folder(int fd, uid_t owner)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == owner &&
	       !(st.st_mode & (S_IRWXG | S_IRWXO));
}

int control_folder_open(const struct identity *owner, bool creates, char **path)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	_cleanup_free_ char *runtime = runtime_folder(owner);
	struct identity before = identity_assume_files(owner);
	int parent = before.failure ? -1 : open(runtime, flags), folder = -1;

	if (parent >= 0 && creates)
		mkdirat(parent, "prof", 0700);
	if (parent >= 0)
		folder = openat(parent, "prof", flags);
	identity_restore_files(&before);
	fd_close(parent);
	if (folder >= 0 && !is_own_folder(folder, owner->uid))
		close(steal_fd(&folder));
	if (folder >= 0 && path)
		*path = xasprintf("%s/prof", runtime);
	return folder;
}

/*
 * Returns the address of a socket by its folder's descriptor, because its own path may exceed the
 * limit.
 */
static struct sockaddr_un address_of(int folder, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", folder, name);
	return address;
}

/* Removes sockets of killed recorders. */
static void remove_stale(int folder)
{
	int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = copy >= 0 ? fdopendir(copy) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		struct sockaddr_un address;
		_cleanup_close_ int fd = -1;

		if (!text_ends_with(entry->d_name, ".sock") || strlen(entry->d_name) > 32)
			continue;
		address = address_of(folder, entry->d_name);
		fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 &&
		    errno == ECONNREFUSED)
			unlinkat(folder, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	else if (copy >= 0)
		close(copy);
}

bool control_socket_listen(struct control_socket *s, pid_t pid, const struct identity *owner)
{
	_cleanup_free_ char *path = NULL;
	struct sockaddr_un address;
	struct identity before;
	bool is_bound;

	s->owner = owner->uid;
	s->folder = control_folder_open(owner, true, &path);
	if (s->folder < 0)
		return false;
	s->name = xasprintf("%d.sock", (int)pid);
	s->path = xasprintf("%s/%s", path, s->name);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	address = address_of(s->folder, s->name);
	before = identity_assume_files(owner);
	if (!before.failure)
		remove_stale(s->folder);
	is_bound = !before.failure && s->fd >= 0 &&
		   bind(s->fd, (struct sockaddr *)&address, sizeof(address)) == 0;
	identity_restore_files(&before);
	if (is_bound && listen(s->fd, BACKLOG) == 0) {
		setenv(CONTROL_VARIABLE, s->path, 1);
		return true;
	}
	/* The name belongs to a recorder in another pid namespace. */
	if (!is_bound)
		close(steal_fd(&s->folder));
	control_socket_close(s);
	return false;
}

void control_socket_adopt(struct control_socket *s, int fd, const struct identity *owner)
{
	s->fd = fd;
	s->owner = owner->uid;
}

static void drop_client(struct control_socket *s, size_t i)
{
	close(s->clients[i].fd);
	free(s->clients[i].line);
	s->client_count--;
	memmove(&s->clients[i], &s->clients[i + 1], (s->client_count - i) * sizeof(s->clients[0]));
}

static bool may_ask(int fd, uid_t owner)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == owner || peer.uid == 0);
}

static void accept_clients(struct control_socket *s, const struct control_hooks *hooks)
{
	int fd;

	while ((fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
		if (!may_ask(fd, s->owner)) {
			close(fd);
			continue;
		}
		if (s->client_count == CONTROL_CLIENTS_MAX)
			drop_client(s, 0);
		s->clients[s->client_count++] = (struct control_client){
			.fd = fd,
			.line = xmalloc(CONTROL_LINE_MAX),
		};
		hooks->added(hooks->ctx, fd);
	}
}

static json_t *fail(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

char *control_answer_line(const char *line, size_t size, control_answer_fn *answer, void *ctx)
{
	json_t *request = json_loadb(line, size, JSON_REJECT_DUPLICATES, NULL), *reply;
	const char *command = json_string_value(json_object_get(request, "command"));
	char *text;

	if (!request)
		reply = fail("not a JSON line");
	else if (!command)
		reply = fail("no string \"command\"");
	else
		reply = answer(ctx, command, request);
	json_object_set_new(reply, "ok", json_boolean(!json_object_get(reply, "error")));
	text = json_dumps(reply, JSON_COMPACT);
	json_decref(reply);
	json_decref(request);
	return text;
}

/* Answers all complete lines. Returns false if the client must be dropped. */
static bool answer_line(const struct control_client *client, size_t size,
			const struct control_hooks *hooks)
{
	_cleanup_free_ char *text = control_answer_line(client->line, size, hooks->answer,
							hooks->ctx);
	_cleanup_free_ char *line = xasprintf("%s\n", text ? text : "{\"ok\":false}");
	ssize_t length = (ssize_t)strlen(line);

	return send(client->fd, line, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) == length;
}

/* Answers all complete lines. False if the client must be dropped. */
static bool answer_lines(struct control_client *client, const struct control_hooks *hooks)
{
	char *end;

	while ((end = memchr(client->line, '\n', client->used))) {
		size_t size = (size_t)(end - client->line);

		if (!answer_line(client, size, hooks))
			return false;
		client->used -= size + 1;
		memmove(client->line, end + 1, client->used);
	}
	return client->used < CONTROL_LINE_MAX;
}

/* Returns false if the client has closed its end or must be dropped. */
static bool read_client(struct control_client *client, const struct control_hooks *hooks,
			bool *has_spoken)
{
	ssize_t count = recv(client->fd, client->line + client->used,
			     CONTROL_LINE_MAX - client->used, MSG_DONTWAIT);

	if (count < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!count)
		return false;
	*has_spoken = true;
	client->used += (size_t)count;
	return answer_lines(client, hooks);
}

void control_socket_poll(struct control_socket *s, const struct control_hooks *hooks)
{
	size_t left;

	if (s->fd < 0)
		return;
	accept_clients(s, hooks);
	left = s->client_count;
	for (size_t i = 0; left; left--) {
		struct control_client client = s->clients[i];
		bool has_spoken = false;

		if (!read_client(&client, hooks, &has_spoken)) {
			drop_client(s, i);
		} else if (has_spoken) {
			memmove(&s->clients[i], &s->clients[i + 1],
				(s->client_count - i - 1) * sizeof(client));
			s->clients[s->client_count - 1] = client;
		} else {
			i++;
		}
	}
}

void control_socket_close(struct control_socket *s)
{
	struct identity owner = {.uid = s->owner};

	while (s->client_count)
		drop_client(s, 0);
	fd_close(s->fd);
	if (s->folder >= 0) {
		struct identity before;

		owner = identity_of_invoker();
		before = identity_assume_files(&owner);
		if (!before.failure && s->name)
			unlinkat(s->folder, s->name, 0);
		identity_restore_files(&before);
		close(s->folder);
	}
	free(s->name);
	free(s->path);
	*s = CONTROL_SOCKET_INIT;
}
