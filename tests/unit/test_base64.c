/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/base/quote.h"
#include "tests/unit/test.h"

static void expect(const char *bytes, const char *text)
{
	char encoded[64] = "";
	unsigned char decoded[64];
	size_t size;

	base64_encode(bytes, strlen(bytes), encoded);
	assert_string_equal(encoded, text);
	assert_true(base64_decode(text, strlen(text), decoded, &size));
	assert_int_equal(size, strlen(bytes));
	assert_memory_equal(decoded, bytes, size);
}

TEST(test_rfc)
{
	expect("", "");
	expect("f", "Zg==");
	expect("fo", "Zm8=");
	expect("foo", "Zm9v");
	expect("foobar", "Zm9vYmFy");
	expect("\xff\xfe?>", "//4/Pg==");
}

TEST(test_damaged)
{
	static const char *const texts[] = {
		"Zg", "Zg=", "Z===", "====", "Zg==Zg=", "Zm9<", "Zg==Zm9v"};
	unsigned char decoded[64];
	size_t size;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_false(base64_decode(texts[i], strlen(texts[i]), decoded, &size));
	assert_true(base64_decode(" Zm\n9v\t", 7, decoded, &size));
	assert_int_equal(size, 3);
}
