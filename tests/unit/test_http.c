/* SPDX-License-Identifier: MIT */
/* Parts of a body, and the answers of a store. */
#include <string.h>

#include "cmd/net/store_answer.h"
#include "lib/fleet/server/http.h"
#include "tests/unit/test.h"

static void expect(const char *header, unsigned int status, uint64_t offset, uint64_t length)
{
	uint64_t got_offset, got_length;

	assert_int_equal(http_range(header, 100, &got_offset, &got_length), status);
	if (status == 416)
		return;
	assert_int_equal(got_offset, offset);
	assert_int_equal(got_length, length);
}

TEST(test_range)
{
	expect(NULL, 200, 0, 100);
	expect("", 200, 0, 100);
	expect("bytes=0-0", 206, 0, 1);
	expect("bytes=90-", 206, 90, 10);
	expect("bytes=90-1000", 206, 90, 10);
	expect("bytes=-10", 206, 90, 10);
	expect("bytes=-1000", 206, 0, 100);
	expect("bytes=100-", 416, 0, 0);
	expect("bytes=-0", 416, 0, 0);
	expect("bytes=5-4", 200, 0, 100);
	expect("bytes=1-2,4-5", 200, 0, 100);
	expect("bytes=-", 200, 0, 100);
	expect("bytes=x-5", 200, 0, 100);
	expect("bytes=99999999999999999999999-", 200, 0, 100);
	expect("items=0-5", 200, 0, 100);
}

TEST(test_headers)
{
	struct http_response r = {0};

	http_response_add(&r, "A", "plain");
	http_response_add(&r, "B", "two\r\nLines: 1");
	assert_int_equal(r.headers.count, 1);
	http_response_release(&r);
}

static bool reads(const char *text, char *token)
{
	return store_answer_read(text, strlen(text), token);
}

TEST(test_store_answer)
{
	char token[STORE_TOKEN_MAX + 1];

	assert_true(reads("abc_-9\n", token));
	assert_string_equal(token, "abc_-9");
	/* {"profileToken":"q1w2"} */
	assert_true(reads("e30.eyJwcm9maWxlVG9rZW4iOiJxMXcyIn0.sig", token));
	assert_string_equal(token, "q1w2");
	/* {"profileToken":"../x"} */
	assert_false(reads("e30.eyJwcm9maWxlVG9rZW4iOiIuLi94In0.sig", token));
	assert_false(reads("e30.e30.sig", token));
	assert_false(reads("e30.!!.sig", token));
	assert_false(reads("..", token));
	assert_false(reads("", token));
	assert_false(reads("../x", token));
}
