/* SPDX-License-Identifier: MIT */
#include "lib/server/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/clock.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define THREADS 4
#define BACKLOG 128
#define CONNECTIONS_MAX 256
/* Room for the headers of a request. */
#define CONNECTION_BYTES ((size_t)32 << 10)
/* A connection without progress ends. */
#define TIMEOUT_S 20u

struct server {
	struct MHD_Daemon *daemon;
	server_answer_fn *answer;
	void *ctx;
	_Atomic uint64_t last_ns;
};

/* One request whose body arrives in pieces. */
struct exchange {
	struct strbuf body;
	bool is_too_large;
};

static enum MHD_Result queue(struct MHD_Connection *connection, struct http_response *r)
{
	struct MHD_Response *response;
	enum MHD_Result ret;

	if (r->fd) {
		response = MHD_create_response_from_fd_at_offset64(r->size, dup(r->fd), r->offset);
	} else {
		response = MHD_create_response_from_buffer(r->size, r->body, MHD_RESPMEM_MUST_FREE);
		if (response)
			r->body = NULL;
	}
	if (!response) {
		http_response_release(r);
		return MHD_NO;
	}
	vec_for_each(&r->headers, const struct http_header *, header)
		MHD_add_response_header(response, header->name, header->value);
	ret = MHD_queue_response(connection, r->status, response);
	MHD_destroy_response(response);
	http_response_release(r);
	return ret;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static struct http_request describe(struct MHD_Connection *connection, const char *url,
				    const char *method)
{
	return (struct http_request){
		.method = method,
		.path = url,
		.host = header(connection, "Host"),
		.origin = header(connection, "Origin"),
		.cookie = header(connection, "Cookie"),
		.range = header(connection, "Range"),
		.accept_encoding = header(connection, "Accept-Encoding"),
		.wanted_headers = header(connection, "Access-Control-Request-Headers"),
	};
}

/* Refuses what needs no body to be refused, and leaves such a body unread. */
static enum MHD_Result begin(struct server *s, struct MHD_Connection *connection, const char *url,
			     const char *method)
{
	const struct http_request request = describe(connection, url, method);
	const char *text = header(connection, "Content-Length");
	struct http_response response = {0};
	uint64_t size = 0;

	s->last_ns = clock_monotonic_ns();
	s->answer(s->ctx, &request, &response);
	if (!response.status && text && (!text_to_u64(text, 10, &size) || size > HTTP_BODY_MAX))
		response.status = 413;
	return response.status ? queue(connection, &response) : MHD_YES;
}

static enum MHD_Result answer(struct server *s, struct MHD_Connection *connection, const char *url,
			      const char *method, const struct exchange *x)
{
	struct http_request request = describe(connection, url, method);
	struct http_response response = {0};

	request.body = strbuf_text(&x->body);
	request.body_size = x->body.size;

	if (x->is_too_large)
		response.status = 413;
	else
		s->answer(s->ctx, &request, &response);
	s->last_ns = clock_monotonic_ns();
	return queue(connection, &response);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **own)
{
	struct exchange *x = *own;

	(void)version;
	if (!x) {
		*own = xcalloc(1, sizeof(*x));
		return begin(ctx, connection, url, method);
	}
	if (*size) {
		x->is_too_large |= x->body.size + *size > HTTP_BODY_MAX;
		if (!x->is_too_large)
			strbuf_add(&x->body, data, *size);
		*size = 0;
		return MHD_YES;
	}
	return answer(ctx, connection, url, method, x);
}

static void on_end(void *ctx, struct MHD_Connection *connection, void **own,
		   enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *own;

	(void)ctx;
	(void)connection;
	(void)code;
	if (!x)
		return;
	strbuf_release(&x->body);
	free(x);
	*own = NULL;
}

/* Keeps the library's own lines, with parts of requests in them, off the terminal. */
static void ignore_text(void *ctx, const char *format, va_list args)
{
	(void)ctx;
	(void)format;
	(void)args;
}

int server_listen(uint16_t *port, struct error *err)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(*port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

	if (fd < 0)
		return error_set(err, -errno, "make a socket");
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, (const struct sockaddr *)&address, size) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&address, &size)) {
		int failure = errno;

		close(fd);
		error_set(err, -failure, "listen on 127.0.0.1, port %u", *port);
		if (failure == EADDRINUSE)
			error_hint(err, "without --port, a free one is taken");
		return -failure;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

int server_start(struct server **out, int listener, server_answer_fn *answer_fn, void *ctx,
		 struct error *err)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->answer = answer_fn;
	s->ctx = ctx;
	s->last_ns = clock_monotonic_ns();
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ITC | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_text, NULL,
		MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_THREAD_POOL_SIZE,
		(unsigned int)THREADS, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		CONNECTION_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!s->daemon) {
		free(s);
		close(listener);
		return error_text(err, -EIO, "the server did not start");
	}
	*out = s;
	return 0;
}

uint64_t server_last_ns(const struct server *s)
{
	return s->last_ns;
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	MHD_stop_daemon(s->daemon);
	free(s);
}
