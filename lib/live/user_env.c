/* SPDX-License-Identifier: MIT */
#include "lib/live/user_env.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"

static bool is_variable(const char *entry, const char *name)
{
	size_t size = strlen(name);

	return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

static bool is_replaced(const char *entry, const char *user, const char *home)
{
	if (text_starts_with(entry, "SUDO_"))
		return true;
	if (home && is_variable(entry, "HOME"))
		return true;
	return user && (is_variable(entry, "USER") || is_variable(entry, "LOGNAME"));
}

char **user_env_new(char *const *env, const char *user, const char *home)
{
	VEC(char *) list = {0};

	for (; *env; env++) {
		if (!is_replaced(*env, user, home))
			vec_push(&list, xstrdup(*env));
	}
	if (home)
		vec_push(&list, xasprintf("HOME=%s", home));
	if (user) {
		vec_push(&list, xasprintf("USER=%s", user));
		vec_push(&list, xasprintf("LOGNAME=%s", user));
	}
	vec_push(&list, NULL);
	return list.items;
}

void user_env_free(char **env)
{
	if (!env)
		return;
	for (char **it = env; *it; it++)
		free(*it);
	free(env);
}
