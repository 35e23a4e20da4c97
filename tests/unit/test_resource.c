/* SPDX-License-Identifier: MIT */
/* Attributes in environments of processes: what is kept, and what never leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/stream/process/resource.h"
#include "tests/unit/test.h"

static void expect(const char *text, const char *written)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct resource r = {0};

	resource_parse(&r, text, strlen(text));
	resource_write(&r, &out);
	assert_string_equal(strbuf_text(&out), written);
	resource_release(&r);
}

static void expect_environment(const char *text, size_t size, const char *written)
{
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct resource r = {0};

	resource_parse_environment(&r, text, size);
	resource_write(&r, &out);
	assert_string_equal(strbuf_text(&out), written);
	resource_release(&r);
}

/* Fields 1.1 and 2 are attributes; values that are no strings, and damaged ends, count for nothing.
 */
TEST(contexts)
{
	static const char data[] = "\n\x2e"
				   "\n\x15\n\x0cservice.name\x12\x05\n\x03"
				   "api"
				   "\n\x15\n\x0fservice.version\x12\x02\x18\x07"
				   "\x12\x17\n\x0ck8s.pod.name\x12\x07\n\x05web-1"
				   "\x12\x7f\n\x0cservice.name";
	_cleanup_(strbuf_release) struct strbuf out = {0};
	struct resource r = {0}, all = {0};

	resource_parse(&all, "service.name=old,service.version=3", 34);
	resource_parse_context(&r, data, sizeof(data) - 1);
	resource_add_all(&all, &r);
	resource_write(&all, &out);
	assert_string_equal(strbuf_text(&out),
			    "k8s.pod.name=web-1,service.name=api,service.version=3");
	resource_release(&r);
	resource_release(&all);
}

TEST(attributes)
{
	expect("", "");
	expect("service.name=api", "service.name=api");
	expect("service.version = 1.2 , service.name=api,", "service.name=api,service.version=1.2");
	expect("service.name=a%20b%2Cc%3dd", "service.name=a%20b%2Cc%3Dd");
	expect("service.name=a=b", "service.name=a%3Db");
	expect("service.name=a,service.name=b", "service.name=b");
	expect("service.name=", "");
	expect("service.name=a,service.name=", "service.name=a");
	/* Names that nobody allowed stay on the machine. */
	expect("password=s3cret,user.name=eve,k8s.pod.name=web-1,deployment.environment.name=prod",
	       "deployment.environment.name=prod,k8s.pod.name=web-1");
	expect("services.name=a,service.=b,service.na me=c,xservice.name=d", "");
	/* A text with an error counts for nothing. */
	expect("service.name=api,broken", "");
	expect("service.name=api,service.version=%4", "");
	expect("service.name=api,service.version=%00", "");
	expect("service.name=api,=1", "");
	/* Control characters do not leave. */
	expect("service.name=a%0Ab%1B%5B1m", "service.name=a%3Fb%3F%5B1m");
}

TEST(attributes_are_bounded)
{
	_cleanup_(strbuf_release) struct strbuf text = {0}, out = {0};
	struct resource r = {0};

	for (int i = 0; i < 100; i++) {
		strbuf_addf(&text, "service.k%d=", i);
		for (int j = 0; j < 300; j++)
			strbuf_adds(&text, "\xc3\xa4");
		strbuf_adds(&text, ",");
	}
	assert_true(resource_parse(&r, text.text, text.size));
	assert_int_equal(r.rows.count, RESOURCE_ATTRIBUTES_MAX);
	/* No character is cut in two. */
	assert_string_equal(r.rows.items[0].key, "service.k0");
	assert_int_equal(strlen(r.rows.items[0].value), RESOURCE_VALUE_MAX - 1);
	resource_write(&r, &out);
	assert_true(out.size <= RESOURCE_TEXT_MAX && out.size > RESOURCE_TEXT_MAX / 2);
	resource_release(&r);
}

#define ENVIRONMENT(text, written) expect_environment(text, sizeof(text), written)

TEST(environments)
{
	ENVIRONMENT("A=b\0OTEL_SERVICE_NAME=api\0C=d", "service.name=api");
	ENVIRONMENT("OTEL_RESOURCE_ATTRIBUTES=service.name=x,service.version=2\0"
		    "OTEL_SERVICE_NAME=a b,c",
		    "service.name=a%20b%2Cc,service.version=2");
	ENVIRONMENT("OTEL_SERVICE_NAME=\0OTEL_RESOURCE_ATTRIBUTES=service.name=x",
		    "service.name=x");
	ENVIRONMENT("OTEL_SERVICE_NAME=x\0OTEL_RESOURCE_ATTRIBUTES=broken", "service.name=x");
	ENVIRONMENT("OTEL_SERVICE_NAME=first\0OTEL_SERVICE_NAME=second", "service.name=first");
	ENVIRONMENT("XOTEL_SERVICE_NAME=x\0OTEL_SERVICE_NAMES=y", "");
	/* It is cut. */
	expect_environment("OTEL_SERVICE_NAME=api", strlen("OTEL_SERVICE_NAME=api"), "");
	expect_environment("", 0, "");
}
