/* SPDX-License-Identifier: MIT */
#include "cmd/net/ssh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define ANCESTORS_MAX 32
#define FILE_MAX ((size_t)1 << 20)

static const char variable[] = "SSH_CONNECTION=";

static char *read_file(pid_t pid, const char *name, size_t *size)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/%s", (int)pid, name);

	return text_read_file(path, FILE_MAX, size);
}

/* The name, in parentheses, may contain anything. */
static pid_t parent_of(pid_t pid)
{
	size_t size;
	_cleanup_free_ char *text = read_file(pid, "stat", &size);
	const char *end = text ? strrchr(text, ')') : NULL;
	int parent = 0;

	return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool take_connection(pid_t pid)
{
	size_t size = 0;
	_cleanup_free_ char *text = read_file(pid, "environ", &size);

	for (size_t at = 0; text && at < size; at += strnlen(text + at, size - at) + 1) {
		if (!text_starts_with(text + at, variable))
			continue;
		setenv("SSH_CONNECTION", text + at + strlen(variable), 1);
		return true;
	}
	return false;
}

void ssh_find_connection(void)
{
	pid_t pid = getppid();

	if (getenv("SSH_CONNECTION") || !getenv("SUDO_UID"))
		return;
	for (int i = 0; i < ANCESTORS_MAX && pid > 1 && !take_connection(pid); i++)
		pid = parent_of(pid);
}
