/* SPDX-License-Identifier: MIT */
#include "cmd/net/shared_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/net/store_answer.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/strbuf.h"
#include "lib/base/text.h"

#define FILE_MAX ((size_t)64 << 10)
#define LINE_COUNT 5

void shared_row_release(struct shared_row *row)
{
	free(row->token);
	free(row->store);
	free(row->url);
	free(row->right);
	free(row->name);
	free(row->time);
	*row = (struct shared_row){0};
}

void shared_list_release(struct shared_list *l)
{
	vec_for_each(&l->rows, struct shared_row *, row)
		shared_row_release(row);
	vec_release(&l->rows);
}

/* Returns the folder; NULL: there is no home. Makes it if asked to. */
static char *folder_path(bool make)
{
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path;

	if (state && *state == '/')
		path = xasprintf("%s/prof/shared", state);
	else if (home && *home == '/')
		path = xasprintf("%s/.local/state/prof/shared", home);
	else
		return NULL;
	for (char *slash = path + 1; make && (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	if (make)
		mkdir(path, 0700);
	return path;
}

int shared_list_prepare(struct error *err)
{
	_cleanup_free_ char *folder = folder_path(true);

	if (!folder)
		return error_text(err, -ENOENT, "no home folder to keep the deletion token in");
	if (access(folder, W_OK | X_OK))
		return error_set(err, -errno, "keep the deletion token in %s", folder);
	return 0;
}

int shared_list_add(const struct shared_row *row, struct error *err)
{
	_cleanup_free_ char *folder = folder_path(true);
	_cleanup_free_ char *path = folder ? xasprintf("%s/%s", folder, row->token) : NULL;
	_cleanup_free_ char *text = xasprintf("%s\n%s\n%s\n%s\n%s\n", row->time, row->store,
					      row->url, row->name, row->right);
	_cleanup_close_ int fd = -1;
	ssize_t size = (ssize_t)strlen(text);

	if (!path)
		return error_text(err, -ENOENT, "no home folder");
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fchmod(fd, 0600) || write(fd, text, (size_t)size) != size)
		return error_set(err, -errno, "write %s", path);
	return 0;
}

static void read_row(struct shared_list *l, const char *folder, const char *token)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", folder, token);
	_cleanup_free_ char *text = text_read_file(path, FILE_MAX, NULL);
	char *rest = text, *lines[LINE_COUNT];

	for (size_t i = 0; i < LINE_COUNT; i++) {
		lines[i] = strsep(&rest, "\n");
		if (!lines[i])
			return;
	}
	vec_push(&l->rows, (struct shared_row){
				   .token = xstrdup(token),
				   .time = xstrdup(lines[0]),
				   .store = xstrdup(lines[1]),
				   .url = xstrdup(lines[2]),
				   .name = xstrdup(lines[3]),
				   .right = xstrdup(lines[4]),
			   });
}

static int compare_rows(const void *a, const void *b)
{
	return strcmp(((const struct shared_row *)a)->time, ((const struct shared_row *)b)->time);
}

void shared_list_read(struct shared_list *l)
{
	_cleanup_free_ char *path = folder_path(false);
	_cleanup_closedir_ DIR *folder = path ? opendir(path) : NULL;
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		if (store_token_is_valid(entry->d_name))
			read_row(l, path, entry->d_name);
	}
	vec_sort(&l->rows, compare_rows);
}

int shared_list_remove(const char *token, struct error *err)
{
	_cleanup_free_ char *folder = folder_path(false);
	_cleanup_free_ char *path = folder ? xasprintf("%s/%s", folder, token) : NULL;

	if (!path || unlink(path))
		return error_set(err, path ? -errno : -ENOENT, "remove %s", path ? path : token);
	return 0;
}
