/* SPDX-License-Identifier: MIT */
#include "lib/live/process/user_budget.h"

/* Amounts taken within this time are one row. */
#define STEP_NS 1000000000ull
/* Maximum users; further ones use the share of the last. */
#define USERS_MAX 1024

void user_budget_release(struct user_budget *b)
{
	vec_for_each(&b->shares, struct user_share *, share)
		vec_release(&share->taken);
	vec_release(&b->shares);
}

static struct user_share *share_of(struct user_budget *b, uid_t uid)
{
	vec_for_each(&b->shares, struct user_share *, share) {
		if (share->uid == uid)
			return share;
	}
	if (b->shares.count < USERS_MAX)
		vec_push(&b->shares, (struct user_share){.uid = uid});
	return &vec_last(&b->shares);
}

bool user_budget_allows(struct user_budget *b, uid_t uid)
{
	struct user_share *share = share_of(b, uid);
	uint64_t others = b->used - share->used;
	bool allows = others < b->total && share->used < (b->total - others) / 2;

	share->was_refused |= !allows;
	return allows;
}

void user_budget_take(struct user_budget *b, uid_t uid, uint64_t amount, uint64_t now)
{
	struct user_share *share = share_of(b, uid);

	share->used += amount;
	b->used += amount;
	if (!share->taken.count || now - vec_last(&share->taken).time >= STEP_NS)
		vec_push(&share->taken, (struct taken_amount){.time = now});
	vec_last(&share->taken).amount += amount;
}

void user_budget_give(struct user_budget *b, uid_t uid, uint64_t amount)
{
	share_of(b, uid)->used -= amount;
	b->used -= amount;
}

static void forget(struct user_budget *b, struct user_share *share, uint64_t before)
{
	size_t kept = 0;

	/* A row has amounts of up to STEP_NS later. */
	vec_for_each(&share->taken, const struct taken_amount *, taken) {
		if (taken->time + STEP_NS > before) {
			share->taken.items[kept++] = *taken;
			continue;
		}
		share->used -= taken->amount;
		b->used -= taken->amount;
	}
	share->taken.count = kept;
}

void user_budget_forget(struct user_budget *b, uint64_t before)
{
	vec_for_each(&b->shares, struct user_share *, share)
		forget(b, share, before);
}

void user_budget_list_refused(const struct user_budget *b, struct strbuf *out)
{
	const struct user_share *first = NULL;
	size_t more = 0;

	vec_for_each(&b->shares, const struct user_share *, share) {
		if (share->was_refused && first)
			more++;
		else if (share->was_refused)
			first = share;
	}
	if (first)
		strbuf_addf(out, "user %u", first->uid);
	if (more)
		strbuf_addf(out, " and %zu more", more);
}
