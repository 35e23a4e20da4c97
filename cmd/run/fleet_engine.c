/* SPDX-License-Identifier: MIT */
#include "cmd/run/fleet_engine.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/identity.h"
#include "lib/base/text.h"
#include "lib/fleet/request_process.h"

#define PASSWORD_MAX 4096

/* The first line is the password; it becomes part of a header. */
static int read_password(const char *path, char **password, struct error *err)
{
	size_t size;
	char *text = text_read_file(path, PASSWORD_MAX, &size);

	if (!text)
		return error_set(err, -errno, "read the password in %s", path);
	text[strcspn(text, "\r\n")] = '\0';
	for (const char *at = text; *at; at++) {
		if (!iscntrl((unsigned char)*at))
			continue;
		free(text);
		return error_text(err, -EBADMSG, "%s: a password has no control characters", path);
	}
	*password = text;
	return 0;
}

int fleet_engine_open(struct fleet_engine *e, const char *address, struct error *err)
{
	struct identity owner = identity_of_invoker(), before;
	int ret;

	*e = (struct fleet_engine){0};
	ret = fleet_url_parse(&e->url, address, (uint64_t)time(NULL), err);
	if (ret)
		return error_wrap(err, "the engine's address");
	if (e->url.password_file) {
		before = identity_assume_files(&owner);
		ret = before.failure
			      ? error_set(err, before.failure, "read files as user %u", owner.uid)
			      : read_password(e->url.password_file, &e->password, err);
		identity_restore_files(&before);
	}
	e->engine = (struct engine){
		.url = &e->url,
		.password = e->password,
		.send = request_process_send,
	};
	return ret;
}

void fleet_engine_release(struct fleet_engine *e)
{
	fleet_url_release(&e->url);
	if (e->password)
		explicit_bzero(e->password, strlen(e->password));
	free(e->password);
	*e = (struct fleet_engine){0};
}
