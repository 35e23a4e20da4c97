/* SPDX-License-Identifier: MIT */
/* Budgets that users share: no one takes all, and amounts come back. */
#include "lib/live/process/user_budget.h"
#include "tests/unit/test.h"

#define SECOND 1000000000ull

/* Takes single units until none is left, and returns how many. */
static uint64_t take_all(struct user_budget *b, uid_t uid, uint64_t now)
{
	uint64_t count = 0;

	for (; user_budget_allows(b, uid); count++)
		user_budget_take(b, uid, 1, now);
	return count;
}

TEST(one_user_leaves_half_to_others)
{
	struct user_budget b = {.total = 1200};

	assert_int_equal(take_all(&b, 1, 0), 600);
	assert_int_equal(take_all(&b, 2, 0), 300);
	assert_int_equal(take_all(&b, 3, 0), 150);
	assert_false(user_budget_allows(&b, 1));
	user_budget_release(&b);
}

TEST(more_than_is_left_can_be_taken_once)
{
	struct user_budget b = {.total = 10};

	user_budget_take(&b, 1, 100, 0);
	assert_false(user_budget_allows(&b, 1));
	assert_false(user_budget_allows(&b, 2));
	user_budget_forget(&b, 10 * SECOND);
	assert_true(user_budget_allows(&b, 2));
	user_budget_release(&b);
}

TEST(amounts_are_given_back)
{
	struct user_budget b = {.total = 100};

	assert_int_equal(take_all(&b, 1, 0), 50);
	user_budget_give(&b, 1, 20);
	assert_int_equal(b.used, 30);
	assert_int_equal(take_all(&b, 2, 0), 35);
	assert_int_equal(take_all(&b, 1, 0), 2);
	user_budget_release(&b);
}

TEST(amounts_come_back_by_time)
{
	struct user_budget b = {.total = 100};

	assert_int_equal(take_all(&b, 1, 5 * SECOND), 50);
	user_budget_forget(&b, 5 * SECOND);
	assert_false(user_budget_allows(&b, 1));
	user_budget_forget(&b, 7 * SECOND);
	assert_int_equal(take_all(&b, 1, 8 * SECOND), 50);
	assert_int_equal(b.used, 50);
	user_budget_release(&b);
}

TEST(refused_users_are_listed)
{
	struct strbuf text = {0};
	struct user_budget b = {.total = 8};

	user_budget_list_refused(&b, &text);
	assert_int_equal(text.size, 0);
	take_all(&b, 4001, 0);
	user_budget_list_refused(&b, &text);
	assert_string_equal(text.text, "user 4001");
	take_all(&b, 7, 0);
	take_all(&b, 8, 0);
	strbuf_reset(&text);
	user_budget_list_refused(&b, &text);
	assert_string_equal(text.text, "user 4001 and 2 more");
	strbuf_release(&text);
	user_budget_release(&b);
}

/* Hostile containers have users without end. */
TEST(too_many_users_share)
{
	struct user_budget b = {.total = 1 << 20};

	for (uid_t uid = 0; uid < 5000; uid++)
		user_budget_take(&b, uid, 1, 0);
	assert_true(b.shares.count < 5000);
	assert_int_equal(b.used, 5000);
	user_budget_release(&b);
}
