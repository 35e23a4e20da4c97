/* SPDX-License-Identifier: MIT */
#include "cmd/options/container_id.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/identity.h"
#include "lib/base/text.h"

#define FILE_MAX ((size_t)16 << 20)
#define DOCKER "/var/lib/docker/containers"
#define PODMAN "storage/overlay-containers/containers.json"

static json_t *read_json(const char *path)
{
	size_t size;
	_cleanup_free_ char *text = text_read_file(path, FILE_MAX, &size);

	return text ? json_loadb(text, size, 0, NULL) : NULL;
}

/* Looks into the file of each container. */
static char *find_docker(const char *name)
{
	_cleanup_closedir_ DIR *dir = opendir(DOCKER);
	const struct dirent *entry;
	char *id = NULL;

	while (dir && !id && (entry = readdir(dir))) {
		_cleanup_free_ char *path = xasprintf(DOCKER "/%s/config.v2.json", entry->d_name);
		json_t *config = entry->d_name[0] == '.' ? NULL : read_json(path);
		const char *known = json_string_value(json_object_get(config, "Name"));

		if (known && strcmp(known + (*known == '/'), name) == 0)
			id = xstrdup(entry->d_name);
		json_decref(config);
	}
	return id;
}

static bool has_name(const json_t *names, const char *name)
{
	for (size_t i = 0; i < json_array_size(names); i++) {
		const char *known = json_string_value(json_array_get(names, i));

		if (known && strcmp(known, name) == 0)
			return true;
	}
	return false;
}

static char *find_podman(const char *path, const char *name)
{
	json_t *all = read_json(path);
	char *id = NULL;

	for (size_t i = 0; !id && i < json_array_size(all); i++) {
		const json_t *row = json_array_get(all, i);
		const char *known = json_string_value(json_object_get(row, "id"));

		if (known && has_name(json_object_get(row, "names"), name))
			id = xstrdup(known);
	}
	json_decref(all);
	return id;
}

char *container_id(const char *name)
{
	const struct identity owner = identity_of_invoker();
	struct identity before = identity_assume_files(&owner);
	const char *home = getenv("HOME");
	_cleanup_free_ char *own = home ? xasprintf("%s/.local/share/containers/" PODMAN, home)
					: NULL;
	/* Read what is in a home as its user. */
	char *id = own && !before.failure ? find_podman(own, name) : NULL;

	identity_restore_files(&before);
	if (!id)
		id = find_podman("/var/lib/containers/" PODMAN, name);
	return id ? id : find_docker(name);
}
