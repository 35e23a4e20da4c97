/* SPDX-License-Identifier: MIT */
#include "lib/recording/workplace/naming.h"

#include <pthread.h>
#include <pwd.h>

#include "lib/base/identity.h"
#include "lib/base/program.h"
#include "symbolize/symbolize_profile.h"

/* Time limit for all downloads of a profile if stall_ns is not set. */
#define DOWNLOAD_NS 60000000000ull

const char *const naming_fetch_command[] = {program_again, NAMING_FETCH, NULL};

bool naming_downloads(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

/* Not freed if threads were left behind. */
struct finding {
	struct naming naming;
	struct identity owner; /* valid if naming.owner is set */
	char *kernel_release;
	struct debug_search search;
	pthread_mutex_t lock; /* taken because symbolizing and downloads run in parallel */
	bool is_over; /* no further progress callbacks */
	char *home; /* home folder of the owner; NULL: from the environment */
	char *cache;
	char *unpacked;
	struct debug_fetcher *fetcher;
};

static enum workers_wish on_names(void *ctx, size_t done, size_t count)
{
	struct finding *n = ctx;
	enum workers_wish wish;

	pthread_mutex_lock(&n->lock);
	wish = n->naming.on_names(n->naming.ctx, done, count);
	pthread_mutex_unlock(&n->lock);
	return wish;
}

static bool on_download(void *ctx, const char *path, uint64_t done, uint64_t size)
{
	struct finding *n = ctx;
	bool stop;

	pthread_mutex_lock(&n->lock);
	stop = n->is_over ||
	       (n->naming.on_download && n->naming.on_download(n->naming.ctx, path, done, size));
	pthread_mutex_unlock(&n->lock);
	return stop;
}

/* Under sudo the environment is root's, or modified by sudo. */
static char *home_of(const struct identity *owner)
{
	const struct passwd *entry = owner && !owner->is_self ? getpwuid(owner->uid) : NULL;

	return entry && entry->pw_dir ? xstrdup(entry->pw_dir) : NULL;
}

/* Returns the folder in which debuginfod's client caches downloads. */
static char *cache_of(const char *home)
{
	const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *xdg = getenv("XDG_CACHE_HOME");

	if (home)
		return xasprintf("%s/.cache/debuginfod_client", home);
	if (path && *path)
		return xstrdup(path);
	if (xdg && *xdg)
		return xasprintf("%s/debuginfod_client", xdg);
	home = getenv("HOME");
	return home && *home ? xasprintf("%s/.cache/debuginfod_client", home) : NULL;
}

static struct finding *finding_new(const struct naming *naming)
{
	struct finding *n = xcalloc(1, sizeof(*n));
	bool is_given = naming->fetcher >= 0;

	*n = (struct finding){.naming = *naming, .lock = PTHREAD_MUTEX_INITIALIZER};
	if (naming->owner) {
		n->owner = *naming->owner;
		n->naming.owner = &n->owner;
	}
	if (naming->kernel_release)
		n->kernel_release = xstrdup(naming->kernel_release);
	n->home = home_of(naming->owner);
	n->cache = cache_of(n->home);
	n->unpacked = naming->keeps_unpacked ? cache_folder_path() : NULL;
	if (is_given || naming_downloads())
		n->fetcher = debug_fetcher_new(&(struct debug_fetcher_options){
			.command = is_given ? NULL : naming_fetch_command,
			.socket = naming->fetcher,
			.owner = n->naming.owner,
			.home = n->home,
			.limit_ns = naming->stall_ns ? 0 : DOWNLOAD_NS,
			.stall_ns = naming->stall_ns,
			.progress = on_download,
			.ctx = n,
		});
	n->search = (struct debug_search){
		.dirs = naming->dirs,
		.cache = n->cache,
		.owner = n->naming.owner,
		.fetcher = n->fetcher,
		.kernel_release = n->kernel_release,
		.unpacked = n->unpacked,
	};
	return n;
}

static void finding_free(struct finding *n)
{
	debug_fetcher_free(n->fetcher);
	free(n->cache);
	free(n->unpacked);
	free(n->home);
	free(n->kernel_release);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

void naming_run(struct profile *p, const struct naming *naming)
{
	struct finding *n = finding_new(naming);

	symbolize_profile(p, &(struct symbolize_options){
				     .files = naming->files,
				     .kernel_symbols = naming->kernel_symbols,
				     .search = &n->search,
				     .cache = naming->cache,
				     .stall_ns = naming->stall_ns,
				     .progress = naming->on_names ? on_names : NULL,
				     .ctx = n,
			     });
	pthread_mutex_lock(&n->lock);
	n->is_over = true;
	pthread_mutex_unlock(&n->lock);
	if (!threads_are_left())
		finding_free(n);
}

int naming_fetch(const struct debug_request *request, const struct identity *owner)
{
	_cleanup_free_ char *home = home_of(owner);
	const struct debug_fetcher_options options = {
		.command = naming_fetch_command,
		.owner = owner,
		.home = home,
		.limit_ns = DOWNLOAD_NS,
	};
	struct debug_fetcher *fetcher;
	enum symbol_reason reason;
	int fd;

	if (!naming_downloads())
		return -1;
	fetcher = debug_fetcher_new(&options);
	fd = debug_fetch(fetcher, request, &reason);
	debug_fetcher_free(fetcher);
	/* The client has just written it. */
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}
