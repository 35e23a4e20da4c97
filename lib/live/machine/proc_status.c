/* SPDX-License-Identifier: MIT */
#include "lib/live/machine/proc_status.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/cleanup.h"
#include "lib/base/text.h"

#define STATUS_MAX (64u << 10)
/* Inode of the initial pid namespace: PROC_PID_INIT_INO of the kernel. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

char *proc_status_read(uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	return text_read_file(path, STATUS_MAX, NULL);
}

/* Returns the text after "KEY:" at the start of a line, or NULL. */
static const char *find_line(const char *status, const char *key)
{
	size_t size = strlen(key);

	while (status && (strncmp(status, key, size) != 0 || status[size] != ':')) {
		status = strchr(status, '\n');
		if (status)
			status++;
	}
	return status ? status + size + 1 : NULL;
}

size_t proc_status_numbers(const char *status, const char *key,
			   uint32_t numbers[PROC_STATUS_NUMBERS_MAX])
{
	const char *at = find_line(status, key), *end = at ? strchrnul(at, '\n') : NULL;
	size_t count = 0;

	while (at < end) {
		uint64_t number;

		if (*at == ' ' || *at == '\t') {
			at++;
			continue;
		}
		if (count == PROC_STATUS_NUMBERS_MAX || !text_scan_decimal(&at, end, &number) ||
		    number > UINT32_MAX)
			return 0;
		numbers[count++] = (uint32_t)number;
	}
	return count;
}

uint32_t proc_status_own(const char *key)
{
	_cleanup_free_ char *status = text_read_file("/proc/self/status", STATUS_MAX, NULL);
	uint32_t numbers[PROC_STATUS_NUMBERS_MAX];

	return proc_status_numbers(status, key, numbers) == 1 ? numbers[0] : 0;
}

uint32_t proc_status_pid_namespace(void)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE)
		return 0;
	return (uint32_t)st.st_ino;
}
