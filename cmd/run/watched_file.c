/* SPDX-License-Identifier: MIT */
#include "cmd/run/watched_file.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/thread.h"

#define POLL_NS 100000000l
#define FIRST_POLL_NS 1000000000l
#define NS_PER_SECOND 1000000000l

struct file_state {
	uint64_t ino, size, ns; /* ino 0: there is no such file */
};

struct watched_file {
	char *path;
	const struct identity *owner; /* borrowed */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool was_seen; /* the first poll is over */
	bool has_change, is_over;
};

static struct file_state read_state(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return (struct file_state){0};
	return (struct file_state){
		.ino = st.st_ino,
		.size = (uint64_t)st.st_size,
		.ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND + (uint64_t)st.st_mtim.tv_nsec,
	};
}

static bool differs(const struct file_state *a, const struct file_state *b)
{
	return a->ino != b->ino || a->size != b->size || a->ns != b->ns;
}

/* Waits with the lock, until `ns` have passed or something has changed. */
static int wait_for_change(struct watched_file *w, long ns)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ns;
	until.tv_sec += until.tv_nsec / NS_PER_SECOND;
	until.tv_nsec %= NS_PER_SECOND;
	return pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

/* Tells what was seen, and pauses. False: it is over. */
static bool go_on(struct watched_file *w, bool has_change)
{
	bool is_over;

	pthread_mutex_lock(&w->lock);
	w->has_change |= has_change;
	w->was_seen = true;
	pthread_cond_broadcast(&w->changed);
	while (!w->is_over && wait_for_change(w, POLL_NS) == 0)
		;
	is_over = w->is_over;
	pthread_mutex_unlock(&w->lock);
	return !is_over;
}

static void *watch(void *ctx)
{
	struct watched_file *w = ctx;
	struct identity before = identity_assume_files(w->owner);
	struct file_state state = {0}, last = {0};
	bool has_change = false;

	if (!before.failure)
		last = read_state(w->path);
	while (go_on(w, has_change) && !before.failure) {
		state = read_state(w->path);
		has_change = state.ino && differs(&state, &last);
		last = state;
	}
	identity_restore_files(&before);
	return NULL;
}

static void release(struct watched_file *w)
{
	pthread_cond_destroy(&w->changed);
	pthread_mutex_destroy(&w->lock);
	free(w->path);
	free(w);
}

struct watched_file *watched_file_new(const char *path, const struct identity *owner,
				      struct error *err)
{
	struct watched_file *w = xcalloc(1, sizeof(*w));
	int code;

	w->path = xstrdup(path);
	w->owner = owner;
	pthread_mutex_init(&w->lock, NULL);
	thread_cond_init(&w->changed);
	code = thread_start(&w->thread, "prof-file", watch, w);
	if (code) {
		error_set(err, -code, "start a thread");
		release(w);
		return NULL;
	}
	pthread_mutex_lock(&w->lock);
	while (!w->was_seen && wait_for_change(w, FIRST_POLL_NS) == 0)
		;
	pthread_mutex_unlock(&w->lock);
	return w;
}

bool watched_file_take_change(struct watched_file *w)
{
	bool has_change;

	pthread_mutex_lock(&w->lock);
	has_change = w->has_change;
	w->has_change = false;
	pthread_mutex_unlock(&w->lock);
	return has_change;
}

void watched_file_free(struct watched_file *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_over = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	/* It may still use the path. */
	if (thread_join_soon(w->thread))
		release(w);
}
