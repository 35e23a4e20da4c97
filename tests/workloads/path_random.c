/* SPDX-License-Identifier: MIT */
/*
 *	path_random SEED [DEPTH]
 *
 * A program that is random, but the same for each seed: processes and threads that work, sleep,
 * start others, and wait for one another by pipes, sockets, locks, conditions and events.
 */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 3
#define ACTIONS_MAX 6
#define TRIPS_MAX 30
#define WORK_MAX_US 600
#define SLEEP_MAX_US 2000
#define OTHERS_MAX 3

/* A thread or process that acts at random. */
struct actor {
	uint64_t state; /* of the generator */
	int depth; /* levels of actors that it may still start */
};

static const char *program;

/* By Vigna, splitmix64. */
static uint64_t next(struct actor *a)
{
	uint64_t z = a->state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static unsigned int below(struct actor *a, unsigned int limit)
{
	return (unsigned int)(next(a) % limit);
}

static struct actor child_of(struct actor *a)
{
	return (struct actor){.state = next(a), .depth = a->depth - 1};
}

static uint64_t cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void work(struct actor *a)
{
	uint64_t end = cpu_us() + below(a, WORK_MAX_US);

	while (cpu_us() < end) {
		for (volatile int i = 0; i < 500; i++)
			;
	}
}

static void doze(struct actor *a)
{
	const struct timespec time = {.tv_nsec = 1000l * below(a, SLEEP_MAX_US)};
	const struct itimerspec timer = {.it_value = {.tv_nsec = time.tv_nsec + 1}};
	struct pollfd fd = {.events = POLLIN};
	uint64_t expired;

	switch (below(a, 3)) {
	case 0:
		nanosleep(&time, NULL);
		break;
	case 1:
		poll(NULL, 0, 1);
		break;
	default:
		fd.fd = timerfd_create(CLOCK_MONOTONIC, 0);
		timerfd_settime(fd.fd, 0, &timer, NULL);
		if (poll(&fd, 1, -1) == 1 && read(fd.fd, &expired, sizeof(expired)) < 0)
			exit(1);
		close(fd.fd);
	}
}

static void act(struct actor *a);

static void *run_thread(void *actor)
{
	act(actor);
	return NULL;
}

static void start_threads(struct actor *a)
{
	struct actor others[OTHERS_MAX];
	pthread_t threads[OTHERS_MAX];
	unsigned int count = 1 + below(a, OTHERS_MAX);

	for (unsigned int i = 0; i < count; i++) {
		others[i] = child_of(a);
		pthread_create(&threads[i], NULL, run_thread, &others[i]);
	}
	work(a);
	for (unsigned int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void start_processes(struct actor *a, bool executes)
{
	pid_t pids[OTHERS_MAX];
	unsigned int count = 1 + below(a, OTHERS_MAX);

	for (unsigned int i = 0; i < count; i++) {
		struct actor child = child_of(a);
		char seed[24], depth[12];

		snprintf(seed, sizeof(seed), "%llu", (unsigned long long)child.state);
		snprintf(depth, sizeof(depth), "%d", child.depth);
		pids[i] = fork();
		if (pids[i] > 0)
			continue;
		if (!pids[i] && executes)
			execl(program, program, seed, depth, NULL);
		if (!pids[i] && !executes)
			act(&child);
		_exit(pids[i] || executes);
	}
	work(a);
	for (unsigned int i = 0; i < count; i++)
		waitpid(pids[i], NULL, 0);
}

/* Two ends of a connection, each to be read and written by one side. */
struct ends {
	int in[2], out[2];
};

static void connect_tcp(int *one, int *two)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof(at);
	int door = socket(AF_INET, SOCK_STREAM, 0);

	*one = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(door, (struct sockaddr *)&at, sizeof(at)) || listen(door, 1) ||
	    getsockname(door, (struct sockaddr *)&at, &size) ||
	    connect(*one, (struct sockaddr *)&at, sizeof(at)))
		exit(1);
	*two = accept(door, NULL, NULL);
	close(door);
}

static struct ends connect_ends(struct actor *a)
{
	struct ends e;
	int pair[2];

	switch (below(a, 3)) {
	case 0:
		if (pipe(pair))
			exit(1);
		e.in[0] = pair[0];
		e.out[1] = pair[1];
		if (pipe(pair))
			exit(1);
		e.in[1] = pair[0];
		e.out[0] = pair[1];
		return e;
	case 1:
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
			exit(1);
		break;
	default:
		connect_tcp(&pair[0], &pair[1]);
	}
	for (int i = 0; i < 2; i++) {
		e.in[i] = pair[i];
		e.out[i] = dup(pair[i]);
	}
	return e;
}

static void close_end(const struct ends *e, int side)
{
	close(e->in[side]);
	close(e->out[side]);
}

/* Each side works when it has the token. */
static void make_trips(struct actor *a, const struct ends *e, int side, unsigned int trips)
{
	char token = 0;

	for (unsigned int i = 0; i < 2 * trips; i++) {
		if ((i & 1) == (unsigned int)side) {
			work(a);
			if (write(e->out[side], &token, 1) != 1)
				return;
		} else if (read(e->in[side], &token, 1) != 1) {
			return;
		}
	}
}

static void exchange(struct actor *a)
{
	struct ends e = connect_ends(a);
	unsigned int trips = 1 + below(a, TRIPS_MAX);
	struct actor child = child_of(a);
	pid_t pid = fork();

	if (pid < 0)
		exit(1);
	if (!pid) {
		close_end(&e, 0);
		make_trips(&child, &e, 1, trips);
		_exit(0);
	}
	close_end(&e, 1);
	make_trips(a, &e, 0, trips);
	close_end(&e, 0);
	waitpid(pid, NULL, 0);
}

/* Threads that share a lock, a stage that all reach, and an event. */
struct shared {
	pthread_mutex_t mutex;
	pthread_cond_t all_came;
	unsigned int count, came, stage, rounds;
	int event, epoll;
};

struct sharer {
	struct actor actor;
	struct shared *shared;
};

static void reach_stage(struct shared *s)
{
	unsigned int stage;

	pthread_mutex_lock(&s->mutex);
	stage = s->stage;
	if (++s->came == s->count) {
		s->came = 0;
		s->stage++;
		pthread_cond_broadcast(&s->all_came);
	}
	while (s->stage == stage)
		pthread_cond_wait(&s->all_came, &s->mutex);
	pthread_mutex_unlock(&s->mutex);
}

static void *share(void *sharer)
{
	struct actor *a = &((struct sharer *)sharer)->actor;
	struct shared *s = ((struct sharer *)sharer)->shared;
	uint64_t one = 1;

	for (unsigned int i = 0; i < s->rounds; i++) {
		work(a);
		pthread_mutex_lock(&s->mutex);
		work(a);
		pthread_mutex_unlock(&s->mutex);
		if (i % 3 == 2)
			reach_stage(s);
	}
	if (write(s->event, &one, sizeof(one)) != sizeof(one))
		exit(1);
	return NULL;
}

static void share_locks(struct actor *a)
{
	struct shared s = {
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.all_came = PTHREAD_COND_INITIALIZER,
		.count = 2 + below(a, OTHERS_MAX - 1),
		.rounds = 1 + below(a, TRIPS_MAX / 2),
		.event = eventfd(0, 0),
		.epoll = epoll_create1(0),
	};
	struct epoll_event wanted = {.events = EPOLLIN}, event;
	struct sharer sharers[OTHERS_MAX];
	pthread_t threads[OTHERS_MAX];
	uint64_t ended = 0, more;

	epoll_ctl(s.epoll, EPOLL_CTL_ADD, s.event, &wanted);
	for (unsigned int i = 0; i < s.count; i++) {
		sharers[i] = (struct sharer){child_of(a), &s};
		pthread_create(&threads[i], NULL, share, &sharers[i]);
	}
	for (; ended < s.count; ended += more) {
		if (epoll_wait(s.epoll, &event, 1, -1) != 1 ||
		    read(s.event, &more, sizeof(more)) != sizeof(more))
			exit(1);
	}
	for (unsigned int i = 0; i < s.count; i++)
		pthread_join(threads[i], NULL);
	close(s.event);
	close(s.epoll);
}

static void act(struct actor *a)
{
	unsigned int count = 1 + below(a, ACTIONS_MAX);

	for (unsigned int i = 0; i < count; i++) {
		switch (below(a, a->depth > 0 ? 8 : 3)) {
		case 0:
		case 1:
			work(a);
			break;
		case 2:
			doze(a);
			break;
		case 3:
			start_threads(a);
			break;
		case 4:
			start_processes(a, false);
			break;
		case 5:
			start_processes(a, true);
			break;
		case 6:
			exchange(a);
			break;
		default:
			share_locks(a);
		}
	}
}

int main(int argc, char **argv)
{
	struct actor a = {.depth = DEPTH};

	program = argv[0];
	if (argc > 1)
		a.state = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		a.depth = atoi(argv[2]);
	act(&a);
	if (argc == 2)
		act(&a);
	return 0;
}
