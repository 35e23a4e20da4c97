/* SPDX-License-Identifier: MIT */
#include "lib/fleet/server/server.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/*
 * Connections of a server. Idle clients cannot shut out others: a connection that sends no request
 * head is closed after some seconds, and the oldest of these at once if there are many.
 */

/* Time limit for the head of a request. */
#define CONNECTION_HEAD_NS 5000000000ull
/* Maximum number of connections whose request has not been admitted. */
#define CONNECTIONS_WAITING_MAX 128

enum connection_state {
	CONNECTION_HEAD, /* waiting for the head of a request */
	CONNECTION_ADMITTED, /* the head was accepted or rejected; no time limit */
	CONNECTION_IDLE, /* request answered; the client may send another one */
};

struct connections;
struct connection;

struct connection {
	int fd;
	enum connection_state state;
	uint64_t since; /* start of the current state */
	bool is_down;
};

struct connections {
	pthread_mutex_t lock;
	VEC(struct connection *) rows;
};

static struct connections *connections_new(void)
{
	struct connections *c = xcalloc(1, sizeof(*c));

	pthread_mutex_init(&c->lock, NULL);
	return c;
}

/* Accepts NULL. All connections have been removed. */
static void connections_free(struct connections *c)
{
	if (!c)
		return;
	vec_for_each(&c->rows, struct connection **, row)
		free(*row);
	vec_release(&c->rows);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* The server's thread then reads the end of the stream and closes the socket. */
static void shut_down(struct connection *connection)
{
	connection->is_down = true;
	shutdown(connection->fd, SHUT_RDWR);
}

/* True if the client's turn is next. Unread bytes mean that the server is late. */
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

/*
 * Adds a socket, which is borrowed until connections_remove(). If too many are waiting, shuts down
 * the oldest of them.
 */
static struct connection *connections_add(struct connections *c, int fd, uint64_t now)
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

static void connections_remove(struct connections *c, struct connection *connection)
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

static void connections_set(struct connections *c, struct connection *connection,
			    enum connection_state state, uint64_t now)
{
	pthread_mutex_lock(&c->lock);
	connection->state = state;
	connection->since = now;
	pthread_mutex_unlock(&c->lock);
}

/* Shuts down connections that have waited too long; call several times a second. */
static void connections_evict(struct connections *c, uint64_t now)
{
	pthread_mutex_lock(&c->lock);
	vec_for_each(&c->rows, struct connection **, row) {
		if ((*row)->state == CONNECTION_HEAD && now - (*row)->since > CONNECTION_HEAD_NS &&
		    is_waiting(*row))
			shut_down(*row);
	}
	pthread_mutex_unlock(&c->lock);
}

#define THREADS 4
#define BACKLOG 128
/* Above CONNECTIONS_WAITING_MAX, so that clients with a request are accepted. */
#define CONNECTIONS_MAX 1024
/*
 * Maximum size of bodies and answers in memory; further requests are rejected until there is room.
 */
#define BYTES_MAX ((size_t)48 << 20)
#define EVICT_MS 250
/* Room for the headers of a request. */
#define CONNECTION_BYTES ((size_t)32 << 10)
/* Connections without progress end after this time, even if the server is the slow side. */
#define TIMEOUT_S 60u

struct server {
	struct MHD_Daemon *daemon;
	server_answer_fn *answer;
	void *ctx;
	_Atomic uint64_t last_ns;
	_Atomic size_t bytes; /* bytes in bodies and answers */
	struct connections *connections;
	pthread_t evictor;
	int end_fd; /* readable once the evictor is to end */
};

/* One request whose body arrives in pieces. */
struct exchange {
	struct strbuf body;
	bool is_too_large;
	size_t bytes; /* bytes charged to the request */
};

static struct connection *connection_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

static void set_state(struct server *s, struct MHD_Connection *connection,
		      enum connection_state state)
{
	connections_set(s->connections, connection_of(connection), state, clock_monotonic_ns());
}

/* Charges bytes to an exchange until it ends. */
static void count_bytes(struct server *s, struct exchange *x, size_t bytes)
{
	x->bytes += bytes;
	s->bytes += bytes;
}

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

static enum MHD_Result count_host(void *ctx, enum MHD_ValueKind kind, const char *name,
				  const char *value)
{
	size_t *count = ctx;

	*count += strcasecmp(name, "Host") == 0;
	return MHD_YES;
}

/* A proxy may have judged another of several hosts than this server does: RFC 9112, 3.2. */
static bool has_one_host(struct MHD_Connection *connection)
{
	size_t count = 0;

	MHD_get_connection_values(connection, MHD_HEADER_KIND, count_host, &count);
	return count == 1;
}

/* Rejects a request that can be rejected without reading its body. */
static enum MHD_Result begin(struct server *s, struct MHD_Connection *connection, const char *url,
			     const char *method, struct exchange *x)
{
	const struct http_request request = describe(connection, url, method);
	const char *text = header(connection, "Content-Length");
	struct http_response response = {0};
	uint64_t size = 0;

	s->last_ns = clock_monotonic_ns();
	if (has_one_host(connection))
		s->answer(s->ctx, &request, &response);
	else
		response.status = 400;
	if (!response.status && text && (!text_to_u64(text, 10, &size) || size > HTTP_BODY_MAX))
		response.status = 413;
	if (!response.status && s->bytes + size > BYTES_MAX) {
		http_response_add(&response, "Retry-After", "1");
		response.status = 503;
	}
	count_bytes(s, x, !response.status ? size : response.fd ? 0 : response.size);
	set_state(s, connection, CONNECTION_ADMITTED);
	return response.status ? queue(connection, &response) : MHD_YES;
}

static enum MHD_Result answer(struct server *s, struct MHD_Connection *connection, const char *url,
			      const char *method, struct exchange *x)
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
	count_bytes(s, x, response.fd ? 0 : response.size);
	return queue(connection, &response);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **own)
{
	struct exchange *x = *own;

	if (!x) {
		*own = xcalloc(1, sizeof(*x));
		return begin(ctx, connection, url, method, *own);
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
	struct server *s = ctx;

	if (!x)
		return;
	s->bytes -= x->bytes;
	set_state(s, connection, CONNECTION_IDLE);
	strbuf_release(&x->body);
	free(x);
	*own = NULL;
}

static void on_connection(void *ctx, struct MHD_Connection *connection, void **own,
			  enum MHD_ConnectionNotificationCode code)
{
	struct server *s = ctx;

	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		*own = connections_add(
			s->connections,
			MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)
				->connect_fd,
			clock_monotonic_ns());
	else
		connections_remove(s->connections, *own);
}

static void *evict(void *ctx)
{
	struct server *s = ctx;
	struct pollfd end = {.fd = s->end_fd, .events = POLLIN};

	while (poll(&end, 1, EVICT_MS) <= 0)
		connections_evict(s->connections, clock_monotonic_ns());
	return NULL;
}

/* Suppresses the library's log lines, which contain parts of requests. */
static void ignore_text(void *ctx, const char *format, va_list args)
{
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
		return error_set(err, -errno, "cannot create a socket");
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, (const struct sockaddr *)&address, size) || listen(fd, BACKLOG) ||
	    getsockname(fd, (struct sockaddr *)&address, &size)) {
		int failure = errno;

		close(fd);
		error_set(err, -failure, "cannot listen on 127.0.0.1, port %u", *port);
		if (failure == EADDRINUSE)
			error_hint(err, "leave out --port to use a free one");
		return -failure;
	}
	*port = ntohs(address.sin_port);
	return fd;
}

static void release(struct server *s)
{
	connections_free(s->connections);
	if (s->end_fd >= 0)
		close(s->end_fd);
	free(s);
}

int server_start(struct server **out, int listener, server_answer_fn *answer_fn, void *ctx,
		 struct error *err)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->connections = connections_new();
	s->end_fd = eventfd(0, EFD_CLOEXEC);
	s->answer = answer_fn;
	s->ctx = ctx;
	s->last_ns = clock_monotonic_ns();
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_EPOLL | MHD_USE_ITC | MHD_USE_ERROR_LOG,
		0, NULL, NULL, on_request, s, MHD_OPTION_EXTERNAL_LOGGER, ignore_text, NULL,
		MHD_OPTION_LISTEN_SOCKET, listener, MHD_OPTION_THREAD_POOL_SIZE,
		(unsigned int)THREADS, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		CONNECTION_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_end, s,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
	if (!s->daemon) {
		release(s);
		close(listener);
		return error_text(err, -EIO, "cannot start the server");
	}
	if (s->end_fd < 0 || pthread_create(&s->evictor, NULL, evict, s)) {
		MHD_stop_daemon(s->daemon);
		release(s);
		return error_text(err, -EAGAIN, "cannot start the server: cannot create a thread");
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
	eventfd_write(s->end_fd, 1);
	pthread_join(s->evictor, NULL);
	MHD_stop_daemon(s->daemon);
	release(s);
}
