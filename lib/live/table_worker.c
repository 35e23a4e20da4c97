/* SPDX-License-Identifier: MIT */
#include "lib/live/table_worker.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/log.h"

struct job {
	uint32_t module_id;
	int fd;
};

struct table_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, done;
	bool stop, is_busy;
	size_t next_job, next_result; /* what is before them is done with */
	VEC(struct job) jobs;
	VEC(struct table_result) results;
	int event_fd;
	/* The thread's own. */
	struct unwind_rules rules;
	size_t stored_rules;
	struct unwind_rule *rule_map;
	uint32_t first_rule, rule_count;
};

/* Rules are counted from UNWIND_RULE_FIRST here, and from first_rule on in the map. */
static uint16_t number_in_map(const struct table_worker *w, uint16_t rule)
{
	uint32_t number = rule - UNWIND_RULE_FIRST;

	if (rule < UNWIND_RULE_FIRST)
		return rule;
	return number < w->rule_count ? (uint16_t)(w->first_rule + number) : UNWIND_RULE_NONE;
}

/* The fixed ones are there already. */
static void store_rules(struct table_worker *w)
{
	for (; w->stored_rules < w->rules.rows.count; w->stored_rules++) {
		uint16_t number = number_in_map(w, (uint16_t)w->stored_rules);

		if (number != UNWIND_RULE_NONE)
			w->rule_map[number] = w->rules.rows.items[w->stored_rules];
	}
}

static void compile(struct table_worker *w, const struct job *job, struct table_result *result)
{
	struct error err = {0};

	*result = (struct table_result){.module_id = job->module_id};
	if (unwind_table_compile(job->fd, &w->rules, &result->table, &err)) {
		log_debug("no unwind table: %s", err.text);
		unwind_table_release(&result->table);
		memset(&result->table, 0, sizeof(result->table));
	}
	close(job->fd);
	vec_for_each(&result->table.rows, struct unwind_row *, row)
		row->rule = number_in_map(w, row->rule);
	store_rules(w);
}

/* With the lock held: the next job, waiting for it. False: the end. */
static bool take_job(struct table_worker *w, struct job *job)
{
	while (!w->stop && w->next_job == w->jobs.count)
		pthread_cond_wait(&w->wake, &w->lock);
	if (w->stop)
		return false;
	*job = w->jobs.items[w->next_job++];
	if (w->next_job == w->jobs.count) {
		vec_clear(&w->jobs);
		w->next_job = 0;
	}
	return true;
}

static void *work(void *arg)
{
	struct table_worker *w = arg;
	const uint64_t one = 1;
	struct job job;

	pthread_mutex_lock(&w->lock);
	while (take_job(w, &job)) {
		struct table_result result;

		w->is_busy = true;
		pthread_mutex_unlock(&w->lock);
		compile(w, &job, &result);
		pthread_mutex_lock(&w->lock);
		w->is_busy = false;
		vec_push(&w->results, result);
		pthread_cond_signal(&w->done);
		(void)!write(w->event_fd, &one, sizeof(one));
	}
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

struct table_worker *table_worker_new(struct unwind_rule *rules, uint32_t first, uint32_t count,
				      int event_fd)
{
	struct table_worker *w = xcalloc(1, sizeof(*w));

	w->rule_map = rules;
	w->first_rule = first;
	w->rule_count = count;
	w->stored_rules = UNWIND_RULE_FIRST;
	w->event_fd = event_fd;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->wake, NULL);
	pthread_cond_init(&w->done, NULL);
	unwind_rules_init(&w->rules);
	if (pthread_create(&w->thread, NULL, work, w)) {
		unwind_rules_release(&w->rules);
		free(w);
		return NULL;
	}
	return w;
}

void table_worker_free(struct table_worker *w)
{
	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->wake);
	pthread_mutex_unlock(&w->lock);
	pthread_join(w->thread, NULL);
	for (; w->next_job < w->jobs.count; w->next_job++)
		close(w->jobs.items[w->next_job].fd);
	for (; w->next_result < w->results.count; w->next_result++)
		unwind_table_release(&w->results.items[w->next_result].table);
	vec_release(&w->jobs);
	vec_release(&w->results);
	unwind_rules_release(&w->rules);
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wake);
	pthread_cond_destroy(&w->done);
	free(w);
}

bool table_worker_submit(struct table_worker *w, uint32_t module_id, int fd)
{
	bool has_room;

	pthread_mutex_lock(&w->lock);
	/* Results that nobody has taken yet count, too: they are what takes memory. */
	has_room = w->jobs.count - w->next_job + w->results.count - w->next_result <
		   TABLE_WORKER_JOBS_MAX;
	if (has_room && w->next_job >= TABLE_WORKER_JOBS_MAX) {
		w->jobs.count -= w->next_job;
		memmove(w->jobs.items, w->jobs.items + w->next_job,
			w->jobs.count * sizeof(*w->jobs.items));
		w->next_job = 0;
	}
	if (has_room) {
		vec_push(&w->jobs, (struct job){.module_id = module_id, .fd = fd});
		pthread_cond_signal(&w->wake);
	}
	pthread_mutex_unlock(&w->lock);
	return has_room;
}

void table_worker_wait(struct table_worker *w)
{
	pthread_mutex_lock(&w->lock);
	while (w->is_busy || w->next_job < w->jobs.count)
		pthread_cond_wait(&w->done, &w->lock);
	pthread_mutex_unlock(&w->lock);
}

bool table_worker_next(struct table_worker *w, struct table_result *result)
{
	bool found;

	pthread_mutex_lock(&w->lock);
	found = w->next_result < w->results.count;
	if (found) {
		*result = w->results.items[w->next_result++];
	} else {
		vec_clear(&w->results);
		w->next_result = 0;
	}
	pthread_mutex_unlock(&w->lock);
	return found;
}
