/* SPDX-License-Identifier: MIT */
/* Collectors that the environment names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/collector.h"
#include "lib/fleet/engine_kind.h"
#include "tests/unit/test.h"

static void set(const char *name, const char *value)
{
	char variable[100] = "OTEL_EXPORTER_OTLP_";

	strcat(variable, name);
	if (value)
		setenv(variable, value, 1);
	else
		unsetenv(variable);
}

static int clear(void **state)
{
	static const char *const names[] = {
		"ENDPOINT", "PROFILES_ENDPOINT",  "HEADERS",	"PROFILES_HEADERS", "CERTIFICATE",
		"PROTOCOL", "CLIENT_CERTIFICATE", "CLIENT_KEY", "TIMEOUT",	    "COMPRESSION",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		set(names[i], NULL);
	return 0;
}

#define GRPC_PATH "opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export"
#define CASE(name) TEST_WITH(name, clear, clear)

static void expect(const char *host, uint16_t port, const char *path, bool is_secure)
{
	struct fleet_url url;
	struct error err = {0};

	assert_int_equal(fleet_url_parse(&url, "otlp", 0, &err), 0);
	assert_string_equal(url.host, host);
	assert_int_equal(url.port, port);
	assert_string_equal(url.database, path);
	assert_int_equal(url.is_secure, is_secure);
	assert_true(engine_kind_is_collector(url.kind));
	fleet_url_release(&url);
}

CASE(endpoints)
{
	expect("localhost", 4318, "v1development/profiles", false);
	set("ENDPOINT", "https://a.example");
	expect("a.example", 443, "v1development/profiles", true);
	set("ENDPOINT", "http://a.example:99/otlp/");
	expect("a.example", 99, "otlp/v1development/profiles", false);
	set("ENDPOINT", "http://[::1]");
	expect("[::1]", 80, "v1development/profiles", false);
	set("PROFILES_ENDPOINT", "http://b.example:1/my/path");
	expect("b.example", 1, "my/path", false);
	set("PROFILES_ENDPOINT", "http://b.example/");
	expect("b.example", 80, "", false);
	set("PROFILES_ENDPOINT", "");
	expect("[::1]", 80, "v1development/profiles", false);
}

CASE(other_variables)
{
	struct fleet_url url;
	struct error err = {0};

	set("HEADERS", "all=no");
	set("PROFILES_HEADERS", "api-key = s%203cret%3D, X-Scope=a=b");
	set("TIMEOUT", "1500");
	set("COMPRESSION", "none");
	set("CERTIFICATE", "/ca.pem");
	set("CLIENT_KEY", "/key.pem");
	assert_int_equal(fleet_url_parse(&url, "otlp", 0, &err), 0);
	assert_int_equal(url.headers.count, 2);
	assert_string_equal(url.headers.items[0], "api-key: s 3cret=");
	assert_string_equal(url.headers.items[1], "X-Scope: a=b");
	assert_int_equal(url.timeout_ns, 1500000000);
	assert_true(url.is_unpacked);
	assert_string_equal(url.tls_files[FLEET_TLS_CA], "/ca.pem");
	assert_null(url.tls_files[FLEET_TLS_CERTIFICATE]);
	assert_string_equal(url.tls_files[FLEET_TLS_KEY], "/key.pem");
	fleet_url_release(&url);
}

CASE(endpoints_of_grpc)
{
	struct fleet_url url;
	struct error err = {0};

	set("PROTOCOL", "grpc");
	expect("localhost", 4317, GRPC_PATH, false);
	set("ENDPOINT", "https://a.example/some/path?x");
	expect("a.example", 4317, GRPC_PATH, true);
	set("PROFILES_ENDPOINT", "http://b.example:99");
	expect("b.example", 99, GRPC_PATH, false);
	set("PROFILES_ENDPOINT", "b.example:99");
	assert_int_equal(fleet_url_parse(&url, "otlp", 0, &err), -EINVAL);
	assert_non_null(strstr(err.text, "PROFILES_ENDPOINT"));
}

CASE(values_that_are_wrong)
{
	static const char *const rows[][2] = {
		{"ENDPOINT", "a.example:4317"}, {"ENDPOINT", "ftp://a.example"},
		{"ENDPOINT", "http://"},	{"ENDPOINT", "http://user:secret@a.example"},
		{"HEADERS", "secret"},		{"HEADERS", "secret=%0d%0aX: y"},
		{"HEADERS", "se cret=x"},	{"PROTOCOL", "http/json"},
		{"TIMEOUT", "secret"},		{"COMPRESSION", "brotli"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fleet_url url;
		struct error err = {0};

		clear(NULL);
		set(rows[i][0], rows[i][1]);
		assert_int_equal(fleet_url_parse(&url, "otlp", 0, &err), -EINVAL);
		assert_non_null(strstr(err.text, rows[i][0]));
		assert_null(strstr(err.text, "secret"));
	}
}
