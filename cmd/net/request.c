/* SPDX-License-Identifier: MIT */
/*
 * The process that sends one request to an engine. It has no privileges and lives as long as the
 * request.
 */
#include <grp.h>

#include "cmd/command.h"
#include "cmd/elevate/privileges.h"
#include "cmd/net/engine_client.h"
#include "cmd/net/net_programs.h"
#include "lib/base/identity.h"
#include "lib/base/infile.h"
#include "lib/fleet/request_process.h"

/* Requests with rows have a few MiB. */
#define REQUEST_MAX ((size_t)64 << 20)
/* Uid of a user who owns no files. */
#define NOBODY 65534

/* Turns root without an invoking user into nobody, unless root lacks the right to switch. */
static int drop_all(struct error *err)
{
	struct identity who = identity_of_invoker();
	gid_t group = NOBODY;

	if (who.uid == 0 &&
	    (setgroups(1, &group) || setresgid(NOBODY, NOBODY, NOBODY) ||
	     setresuid(NOBODY, NOBODY, NOBODY)) &&
	    errno != EPERM)
		return error_set(err, -errno, "cannot give up privileges");
	return drop_privileges(err) ?: drop_new_privileges(err);
}

static int send_request(struct strbuf *answer, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	struct request_message message;
	struct client_request request = {0};
	size_t size;
	int ret = drop_all(err);

	if (!ret)
		ret = infile_read(STDIN_FILENO, "request", REQUEST_MAX, &text, &size, err);
	if (ret)
		return ret;
	if (!request_message_read(&message, text, size))
		return error_text(err, -EBADMSG,
				  "this command is internal to prof: see 'prof push --help'");
	request.url = message.url;
	request.headers = message.headers.items;
	request.timeout_ns = message.timeout_ns;
	request.is_http2 = message.is_grpc;
	request.ca_file = message.tls_files[FLEET_TLS_CA];
	request.certificate_file = message.tls_files[FLEET_TLS_CERTIFICATE];
	request.key_file = message.tls_files[FLEET_TLS_KEY];
	request.body = message.body;
	request.size = message.size;
	ret = engine_client_send(&request, answer, NULL, err);
	vec_release(&message.headers);
	return ret;
}

int request_run(void)
{
	_cleanup_(strbuf_release) struct strbuf answer = {0};
	struct error err = {0};
	int32_t code = send_request(&answer, &err);
	const char *text = code < 0 ? err.text : strbuf_text(&answer);
	size_t size = code < 0 ? strlen(err.text) : answer.size;

	return request_write(STDOUT_FILENO, &code, sizeof(code)) &&
			       request_write(STDOUT_FILENO, text, size)
		       ? 0
		       : EXIT_REFUSED;
}
