/* SPDX-License-Identifier: MIT */
#include "cmd/run/fleet_engine.h"

#include <sys/mman.h>
#include <time.h>

#include "lib/base/identity.h"
#include "lib/fleet/engine_kind.h"
#include "lib/fleet/request_process.h"

#define PASSWORD_MAX 4096
#define TLS_FILE_MAX ((size_t)1 << 20)

/* Reads the password, the first line of the file. It becomes part of a header. */
static int read_password(const char *path, char **password, struct error *err)
{
	size_t size;
	char *text = text_read_file(path, PASSWORD_MAX, &size);

	if (!text)
		return error_set(err, -errno, "cannot read the password in %s", path);
	text[strcspn(text, "\r\n")] = '\0';
	for (const char *at = text; *at; at++) {
		if (!iscntrl((unsigned char)*at))
			continue;
		free(text);
		return error_text(err, -EBADMSG, "%s: the password contains control characters",
				  path);
	}
	*password = text;
	return 0;
}

/*
 * Copies a TLS file into memory and replaces its path by the copy's, which even unprivileged
 * processes started by this one can open.
 */
static int keep_file(struct fleet_engine *e, enum fleet_tls which, struct error *err)
{
	char **path = &e->url.tls_files[which];
	size_t size;
	_cleanup_free_ char *text = text_read_file(*path, TLS_FILE_MAX, &size);
	_cleanup_close_ int memory = text ? memfd_create("tls", MFD_CLOEXEC) : -1;
	int fd = memory < 0 ? -1 : fcntl(memory, F_DUPFD, STDERR_FILENO + 1);

	if (fd < 0 || !request_write(fd, text, size))
		return error_set(err, -errno, "cannot read %s", *path);
	e->tls_files[which] = fd;
	explicit_bzero(text, size);
	free(*path);
	*path = xasprintf("/proc/self/fd/%d", fd);
	return 0;
}

static int read_files(struct fleet_engine *e, struct error *err)
{
	int ret = e->url.password_file ? read_password(e->url.password_file, &e->password, err) : 0;

	for (enum fleet_tls i = 0; !ret && i < FLEET_TLS_COUNT; i++)
		ret = e->url.tls_files[i] ? keep_file(e, i, err) : 0;
	return ret;
}

int fleet_engine_open(struct fleet_engine *e, const char *address, struct error *err)
{
	struct identity owner = identity_of_invoker(), before;
	int ret;

	*e = (struct fleet_engine){0};
	ret = fleet_url_parse(&e->url, address, (uint64_t)time(NULL), err);
	if (ret)
		return error_wrap(err, "the engine's address");
	before = identity_assume_files(&owner);
	ret = before.failure
		      ? error_set(err, before.failure, "cannot read files as user %u", owner.uid)
		      : read_files(e, err);
	identity_restore_files(&before);
	e->engine = (struct engine){
		.url = &e->url,
		.password = e->password,
		.send = request_process_send,
	};
	return ret;
}

int fleet_engine_open_store(struct fleet_engine *e, const char *address, bool merged,
			    struct error *err)
{
	int ret = fleet_engine_open(e, address, err);

	if (ret || !engine_kind_is_collector(e->url.kind) || (merged && e->url.kind->query))
		return ret;
	return error_text(err, -EINVAL,
			  e->url.kind->query
				  ? "cannot list what this engine has: it only gives profiles"
				  : "cannot read from a collector: only prof push supports it");
}

void fleet_engine_release(struct fleet_engine *e)
{
	fleet_url_release(&e->url);
	if (e->password)
		explicit_bzero(e->password, strlen(e->password));
	free(e->password);
	for (int i = 0; i < FLEET_TLS_COUNT; i++) {
		if (e->tls_files[i])
			close(e->tls_files[i]);
	}
	*e = (struct fleet_engine){0};
}
