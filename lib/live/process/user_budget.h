/* SPDX-License-Identifier: MIT */
/*
 * A budget that users share: each may take half of what the others leave, so that none exhausts it.
 * Amounts come back once their records are no longer kept.
 */
#pragma once

#include "lib/base/base.h"

/* An amount taken about that time, CLOCK_MONOTONIC ns. */
struct taken_amount {
	uint64_t time, amount;
};

struct user_share {
	uid_t uid;
	bool was_refused;
	uint64_t used;
	VEC(struct taken_amount) taken; /* in order of time */
};

/* Initialize `total`; zeroed is otherwise empty. */
struct user_budget {
	uint64_t total, used;
	VEC(struct user_share) shares;
};

void user_budget_release(struct user_budget *b);
/* Returns whether the user may take more. If not, notes that something was refused. */
bool user_budget_allows(struct user_budget *b, uid_t uid);
/* Takes an amount, even if it is more than what is left. */
void user_budget_take(struct user_budget *b, uid_t uid, uint64_t amount, uint64_t now);
/* Gives back an amount, in budgets whose amounts do not come back by time. */
void user_budget_give(struct user_budget *b, uid_t uid, uint64_t amount);
/* Gives back the amounts taken before that time. */
void user_budget_forget(struct user_budget *b, uint64_t before);
/* Appends the users who were refused something: "user 4001 and 2 more"; nothing if none was. */
void user_budget_list_refused(const struct user_budget *b, struct strbuf *out);
