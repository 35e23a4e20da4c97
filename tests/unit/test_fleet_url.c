/* SPDX-License-Identifier: MIT */
/* Addresses of engines, and statements by them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fleet/engine_kind.h"
#include "lib/fleet/sql.h"
#include "tests/unit/test.h"

#define URL "clickhouse+http://db/prof"
#define NOW 1800000000u

TEST(address_parts)
{
	struct fleet_url url;

	assert_int_equal(
		fleet_url_parse(&url,
				"clickhouse+https://me%40x@[::1]:99/p_1?service=a%26b&label.v="
				"1=2&from=-1h&to=1799999999&by=host&interval=10&password-file=/"
				"p",
				NOW, NULL),
		0);
	assert_true(url.is_secure && url.is_filtered);
	assert_string_equal(url.user, "me@x");
	assert_string_equal(url.host, "[::1]");
	assert_int_equal(url.port, 99);
	assert_string_equal(url.database, "p_1");
	assert_string_equal(url.filter.of[FLEET_BY_SERVICE], "a&b");
	assert_string_equal(url.filter.labels.items[0], "v=1=2");
	assert_int_equal(url.filter.from_s, NOW - 3600);
	assert_int_equal(url.filter.until_s, 1799999999);
	assert_int_equal(url.filter.by, FLEET_BY_HOST);
	assert_int_equal(url.filter.interval_ns, 10000000);
	assert_string_equal(url.password_file, "/p");
	fleet_url_release(&url);
	assert_int_equal(fleet_url_parse(&url, URL, NOW, NULL), 0);
	assert_int_equal(url.port, 8123);
	assert_false(url.is_filtered || url.user || url.password_file);
	fleet_url_release(&url);
}

TEST(wrong_addresses)
{
	static const char *const wrong[] = {
		"http://db/prof",
		"clickhouse+http:///prof",
		"clickhouse+http://db",
		"clickhouse+http://db/",
		"clickhouse+http://db/a`b",
		"clickhouse+http://db/1",
		"clickhouse+http://db:0/p",
		"clickhouse+http://db:65536/p",
		"clickhouse+http://db:x/p",
		"clickhouse+http://[::1/p",
		"clickhouse+http://[]/p",
		"clickhouse+http://d b/p",
		"clickhouse+http://u:pw@db/p",
		"clickhouse+http://@db/p",
		"clickhouse+http://a%0Ab@db/p",
		"otlp+http://",
		"otlp+httpx://db",
		"otlp+grpcss://db",
		"otlp+grpc:db",
		"otlp+http://db/a b",
		"otlp+http://db/a%0A",
		URL "?service",
		URL "?service=%",
		URL "?service=%0",
		URL "?service=%00",
		URL "?service=a&service=b",
		URL "?label.=x",
		URL "?other=1",
		URL "?by=pid",
		URL "?from=soon",
		URL "?from=-1y",
		URL "?from=-99999999999999999d",
		URL "?from=2026-13-01",
		URL "?from=20&to=20",
		URL "?interval=0",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct error err = {0};
		struct fleet_url url;

		assert_int_equal(fleet_url_parse(&url, wrong[i], NOW, &err), -EINVAL);
		assert_true(*err.text);
	}
}

TEST(times)
{
	uint32_t seconds;

	setenv("TZ", "CET-1", 1);
	assert_true(fleet_time_parse("2026-11-24T03:12Z", NOW, &seconds));
	assert_int_equal(seconds, 1795489920);
	assert_true(fleet_time_parse("2026-11-24T03:12:00", NOW, &seconds));
	assert_int_equal(seconds, 1795489920 - 3600);
	assert_true(fleet_time_parse("2026-11-24", NOW, &seconds));
	assert_true(fleet_time_parse("-2d", NOW, &seconds));
	assert_int_equal(seconds, NOW - 172800);
	assert_false(fleet_time_parse("", NOW, &seconds));
	assert_false(fleet_time_parse("2026-11-24 or so", NOW, &seconds));
	assert_false(fleet_time_parse("4294967296", NOW, &seconds));
}

/* Nothing but harmless characters and \xHH is between the quotes. */
TEST(texts_stay_texts)
{
	struct strbuf sql = {0};
	char all[256];

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (char)i;
	sql_add_text(&sql, all, sizeof(all));
	assert_int_equal(sql.text[0], '\'');
	assert_int_equal(sql.text[sql.size - 1], '\'');
	for (size_t i = 1; i + 1 < sql.size; i++) {
		assert_true(sql.text[i] >= ' ' && sql.text[i] <= '~');
		assert_null(strchr("'\"`;%", sql.text[i]));
		if (sql.text[i] == '\\')
			assert_int_equal(sql.text[i + 1], 'x');
	}
	strbuf_reset(&sql);
	sql_add_text(&sql, "a'\\\0b", 5);
	assert_string_equal(sql.text, "'a\\x27\\x5C\\x00b'");
	strbuf_release(&sql);
	assert_true(sql_is_name("prof_1"));
	assert_false(sql_is_name("") || sql_is_name("a b") || sql_is_name("a;") ||
		     sql_is_name("\xc3\xa4"));
}

TEST(filters_cannot_end_a_text)
{
	struct strbuf sql = {0};
	struct fleet_url url;

	assert_int_equal(fleet_url_parse(&url,
					 URL "?service=%27%20OR%201=1%20--&host=%5C&label.a=%27)&"
					     "event=%22%60",
					 NOW, NULL),
			 0);
	sql_add_samples(&sql, &url.filter, false);
	sql_add_windows(&sql, &url.filter);
	assert_non_null(strstr(sql.text, "service = '\\x27 OR 1=1 --'"));
	assert_non_null(strstr(sql.text, "host = '\\x5C'"));
	assert_non_null(strstr(sql.text, "has(labels, 'a=\\x27\\x29')"));
	assert_non_null(strstr(sql.text, "event = '\\x22\\x60'"));
	strbuf_release(&sql);
	fleet_url_release(&url);
}

TEST(addresses_of_collectors)
{
	struct fleet_url url;

	assert_int_equal(fleet_url_parse(&url, "otlp+https://c?password-file=/t", NOW, NULL), 0);
	assert_true(engine_kind_is_collector(url.kind) && url.is_secure && !url.is_filtered);
	assert_int_equal(url.port, 4318);
	assert_string_equal(url.database, "v1development/profiles");
	fleet_url_release(&url);
	assert_int_equal(fleet_url_parse(&url, "otlp+http://c:1/in/p", NOW, NULL), 0);
	assert_string_equal(url.database, "in/p");
	fleet_url_release(&url);
	assert_int_equal(fleet_url_parse(&url, "otlp+grpcs://c?ca-file=/c", NOW, NULL), 0);
	assert_true(url.kind->is_grpc && url.is_secure);
	assert_int_equal(url.port, 4317);
	assert_non_null(strstr(url.database, "ProfilesService/Export"));
	fleet_url_release(&url);
	assert_true(fleet_url_is_one("otlp+http://c"));
}
