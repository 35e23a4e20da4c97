/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * The address of an engine that keeps samples of many machines, and of a part of them:
 *
 *	clickhouse+http[s]://[user@]host[:port]/database[?key=value&…]
 *	otlp+http[s]://[user@]host[:port][/path][?password-file=file], or with another scheme of
 *	engine_kind.c
 *	otlp
 *
 * All but the first are collectors, to which samples are sent; those of Pyroscope and Parca also
 * return a merged profile of what matches the filter; "otlp" is the collector
 * named in the environment by OpenTelemetry's conventions. Keys for https: "ca-file=",
 * "certificate-file=", "key-file=".
 *
 * It never contains a password: "password-file=" names the file.
 */
/* clang-format on */
#pragma once

#include "lib/base/base.h"

/* Columns of samples by which a profile of many machines is split into threads. */
enum fleet_by {
	FLEET_BY_SERVICE,
	FLEET_BY_HOST,
	FLEET_BY_CONTAINER,
	FLEET_BY_EXECUTABLE,
	FLEET_BY_COUNT,
};

/* "service", … */
extern const char *const fleet_by_names[FLEET_BY_COUNT];

/* Files for TLS: the trusted authorities, the client's certificate and its key. */
enum fleet_tls { FLEET_TLS_CA, FLEET_TLS_CERTIFICATE, FLEET_TLS_KEY, FLEET_TLS_COUNT };

/* The requested part of the samples. */
struct fleet_filter {
	char *of[FLEET_BY_COUNT]; /* exact values, owned; NULL: any */
	char *event; /* "clock" or the name of an event; owned; NULL: all events */
	VEC(char *) labels; /* "key=value" strings that all must match; owned */
	uint32_t from_s, until_s; /* times since the Unix epoch; until_s UINT32_MAX: no end */
	uint64_t interval_ns; /* clock interval; 0: any */
	enum fleet_by by;
};

struct fleet_url {
	const struct engine_kind *kind;
	bool is_secure;
	/* Owned; user NULL: the engine's default; `database` is a path for collectors. */
	char *user, *host, *database;
	uint16_t port;
	char *password_file; /* owned; NULL: none */
	char *tls_files[FLEET_TLS_COUNT]; /* owned; NULL: use the machine's own files, or none */
	VEC(char *) headers; /* "Name: value" headers of requests; owned */
	uint64_t timeout_ns; /* timeout of a request; 0: none as long as it makes progress */
	bool is_unpacked; /* bodies are not compressed */
	bool is_filtered; /* the address has keys other than password-file */
	struct fleet_filter filter;
};

/* True if a command's operand has an address's scheme and so is not a file. */
bool fleet_url_is_one(const char *text);
/*
 * Relative times such as "-1h" count from now_s. -EINVAL: invalid address. A zeroed struct is
 * empty.
 */
int fleet_url_parse(struct fleet_url *url, const char *text, uint64_t now_s, struct error *err);
void fleet_url_release(struct fleet_url *url);

/*
 * Parses "-90s", "-15m", "-1h", "-7d", seconds since the Unix epoch, or
 * "2026-11-24[T03:12[:30]][Z]", which is local time without the Z.
 */
bool fleet_time_parse(const char *text, uint64_t now_s, uint32_t *seconds);
