/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/user_env.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"
#include "lib/base/vec.h"
#include "lib/live/machine/proc_status.h"

/* Bytes; above the kernel's limit for a new program. */
#define ENVIRON_MAX (8u << 20)

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

/* Compares the real, effective, saved and file system ids: sudo is root for its caller. */
static bool is_sudo_of(pid_t pid, uid_t uid)
{
	_cleanup_free_ char *status = proc_status_read((uint32_t)pid);
	uint32_t uids[PROC_STATUS_NUMBERS_MAX];
	char path[48], program[PATH_MAX];
	ssize_t size;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	size = readlink(path, program, sizeof(program) - 1);
	if (size < 0 || !status)
		return false;
	program[size] = '\0';
	return text_ends_with(program, "/sudo") && proc_status_numbers(status, "Uid", uids) == 4 &&
	       uids[0] == uid && uids[1] == 0;
}

char **user_env_of_caller(uid_t uid)
{
	_cleanup_free_ char *text = NULL;
	VEC(char *) list = {0};
	pid_t parent = getppid();
	char path[48];
	size_t size;

	if (!is_sudo_of(parent, uid))
		return NULL;
	/* Works also if sudo forked a second process in between, which did not exec. */
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)parent);
	text = text_read_file(path, ENVIRON_MAX, &size);
	if (!text || getppid() != parent)
		return NULL;
	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		if (strchr(text + at, '='))
			vec_push(&list, xstrdup(text + at));
	}
	vec_push(&list, NULL);
	return list.items;
}

static bool is_same_variable(const char *one, const char *other)
{
	size_t size = strcspn(one, "=");

	return strncmp(one, other, size) == 0 && other[size] == '=';
}

static const char *find_variable(char *const *env, const char *entry)
{
	for (; *env; env++) {
		if (is_same_variable(entry, *env))
			return *env;
	}
	return NULL;
}

static bool is_reset_by_sudo(const char *entry)
{
	return is_variable(entry, "PATH") || is_variable(entry, "SHELL") ||
	       is_variable(entry, "MAIL");
}

char **user_env_merge(char *const *caller, char *const *own)
{
	VEC(char *) list = {0};

	for (char *const *it = caller; *it; it++) {
		const char *now = is_reset_by_sudo(*it) ? NULL : find_variable(own, *it);

		vec_push(&list, xstrdup(now ? now : *it));
	}
	for (; *own; own++) {
		if (!find_variable(caller, *own))
			vec_push(&list, xstrdup(*own));
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
