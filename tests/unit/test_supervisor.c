/* SPDX-License-Identifier: MIT */
/* The end of a recording, and prof's exit status. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>

#include "cmd/run/supervisor.h"
#include "lib/base/cleanup.h"
#include "tests/unit/fake_clock.h"
#include "tests/unit/test.h"

#define NS_PER_MS 1000000ull
/* A duration that is over soon; how soon does not matter. */
#define SHORT_NS (30 * NS_PER_MS)
/* Signals this far apart count as two. */
#define BETWEEN_KEYS_NS (100 * NS_PER_MS)

struct setup {
	struct signals signals;
	struct child *child;
	struct supervisor supervisor;
};

/*
 * The script prints a line once it is ready, then nothing. The clock stands still until one of the
 * supervisor's waits has used up a timeout, or the test moves it.
 */
static void start(struct setup *t, const char *script, uint64_t duration_ns, bool kill_at_end,
		  unsigned int timeouts)
{
	char *argv[] = {"sh", "-c", (char *)script, NULL};
	struct child_options options = {
		.argv = argv,
		.identity.is_self = true,
		.keep_capabilities = true,
	};
	struct error err = {0};
	int pipe_fds[2];
	char byte;

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	options.stdout_fd = pipe_fds[1];
	memset(t, 0, sizeof(*t));
	if (signals_init(&t->signals, &err))
		fail_msg("%s", err.text);
	options.signal_mask = t->signals.inherited_mask;
	sigemptyset(&options.ignored_signals);
	if (child_new(&t->child, &options, &err) ||
	    supervisor_init(&t->supervisor, &t->signals, &err) || child_execute(t->child, &err))
		fail_msg("%s", err.text);
	t->supervisor.child = t->child;
	t->supervisor.kill_at_end = kill_at_end;
	assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	fake_clock_start(timeouts);
	assert_int_equal(supervisor_start(&t->supervisor, duration_ns, &err), 0);
}

static void end(struct setup *t)
{
	struct pollfd fd = {.fd = child_fd(t->child), .events = POLLIN};

	fake_clock_stop();
	child_kill(t->child, SIGKILL);
	assert_int_equal(poll(&fd, 1, -1), 1);
	supervisor_release(&t->supervisor);
	child_free(t->child);
	sigprocmask(SIG_SETMASK, &t->signals.inherited_mask, NULL);
	signals_release(&t->signals);
}

/* Waits on the three descriptors, as a recording does. */
static void until_stopped(struct setup *t)
{
	struct pollfd fds[] = {
		{.fd = t->signals.fd, .events = POLLIN},
		{.fd = child_fd(t->child), .events = POLLIN},
		{.fd = t->supervisor.timer_fd, .events = POLLIN},
	};

	while (!supervisor_poll(&t->supervisor))
		assert_true(poll(fds, 3, -1) > 0);
}

TEST(the_status_of_the_command_is_passed_on)
{
	static const struct {
		const char *script;
		int status;
	} rows[] = {{"echo; exit 0", 0},
		    {"echo; exit 42", 42},
		    {"echo; kill -9 $$", 137},
		    {"echo; kill -15 $$", 143}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct setup t;

		start(&t, rows[i].script, 0, false, 0);
		until_stopped(&t);
		assert_int_equal(t.supervisor.reason, STOP_CHILD_ENDED);
		supervisor_settle(&t.supervisor);
		assert_int_equal(supervisor_exit_status(&t.supervisor), rows[i].status);
		assert_int_equal(supervisor_finish_signals(&t.supervisor), 0);
		end(&t);
	}
}

TEST(a_duration_leaves_the_command_alone)
{
	struct setup t;
	int status;

	start(&t, "echo; exec sleep 60", SHORT_NS, false, 0);
	until_stopped(&t);
	assert_int_equal(t.supervisor.reason, STOP_DURATION);
	supervisor_settle(&t.supervisor);
	assert_int_equal(supervisor_exit_status(&t.supervisor), 0);
	assert_int_equal(child_poll(t.child, &status), CHILD_RUNNING);
	end(&t);
}

TEST(a_duration_may_kill)
{
	struct setup t;

	start(&t, "echo; exec sleep 60", SHORT_NS, true, 0);
	until_stopped(&t);
	supervisor_settle(&t.supervisor);
	assert_true(t.supervisor.child_ended);
	assert_int_equal(WTERMSIG(t.supervisor.wait_status), SIGTERM);
	assert_int_equal(supervisor_exit_status(&t.supervisor), 0);
	end(&t);
}

TEST(a_stubborn_command_is_killed_for_good)
{
	struct setup t;

	start(&t, "trap '' TERM; echo; while :; do sleep 0.1; done", SHORT_NS, true, 1);
	until_stopped(&t);
	supervisor_settle(&t.supervisor);
	assert_int_equal(fake_clock_passed(), 2000 * NS_PER_MS);
	assert_int_equal(WTERMSIG(t.supervisor.wait_status), SIGKILL);
	assert_int_equal(supervisor_exit_status(&t.supervisor), 0);
	end(&t);
}

TEST(a_signal_is_passed_on)
{
	struct setup t;

	start(&t, "trap 'exit 5' TERM; echo; while :; do sleep 0.01; done", 0, false, 0);
	kill(getpid(), SIGTERM);
	until_stopped(&t);
	assert_int_equal(t.supervisor.reason, STOP_SIGNAL);
	supervisor_settle(&t.supervisor);
	assert_int_equal(supervisor_exit_status(&t.supervisor), 5);
	end(&t);
}

TEST(who_survives_a_signal_is_waited_for_a_second)
{
	struct setup t;

	start(&t, "trap '' INT; echo; while :; do sleep 0.1; done", 0, false, 1);
	kill(getpid(), SIGINT);
	until_stopped(&t);
	supervisor_settle(&t.supervisor);
	assert_int_equal(fake_clock_passed(), 1000 * NS_PER_MS);
	assert_false(t.supervisor.child_ended);
	assert_int_equal(supervisor_exit_status(&t.supervisor), 130);
	end(&t);
}

TEST(one_more_signal_hurries)
{
	struct setup t;

	start(&t, "trap '' INT; echo; while :; do sleep 0.1; done", 0, false, 1);
	kill(getpid(), SIGINT);
	until_stopped(&t);
	assert_int_equal(supervisor_finish_signals(&t.supervisor), 0);
	fake_clock_pass(BETWEEN_KEYS_NS);
	kill(getpid(), SIGINT);
	supervisor_settle(&t.supervisor);
	assert_int_equal(fake_clock_passed(), BETWEEN_KEYS_NS);
	assert_int_not_equal(supervisor_finish_signals(&t.supervisor), 0);
	end(&t);
}

TEST(an_immediate_repetition_is_one_signal)
{
	struct setup t;

	start(&t, "trap '' INT; echo; while :; do sleep 0.1; done", 0, false, 1);
	kill(getpid(), SIGINT);
	until_stopped(&t);
	kill(getpid(), SIGINT);
	fake_clock_pass(BETWEEN_KEYS_NS / 4);
	assert_int_equal(supervisor_finish_signals(&t.supervisor), 0);
	/* A second signal of the same sender does not count. */
	kill(getpid(), SIGTERM);
	assert_int_not_equal(supervisor_finish_signals(&t.supervisor), 0);
	end(&t);
}

TEST(a_failed_recorder_ends_it)
{
	struct setup t;

	start(&t, "echo; exec sleep 60", 0, false, 1);
	assert_false(supervisor_poll(&t.supervisor));
	supervisor_abandon(&t.supervisor);
	assert_true(supervisor_poll(&t.supervisor));
	supervisor_settle(&t.supervisor);
	assert_false(t.supervisor.child_ended);
	end(&t);
}
