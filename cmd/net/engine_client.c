/* SPDX-License-Identifier: MIT */
#include "cmd/net/engine_client.h"

#include <grp.h>
#include <strings.h>

#include "cmd/command.h"
#include "cmd/elevate/privileges.h"
#include "lib/base/identity.h"
#include "lib/base/infile.h"
#include "lib/fleet/engine.h"
#include "lib/fleet/grpc.h"
#include "lib/fleet/request_process.h"

#define STATUS_OK 200
#define TYPE "content-type:"
#define DATABASE_TYPE "application/octet-stream"

struct head {
	struct grpc_answer grpc;
	char type[64]; /* media type, without parameters; "": not given */
};

/* Copies the media type of a line that may be such a header. */
static void take_type(const char *line, size_t size, char *type, size_t max)
{
	const char *at = line + strlen(TYPE), *end = line + size;
	size_t length = 0;

	if (size < strlen(TYPE) || strncasecmp(line, TYPE, strlen(TYPE)) != 0)
		return;
	while (at < end && *at == ' ')
		at++;
	while (at + length < end && length + 1 < max && !strchr("; \r\n", at[length]))
		length++;
	memcpy(type, at, length);
	type[length] = '\0';
	text_to_line(type);
}

static void take_header(void *ctx, const char *line, size_t size)
{
	struct head *head = ctx;

	grpc_answer_take(&head->grpc, line, size);
	take_type(line, size, head->type, sizeof(head->type));
}

/*
 * Portals and proxies answer with a page, as do engines for an unknown path. Collectors answer with
 * the type of the request, and some with nothing; databases with any type.
 */
static int check_type(const struct client_request *r, const char *type, bool is_empty,
		      struct error *err)
{
	char wanted[64] = "";
	bool is_page = strcasecmp(type, "text/html") == 0;

	for (const char *const *header = r->headers; *header; header++)
		take_type(*header, strlen(*header), wanted, sizeof(wanted));
	if (strcmp(wanted, DATABASE_TYPE) == 0 ? !is_page
	    : is_empty			       ? !is_page
	    : r->is_http2		       ? strncasecmp(type, wanted, strlen(wanted)) == 0
					       : strcasecmp(type, wanted) == 0)
		return 0;
	return error_text(err, -EPROTO,
			  "%.*s answered with %s: a proxy or another server, not such an engine",
			  (int)strcspn(r->url, "?"), r->url, *type ? type : "data of no type");
}

int engine_client_send(const struct client_request *request, struct strbuf *answer,
		       uint64_t *retry_after_s, struct error *err)
{
	struct client_request whole = *request;
	struct head head = {0};
	uint64_t asked_s = 0;
	int ret;

	whole.method = "POST";
	whole.answer_max = ENGINE_ANSWER_MAX;
	whole.retry_after_s = &asked_s;
	whole.on_header = take_header;
	whole.header_ctx = &head;
	ret = client_send(&whole, answer, err);
	/* Servers may refuse a call, and end its stream, before they have all of it. */
	if (ret < 0 && head.grpc.has_status && head.grpc.status) {
		*err = (struct error){0};
		ret = STATUS_OK;
	}
	if (ret == STATUS_OK && !head.grpc.has_status)
		ret = check_type(request, head.type, !answer->size, err) ?: ret;
	if (ret > 0 && request->is_http2)
		ret = grpc_answer_judge(&head.grpc, ret, answer, &asked_s, err);
	grpc_answer_release(&head.grpc);
	if (retry_after_s)
		*retry_after_s = asked_s;
	return ret;
}

/*
 * The process that sends one request to an engine. It has no privileges and lives as long as the
 * request.
 */

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
