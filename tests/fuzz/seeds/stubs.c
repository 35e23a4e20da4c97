/* SPDX-License-Identifier: MIT */
/*
 * Calls functions elsewhere, one of which also has its address taken, and one chosen at run time.
 */
extern int first(int n), second(int n), _ZN5third6methodEi(int n);

static int chosen(int n)
{
	return n + 1;
}

static int (*choose(void))(int)
{
	return chosen;
}

__attribute__((visibility("hidden"), ifunc("choose"))) int picked(int n);

int (*table[])(int) = {second, chosen};

int call_all(int (**f)(int), int n)
{
	*f = second;
	return first(n) + second(n) + _ZN5third6methodEi(n) + picked(n);
}
