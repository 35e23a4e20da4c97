/* SPDX-License-Identifier: MIT */
/* Growing arrays and strings. */

#include <stdlib.h>
#include <string.h>

#include "lib/base/base.h"
#include "tests/unit/test.h"

struct pair {
	int a, b;
};

TEST(test_push_keeps_order)
{
	VEC(struct pair) v = {0};
	int sum = 0, at = 0;

	for (int i = 0; i < 1000; i++)
		vec_push(&v, (struct pair){.a = i, .b = -i});
	assert_int_equal(v.count, 1000);
	vec_for_each(&v, struct pair *, it) {
		assert_int_equal(it->a, at);
		assert_int_equal(it->b, -at);
		sum += it->a;
		at++;
	}
	assert_int_equal(sum, 999 * 1000 / 2);
	assert_int_equal(vec_last(&v).a, 999);
	vec_clear(&v);
	assert_int_equal(v.count, 0);
	assert_true(v.capacity >= 1000);
	vec_release(&v);
	assert_null(v.items);
	assert_int_equal(v.capacity, 0);
	vec_release(&v);
}

TEST(test_growth_is_geometric)
{
	VEC(char) v = {0};
	size_t moves = 0, before = 0;

	for (int i = 0; i < 1000000; i++) {
		vec_push(&v, 'x');
		moves += v.capacity != before;
		before = v.capacity;
	}
	assert_true(moves < 40);
	vec_release(&v);
}

TEST(test_reserve_takes_a_large_wish)
{
	VEC(uint64_t) v = {0};

	vec_reserve(&v, 100000);
	assert_true(v.capacity >= 100000);
	vec_reserve(&v, 10);
	assert_true(v.capacity >= 100000);
	vec_release(&v);
}

TEST(test_add_zeroed)
{
	VEC(struct pair) v = {0};
	struct pair *added;

	vec_push(&v, (struct pair){1, 2});
	added = vec_add_zeroed(&v, 50);
	assert_ptr_equal(added, v.items + 1);
	assert_int_equal(v.count, 51);
	for (int i = 0; i < 50; i++)
		assert_int_equal(added[i].a | added[i].b, 0);
	vec_release(&v);
}

TEST(test_strbuf_is_always_terminated)
{
	struct strbuf s = {0};

	assert_string_equal(strbuf_text(&s), "");
	strbuf_add(&s, NULL, 0);
	assert_string_equal(strbuf_text(&s), "");
	strbuf_adds(&s, "ab");
	strbuf_addch(&s, 'c');
	strbuf_addf(&s, "%d%s", 12, "x");
	assert_string_equal(strbuf_text(&s), "abc12x");
	assert_int_equal(s.size, 6);
	strbuf_reset(&s);
	assert_string_equal(strbuf_text(&s), "");
	assert_int_equal(s.size, 0);
	strbuf_add(&s, "a\0b", 3);
	assert_int_equal(s.size, 3);
	assert_memory_equal(strbuf_text(&s), "a\0b", 4);
	strbuf_release(&s);
	assert_null(s.text);
}

/* Every length around the sizes at which the text grows. */
TEST(test_strbuf_addf_of_any_length)
{
	for (int length = 0; length < 300; length++) {
		struct strbuf s = {0};

		strbuf_addch(&s, '<');
		strbuf_addf(&s, "%*s", length, "");
		strbuf_addch(&s, '>');
		assert_int_equal(s.size, length + 2);
		assert_int_equal(strlen(s.text), length + 2);
		assert_int_equal(s.text[length + 1], '>');
		strbuf_release(&s);
	}
}

TEST(test_strbuf_take_leaves_it_empty)
{
	struct strbuf s = {0};
	char *text = strbuf_take(&s);

	assert_string_equal(text, "");
	free(text);
	strbuf_adds(&s, "mine");
	text = strbuf_take(&s);
	assert_string_equal(text, "mine");
	assert_null(s.text);
	assert_int_equal(s.size, 0);
	strbuf_adds(&s, "new");
	assert_string_equal(text, "mine");
	free(text);
	strbuf_release(&s);
}
