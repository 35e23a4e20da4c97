/* SPDX-License-Identifier: MIT */
/* Requests to collectors, and calls of gRPC: frames, and what the answers' statuses mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/fleet/engine.h"
#include "lib/fleet/engine_kind.h"
#include "lib/fleet/grpc.h"
#include "tests/unit/test.h"

#define NO_DELAY UINT64_MAX

static void take(struct grpc_answer *a, const char *line)
{
	grpc_answer_take(a, line, strlen(line));
}

/* Judges an answer of one or two lines, without a message. */
static int judge(const char *first, const char *second, int http, struct strbuf *text,
		 uint64_t *delay)
{
	struct grpc_answer a = {0};
	struct error err = {0};
	int ret;

	*delay = NO_DELAY;
	strbuf_reset(text);
	take(&a, first);
	take(&a, second);
	ret = grpc_answer_judge(&a, http, text, delay, &err);
	assert_int_equal(ret < 0, *err.text != '\0');
	grpc_answer_release(&a);
	return ret;
}

TEST(statuses)
{
	static const struct {
		const char *first, *second;
		int http, status;
		const char *words;
	} rows[] = {
		{"grpc-status: 0\r\n", "", 200, 200, ""},
		{"grpc-status: 14\r\n", "grpc-message: too%20busy%0A\r\n", 200, 503,
		 "UNAVAILABLE: too busy?"},
		{"GRPC-STATUS:4\r\n", "", 200, 504, "DEADLINE_EXCEEDED"},
		{"grpc-status: 1\r\n", "", 200, 503, "CANCELLED"},
		{"grpc-status: 10\r\n", "", 200, 503, "ABORTED"},
		{"grpc-status: 11\r\n", "", 200, 503, "OUT_OF_RANGE"},
		{"grpc-status: 15\r\n", "", 200, 503, "DATA_LOSS"},
		{"grpc-status: 16\r\n", "", 200, 401, "UNAUTHENTICATED"},
		{"grpc-status: 3\r\n", "grpc-message: 50% is % bad%\r\n", 200, 400,
		 "INVALID_ARGUMENT: 50% is % bad%"},
		{"grpc-status: 12\r\n", "", 200, 400, "UNIMPLEMENTED"},
		{"grpc-status: 99\r\n", "", 200, 400, "status 99"},
		{"grpc-status: 8\r\n", "", 200, 400, "RESOURCE_EXHAUSTED"},
		{"grpc-status: 8\r\n", "grpc-message: received message larger than max\r\n", 200,
		 413, "RESOURCE_EXHAUSTED: received message larger than max"},
		{"content-type: text/html\r\n", "", 502, 502, "status 502"},
		{"location: /\r\n", "", 302, 400, "status 302"},
		{"grpc-status: x\r\n", "", 200, -EPROTO, ""},
		{"grpc-status\r\n", "grpc-stat: 0\r\n", 200, -EPROTO, ""},
	};
	struct strbuf text = {0};
	uint64_t delay;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(judge(rows[i].first, rows[i].second, rows[i].http, &text, &delay),
				 rows[i].status);
		assert_string_equal(strbuf_text(&text), rows[i].words);
		assert_true(delay == NO_DELAY);
	}
	strbuf_release(&text);
}

/* A Status with a RetryInfo of 90.5 s, with padding and without; one of another kind; none. */
TEST(when_to_try_again)
{
	static const char head[] = "grpc-status-details-bin: ";
	static const struct {
		const char *details;
		int status;
		uint64_t delay_s;
	} rows[] = {
		{"CAgaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIWhCAyrXuAQ==",
		 429, 91},
		{"CAgaNgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbxIKCggIWhCAyrXuAQ",
		 429, 91},
		{"CAgaKgoodHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLlJldHJ5SW5mbw==", 429, 0},
		{"CAgaJgokdHlwZS5nb29nbGVhcGlzLmNvbS9nb29nbGUucnBjLk90aGVy", 400, NO_DELAY},
		{"?", 400, NO_DELAY},
		{"", 400, NO_DELAY},
	};
	struct strbuf text = {0};
	uint64_t delay;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char line[256];

		snprintf(line, sizeof(line), "%s%s\r\n", head, rows[i].details);
		assert_int_equal(judge("grpc-status: 8\r\n", line, 200, &text, &delay),
				 rows[i].status);
		assert_int_equal(delay, rows[i].delay_s);
	}
	strbuf_release(&text);
}

TEST(frames)
{
	struct strbuf message = {0}, out = {0};
	struct grpc_answer a = {.has_status = true};
	uint64_t delay = 0;

	strbuf_adds(&message, "abc");
	assert_true(grpc_frame(&message, true, &out));
	assert_int_equal(out.size, 8);
	assert_memory_equal(out.text, "\1\0\0\0\3abc", 8);
	/* Packed answers were not asked for. */
	assert_int_equal(grpc_answer_judge(&a, 200, &out, &delay, NULL), 200);
	assert_int_equal(out.size, 0);
	assert_true(grpc_frame(&message, false, &out));
	assert_int_equal(grpc_answer_judge(&a, 200, &out, &delay, NULL), 200);
	assert_string_equal(strbuf_text(&out), "abc");
	for (size_t size = 0; size < 8; size++) {
		strbuf_reset(&out);
		assert_true(grpc_frame(&message, false, &out));
		out.size = size;
		assert_int_equal(grpc_answer_judge(&a, 200, &out, &delay, NULL), 200);
		assert_int_equal(out.size, 0);
	}
	strbuf_release(&message);
	strbuf_release(&out);
}

struct kept_request {
	char *headers;
	struct strbuf body;
};

static int header_send(void *ctx, const struct engine_request *r, struct strbuf *answer,
		       struct error *err)
{
	struct kept_request *kept = ctx;
	struct strbuf headers = {0};

	for (const char *const *header = r->headers; *header; header++)
		strbuf_addf(&headers, "%s\n", *header);
	free(kept->headers);
	kept->headers = xstrdup(strbuf_text(&headers));
	strbuf_reset(&kept->body);
	strbuf_add(&kept->body, r->body, r->size);
	strbuf_release(&headers);
	return 200;
}

TEST(headers_of_collectors)
{
	static const struct {
		const char *address, *password, *headers;
		bool is_unpacked;
	} rows[] = {
		{"otlp+grpc://u@c", "p:\xc3\xa4",
		 "Content-Type: application/grpc\nExpect:\nTE: trailers\ngrpc-encoding: gzip\n"
		 "Authorization: Basic dTpwOsOk\n",
		 false},
		{"otlp+grpc://c", "t",
		 "Content-Type: application/grpc\nExpect:\nTE: trailers\nAuthorization: Bearer t\n",
		 true},
		{"otlp+http://u@c", NULL,
		 "Content-Type: application/x-protobuf\nExpect:\nContent-Encoding: gzip\n"
		 "Authorization: Basic dTo=\n",
		 false},
	};
	struct kept_request kept = {0};
	struct strbuf message = {0}, answer = {0};

	for (size_t i = 0; i < 4000; i++)
		strbuf_addch(&message, 'x');
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct fleet_url url;
		struct engine engine = {.url = &url,
					.send = header_send,
					.ctx = &kept,
					.password = rows[i].password};

		assert_int_equal(fleet_url_parse(&url, rows[i].address, 0, NULL), 0);
		url.is_unpacked = rows[i].is_unpacked;
		assert_int_equal(engine_post(&engine, &message, &answer, NULL), 0);
		assert_string_equal(kept.headers, rows[i].headers);
		if (url.kind->is_grpc) {
			assert_int_equal(kept.body.text[0], !rows[i].is_unpacked);
			assert_int_equal((unsigned char)kept.body.text[3] << 8 |
						 (unsigned char)kept.body.text[4],
					 kept.body.size - 5);
		}
		assert_int_equal(kept.body.size < 1000, !rows[i].is_unpacked);
		fleet_url_release(&url);
	}
	free(kept.headers);
	strbuf_release(&kept.body);
	strbuf_release(&message);
	strbuf_release(&answer);
}
