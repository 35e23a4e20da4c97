/* SPDX-License-Identifier: MIT */
#include "cmd/net/viewer.h"

#include <sys/random.h>

#include "lib/base/open_file.h"
#include "lib/base/quote.h"
#include "lib/fleet/server/http.h"
#include "lib/format/format.h"

/* Serves the files of a local front-end from a folder, and nothing outside of it. */

/* Maximum size; the largest file has 5 MB. */
#define FILE_MAX ((size_t)64 << 20)

static const char *type_of(const char *path)
{
	static const struct {
		const char *suffix, *type;
	} types[] = {
		{".html", "text/html; charset=utf-8"},
		{".js", "text/javascript"},
		{".css", "text/css"},
		{".json", "application/json"},
		{".svg", "image/svg+xml"},
		{".png", "image/png"},
		{".jpg", "image/jpeg"},
		{".wasm", "application/wasm"},
		{".ftl", "text/plain; charset=utf-8"},
		{".txt", "text/plain"},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (text_ends_with(path, types[i].suffix))
			return types[i].type;
	}
	return "application/octet-stream";
}

/*
 * Sends the file at that path. A path that matches no file and does not look like a file name is a
 * route of the front-end: sends its page.
 */
static void front_end_files_send(int folder, const char *path, struct http_response *response)
{
	static const char page[] = "/index.html";
	_cleanup_close_ int fd = open_regular_named(folder, path);
	const char *type = type_of(path);
	size_t size = 0;
	char *text;

	if (fd < 0 && !strchr(strrchr(path, '/') ? strrchr(path, '/') : path, '.')) {
		fd = open_regular_named(folder, page);
		type = type_of(page);
	}
	text = fd < 0 ? NULL : text_read_fd(fd, FILE_MAX, &size);
	http_response_take(response, text ? 200 : 404, text ? type : NULL, text, size);
}

#define PAGE "page.html"

static int make_token(char token[VIEW_TOKEN_SIZE + 1], struct error *err)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint8_t bytes[VIEW_TOKEN_SIZE];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_set(err, -errno, "cannot get random bytes");
	for (size_t i = 0; i < VIEW_TOKEN_SIZE; i++)
		token[i] = digits[bytes[i] % 64];
	token[VIEW_TOKEN_SIZE] = '\0';
	return 0;
}

int viewer_init(struct viewer *v, struct error *err)
{
	return make_token(v->token, err) ?: make_token(v->ticket, err);
}

void viewer_set_front_end(struct viewer *v, const char *front_end)
{
	size_t size;

	v->front_end = front_end ? xstrdup(front_end)
				 : xasprintf("http://127.0.0.1:%" PRIu16, v->port);
	size = strlen(v->front_end);
	while (size && v->front_end[size - 1] == '/')
		v->front_end[--size] = '\0';
	/* "https://host/folder": the origin ends before the folder. */
	front_end = strstr(v->front_end, "://");
	size = front_end ? (size_t)(front_end + 3 - v->front_end) : 0;
	size += strcspn(v->front_end + size, "/");
	v->origin = xstrndup(v->front_end, size);
}

void viewer_release(struct viewer *v)
{
	free(v->front_end);
	free(v->origin);
	if (v->folder > 0)
		close(v->folder);
	if (v->page > 0)
		close(v->page);
}

/* Compares in constant time. */
static bool is_equal(const char *a, size_t size, const char token[VIEW_TOKEN_SIZE + 1])
{
	unsigned char differs = 0;

	if (size != VIEW_TOKEN_SIZE)
		return false;
	for (size_t i = 0; i < VIEW_TOKEN_SIZE; i++)
		differs |= (unsigned char)(a[i] ^ token[i]);
	return !differs;
}

/* Appends "FRONT-END/from-url/PROFILE/". */
static void add_profile(const struct viewer *v, struct strbuf *out, size_t number)
{
	_cleanup_free_ char *url =
		number ? xasprintf("http://127.0.0.1:%" PRIu16 "/%s/profile-%zu.json", v->port,
				   v->token, number + 1)
		       : xasprintf("http://127.0.0.1:%" PRIu16 "/%s/profile.json", v->port,
				   v->token);

	strbuf_addf(out, "%s/from-url/", v->front_end);
	quote_url(out, url);
	strbuf_addch(out, '/');
}

/* Front-ends compare one thread of each profile; the address must select them. */
static void add_compared(const struct viewer *v, struct strbuf *out, size_t number)
{
	const struct viewed_profile *profile = &v->api.profiles[number];
	const char *slash = strrchr(profile->path, '/');

	add_profile(v, out, number);
	strbuf_addf(out, "calltree/?thread=%" PRIu64 "&profileName=", profile->libs.first_thread);
	quote_url(out, slash ? slash + 1 : profile->path);
}

static char *front_end_url(const struct viewer *v)
{
	_cleanup_free_ char *server = xasprintf("http://127.0.0.1:%" PRIu16 "/%s", v->port,
						v->token);
	struct strbuf url = {0};

	if (v->api.count == 1) {
		add_profile(v, &url, 0);
		strbuf_adds(&url, "?symbolServer=");
		quote_url(&url, server);
		return strbuf_take(&url);
	}
	strbuf_addf(&url, "%s/compare/", v->front_end);
	for (size_t i = 0; i < v->api.count; i++) {
		_cleanup_(strbuf_release) struct strbuf profile = {0};

		add_compared(v, &profile, i);
		strbuf_adds(&url, i ? "&profiles[]=" : "?profiles[]=");
		quote_url(&url, strbuf_text(&profile));
	}
	strbuf_adds(&url, "&symbolServer=");
	quote_url(&url, server);
	return strbuf_take(&url);
}

int viewer_make_page(struct viewer *v, const char *const *paths, size_t count, struct error *err)
{
	const struct viewed_profile *profile = &v->api.profiles[0];
	const struct export_options how = {.is_served = true};

	v->page = count > 1 ? served_page_of_sides(paths, profile->options, &v->page_size, err)
			    : written_file(&format_html, profile->profile, &how, NULL, false,
					   &v->page_size, err);
	return v->page < 0 ? v->page : 0;
}

char *viewer_url(const struct viewer *v)
{
	if (v->page)
		return xasprintf("http://127.0.0.1:%" PRIu16 "/%s/" PAGE, v->port, v->token);
	if (v->folder)
		return xasprintf("http://127.0.0.1:%" PRIu16 "/%s/", v->port, v->token);
	return front_end_url(v);
}

static bool is_host(const struct viewer *v, const char *host)
{
	char name[32];

	if (!host)
		return false;
	snprintf(name, sizeof(name), "127.0.0.1:%" PRIu16, v->port);
	if (strcmp(host, name) == 0)
		return true;
	snprintf(name, sizeof(name), "localhost:%" PRIu16, v->port);
	return strcasecmp(host, name) == 0;
}

/* Same-origin requests are allowed. */
static bool is_origin(const struct viewer *v, const char *origin)
{
	char own[48];

	snprintf(own, sizeof(own), "http://127.0.0.1:%" PRIu16, v->port);
	return !origin || strcmp(origin, v->origin) == 0 || strcmp(origin, own) == 0;
}

static void refuse(struct http_response *r, unsigned int status)
{
	http_response_take(r, status, NULL, NULL, 0);
}

static void send_profile(const struct viewed_profile *p, const struct http_request *request,
			 struct http_response *r)
{
	const char *encodings = request->accept_encoding;
	uint64_t offset, length;
	char text[96];

	r->status = http_range(request->range, p->served.size, &offset, &length);
	snprintf(text, sizeof(text), "bytes */%" PRIu64, p->served.size);
	if (r->status == 206)
		snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, offset,
			 offset + length - 1, p->served.size);
	if (r->status != 200)
		http_response_add(r, "Content-Range", text);
	if (r->status == 416)
		return;
	http_response_add(r, "Accept-Ranges", "bytes");
	http_response_add(r, "Content-Type", "application/json");
	/* The file is stored compressed; clients without gzip get the original bytes. */
	if (p->served.is_gzip && encodings && strstr(encodings, "gzip"))
		http_response_add(r, "Content-Encoding", "gzip");
	r->fd = p->served.fd;
	r->offset = offset;
	r->size = length;
}

static void send_page(const struct viewer *v, struct http_response *r)
{
	http_response_add(r, "Content-Type", "text/html; charset=utf-8");
	r->status = 200;
	r->fd = v->page;
	r->offset = 0;
	r->size = v->page_size;
}

/* Returns the profile for "profile.json", "profile-2.json"; NULL if there is none. */
static const struct viewed_profile *find_profile(const struct viewer *v, const char *path)
{
	char name[40];

	if (strcmp(path, "profile.json") == 0)
		return &v->api.profiles[0];
	for (size_t i = 1; i < v->api.count; i++) {
		snprintf(name, sizeof(name), "profile-%zu.json", i + 1);
		if (strcmp(path, name) == 0)
			return &v->api.profiles[i];
	}
	return NULL;
}

/*
 * Sets a Lax cookie: browsers withhold strict cookies if a page of another site, such as
 * net_view.c's, led here.
 */
static void open_front_end(const struct viewer *v, struct http_response *r)
{
	_cleanup_free_ char *url = front_end_url(v);
	_cleanup_free_ char *cookie = xasprintf(
		"prof-%" PRIu16 "=%s; Path=/; HttpOnly; SameSite=Lax", v->port, v->ticket);

	http_response_add(r, "Location", url);
	http_response_add(r, "Set-Cookie", cookie);
	refuse(r, 302);
}

static bool has_ticket(const struct viewer *v, const char *cookies)
{
	char name[24];
	size_t size = (size_t)snprintf(name, sizeof(name), "prof-%" PRIu16 "=", v->port);

	while (cookies && *cookies) {
		cookies += strspn(cookies, "; ");
		if (strncmp(cookies, name, size) == 0 &&
		    is_equal(cookies + size, strcspn(cookies + size, "; "), v->ticket))
			return true;
		cookies += strcspn(cookies, ";");
	}
	return false;
}

static void allow_origin(const struct http_request *request, struct http_response *r)
{
	if (!request->origin)
		return;
	http_response_add(r, "Access-Control-Allow-Origin", request->origin);
	http_response_add(r, "Vary", "Origin");
	if (strcmp(request->method, "OPTIONS") != 0)
		return;
	http_response_add(r, "Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
	http_response_add(r, "Access-Control-Allow-Private-Network", "true");
	http_response_add(r, "Access-Control-Max-Age", "600");
	if (request->wanted_headers)
		http_response_add(r, "Access-Control-Allow-Headers", request->wanted_headers);
}

static bool is_get(const struct http_request *request)
{
	return strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
}

/* `path`: the part after the token. */
static void answer_path(const struct viewer *v, const char *path,
			const struct http_request *request, struct http_response *r)
{
	const struct viewed_profile *profile = find_profile(v, path);

	allow_origin(request, r);
	if (strcmp(request->method, "OPTIONS") == 0)
		refuse(r, 204);
	else if (strcmp(request->method, "POST") == 0 && request->body)
		api_answer(&v->api, path, request, r);
	else if (strcmp(request->method, "POST") == 0 && api_has(path))
		return;
	else if (v->page && strcmp(path, PAGE) == 0 && is_get(request))
		send_page(v, r);
	else if (profile && is_get(request))
		send_profile(profile, request, r);
	else if (!*path && v->folder && is_get(request))
		open_front_end(v, r);
	else if (profile || api_has(path))
		refuse(r, 405);
	if (!r->status)
		refuse(r, 404);
}

void viewer_answer(void *ctx, const struct http_request *request, struct http_response *r)
{
	const struct viewer *v = ctx;
	const char *path = *request->path == '/' ? request->path + 1 : request->path;
	size_t size = strcspn(path, "/");
	bool has_token = is_equal(path, size, v->token) && path[size] == '/';

	if (!is_host(v, request->host) || !is_origin(v, request->origin))
		refuse(r, 403);
	else if (has_token)
		answer_path(v, path + size + 1, request, r);
	else if (v->folder && is_get(request) && has_ticket(v, request->cookie))
		front_end_files_send(v->folder, request->path, r);
	else
		refuse(r, 403);
	if (!r->status)
		return;
	http_response_add(r, "Cache-Control", "no-store");
	http_response_add(r, "X-Content-Type-Options", "nosniff");
	http_response_add(r, "Referrer-Policy", "no-referrer");
}
