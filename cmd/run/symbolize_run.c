/* SPDX-License-Identifier: MIT */
#include "cmd/run/symbolize_run.h"

#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/command.h"
#include "cmd/text/progress.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "symbolize/symbolize.h"

/* Limit for all downloads of one profile. */
#define DOWNLOAD_NS 60000000000ull

const char *const symbolize_run_fetch_command[] = {"/proc/self/exe", COMMAND_FETCH, NULL};

bool symbolize_run_downloads(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");

	return urls && *urls;
}

struct finding {
	const struct symbolize_run_options *options;
	pthread_mutex_t lock; /* symbolizing and downloads run in parallel */
	struct progress progress;
	char *home; /* home of the owner; NULL: as in the environment */
	char *cache;
	struct debug_fetcher *fetcher;
};

static bool should_stop(struct finding *n)
{
	return n->options->should_stop && n->options->should_stop(n->options->ctx);
}

static bool on_names(void *ctx, size_t done, size_t count)
{
	struct finding *n = ctx;
	bool stop;

	pthread_mutex_lock(&n->lock);
	progress_symbolize(&n->progress, done, count);
	stop = should_stop(n);
	pthread_mutex_unlock(&n->lock);
	return stop;
}

static bool on_download(void *ctx, const char *path, uint64_t done, uint64_t size)
{
	struct finding *n = ctx;
	bool stop;

	pthread_mutex_lock(&n->lock);
	progress_download(&n->progress, path, done, size);
	stop = should_stop(n);
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

static void finding_init(struct finding *n, const struct symbolize_run_options *options)
{
	bool is_given = options->fetcher >= 0;

	*n = (struct finding){.options = options, .lock = PTHREAD_MUTEX_INITIALIZER};
	n->home = home_of(options->owner);
	n->cache = cache_of(n->home);
	progress_init(&n->progress, options->output->quiet, options->front);
	if (is_given || symbolize_run_downloads())
		n->fetcher = debug_fetcher_new(&(struct debug_fetcher_options){
			.command = is_given ? NULL : symbolize_run_fetch_command,
			.socket = options->fetcher,
			.owner = options->owner,
			.home = n->home,
			.limit_ns = DOWNLOAD_NS,
			.progress = on_download,
			.ctx = n,
		});
}

static void finding_release(struct finding *n)
{
	progress_erase(&n->progress);
	debug_fetcher_free(n->fetcher);
	free(n->cache);
	free(n->home);
	pthread_mutex_destroy(&n->lock);
}

void symbolize_run(struct profile *p, const struct symbolize_run_options *options)
{
	struct finding n;
	struct debug_search search;

	finding_init(&n, options);
	search = (struct debug_search){
		.dirs = options->output->debug_dirs.items,
		.cache = n.cache,
		.owner = options->owner,
		.fetcher = n.fetcher,
		.kernel_release = options->kernel_release,
	};
	symbolize_profile(p, &(struct symbolize_options){
				     .files = options->files,
				     .kernel_symbols = options->kernel_symbols,
				     .search = &search,
				     .progress = on_names,
				     .ctx = &n,
			     });
	finding_release(&n);
}

int symbolize_run_fetch(const struct debug_request *request, const struct identity *owner)
{
	_cleanup_free_ char *home = home_of(owner);
	const struct debug_fetcher_options options = {
		.command = symbolize_run_fetch_command,
		.owner = owner,
		.home = home,
		.limit_ns = DOWNLOAD_NS,
	};
	struct debug_fetcher *fetcher;
	enum symbol_reason reason;
	int fd;

	if (!symbolize_run_downloads())
		return -1;
	fetcher = debug_fetcher_new(&options);
	fd = debug_fetch(fetcher, request, &reason);
	debug_fetcher_free(fetcher);
	/* The client has written it just now. */
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}
