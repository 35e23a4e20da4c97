/* SPDX-License-Identifier: MIT */
#include "lib/recording/workplace/perf_cache.h"

#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

/* Under sudo, HOME may be anybody's. */
static const char *home_of(const struct identity *user)
{
	const struct passwd *entry = getpwuid(user->uid);
	const char *home = user->is_self ? getenv("HOME") : NULL;

	if (home && *home)
		return home;
	return entry ? entry->pw_dir : NULL;
}

char *perf_cache_folder(const struct identity *user)
{
	const char *home = home_of(user);
	_cleanup_free_ char *path = home ? xasprintf("%s/.debug", home) : NULL;
	struct stat st;

	if (!path || stat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != user->uid ||
	    st.st_mode & (S_IWGRP | S_IWOTH))
		return NULL;
	return steal(path);
}
