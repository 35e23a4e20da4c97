/* SPDX-License-Identifier: MIT */
#include "lib/fleet/otlp_environment.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/quote.h"
#include "lib/base/text.h"

#define PREFIX "OTEL_EXPORTER_OTLP_"
#define PROFILES PREFIX "PROFILES_"
#define DEFAULT_ENDPOINT "http://localhost:4318"
#define DEFAULT_GRPC_ENDPOINT "http://localhost:4317"
#define NS_PER_MS 1000000ull
#define TIMEOUT_MS_MAX 3600000

static const char *const tls_names[FLEET_TLS_COUNT] = {
	[FLEET_TLS_CA] = "CERTIFICATE",
	[FLEET_TLS_CERTIFICATE] = "CLIENT_CERTIFICATE",
	[FLEET_TLS_KEY] = "CLIENT_KEY",
};

/* Returns the value of a variable; NULL: it is not set, or empty, which is the same. */
static const char *value_of(const char *prefix, const char *name)
{
	_cleanup_free_ char *variable = xasprintf("%s%s", prefix, name);
	const char *value = getenv(variable);

	return value && *value ? value : NULL;
}

static const char *find(const char *name)
{
	const char *value = value_of(PROFILES, name);

	return value ? value : value_of(PREFIX, name);
}

static bool has_port(const char *host)
{
	host += *host == '[' ? strcspn(host, "]") : 0;
	return host[strcspn(host, ":/")] == ':';
}

/* Parses http[s]://host[:port][/path] by the rules of addresses with a scheme of ours. */
static int parse_endpoint(struct fleet_url *url, const char *endpoint, bool is_whole,
			  struct error *err)
{
	int size = (int)strlen(endpoint);
	_cleanup_free_ char *address = NULL;
	const char *host = strstr(endpoint, "://"), *path;
	int ret;

	if (!host)
		return error_text(err, -EINVAL, "must be http://HOST or https://HOST");
	host += strlen("://");
	path = strchr(host, '/');
	while (!is_whole && size && endpoint[size - 1] == '/')
		size--;
	address = is_whole ? xasprintf("otlp+%s", endpoint)
			   : xasprintf("otlp+%.*s/%s", size, endpoint, OTLP_PATH);
	ret = fleet_url_parse(url, address, 0, err);
	if (ret)
		return ret;
	if (!has_port(host))
		url->port = url->is_secure ? 443 : 80;
	/* A whole address without a path has none. */
	if (is_whole && (!path || !path[1])) {
		free(url->database);
		url->database = xstrdup("");
	}
	return 0;
}

/* Parses http[s]://host[:port]; gRPC has paths of its own. */
static int parse_grpc_endpoint(struct fleet_url *url, const char *endpoint, struct error *err)
{
	const char *host = strstr(endpoint, "://");
	bool is_secure = text_starts_with(endpoint, "https:");
	_cleanup_free_ char *address = NULL;

	if (!host || (!is_secure && !text_starts_with(endpoint, "http:")))
		return error_text(err, -EINVAL, "must be http://HOST or https://HOST");
	host += strlen("://");
	address = xasprintf("otlp+grpc%s://%.*s", is_secure ? "s" : "", (int)strcspn(host, "/?"),
			    host);
	return fleet_url_parse(url, address, 0, err);
}

static int read_endpoint(struct fleet_url *url, struct error *err)
{
	const char *own = value_of(PROFILES, "ENDPOINT"), *all = value_of(PREFIX, "ENDPOINT");
	const char *protocol = find("PROTOCOL"), *endpoint = own ? own : all;
	int ret;

	if (protocol && strcmp(protocol, "grpc") == 0)
		ret = parse_grpc_endpoint(url, endpoint ? endpoint : DEFAULT_GRPC_ENDPOINT, err);
	else if (protocol && strcmp(protocol, "http/protobuf") != 0)
		return error_text(err, -EINVAL,
				  PREFIX "PROTOCOL: prof speaks http/protobuf and grpc");
	else
		ret = parse_endpoint(url, endpoint ? endpoint : DEFAULT_ENDPOINT, own, err);
	return ret ? error_wrap(err, "%sENDPOINT", own ? PROFILES : PREFIX) : 0;
}

static bool is_header(const char *name, const char *value)
{
	for (const char *at = name; *at; at++) {
		if (!isalnum((unsigned char)*at) && !strchr("-_.", *at))
			return false;
	}
	for (const char *at = value; *at; at++) {
		if (iscntrl((unsigned char)*at))
			return false;
	}
	return *name;
}

/* The values are secrets: no message has them. */
static int read_headers(struct fleet_url *url, struct error *err)
{
	const char *text = find("HEADERS");

	while (text && *text) {
		size_t size = strcspn(text, ","), key_size = strcspn(text, "=,");
		_cleanup_free_ char *key = unquote_url_trimmed(text, key_size), *value = NULL;

		if (key_size < size)
			value = unquote_url_trimmed(text + key_size + 1, size - key_size - 1);
		if (!key || !value || !is_header(key, value))
			return error_text(err, -EINVAL,
					  PREFIX "HEADERS: must be NAME=VALUE, with commas between "
						 "several");
		vec_push(&url->headers, xasprintf("%s: %s", key, value));
		text += size + (text[size] == ',');
	}
	return 0;
}

static int read_others(struct fleet_url *url, struct error *err)
{
	const char *packing = find("COMPRESSION"), *timeout = find("TIMEOUT");
	uint64_t ms = 0;

	if (packing && strcmp(packing, "gzip") != 0 && strcmp(packing, "none") != 0)
		return error_text(err, -EINVAL, PREFIX "COMPRESSION: must be gzip or none");
	if (timeout && (!text_to_u64(timeout, 10, &ms) || ms > TIMEOUT_MS_MAX))
		return error_text(err, -EINVAL, PREFIX "TIMEOUT: must be milliseconds");
	url->is_unpacked = packing && strcmp(packing, "none") == 0;
	url->timeout_ns = ms * NS_PER_MS;
	for (int i = 0; i < FLEET_TLS_COUNT; i++) {
		const char *path = find(tls_names[i]);

		if (path)
			url->tls_files[i] = xstrdup(path);
	}
	return 0;
}

int otlp_environment_read(struct fleet_url *url, struct error *err)
{
	int ret = read_endpoint(url, err);

	if (!ret)
		ret = read_headers(url, err);
	if (!ret)
		ret = read_others(url, err);
	if (ret)
		fleet_url_release(url);
	return ret;
}
