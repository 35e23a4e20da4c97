/* SPDX-License-Identifier: MIT */
#include "lib/stream/process/resource.h"
#include "tests/unit/test.h"

/* `arguments` is a literal, whose terminator counts. */
#define FITS(name, program, arguments) \
	process_name_fits(name, program, arguments, sizeof(arguments) - !*(arguments))

TEST(the_programs_name_fits)
{
	assert_true(FITS("node", "node", "node\0a.js"));
	/* A link, and names that the kernel has cut. */
	assert_true(FITS("python3", "python3.11", "python3\0a.py"));
	assert_true(FITS("a-program-with-a", "a-program-with-a-long-name", ""));
	/* exec -a, and a link that was started with another first argument. */
	assert_true(FITS("sleep", "sleep", "other\0001"));
	assert_true(FITS("vi", "vim.basic", "/usr/bin/vi\0a.c"));
	assert_true(FITS("vi", "vim.basic", "vi"));
	assert_true(FITS("ls", "busybox", "/bin/ls\0-l"));
	assert_true(FITS("sh", "busybox", "-sh"));
	assert_true(FITS("kworker/0:1", "", ""));
}

TEST(names_of_threads_do_not)
{
	assert_false(FITS("MainThread", "node", "node\0a.mjs"));
	assert_false(FITS("node-MainThread", "node", "/usr/bin/node\0a.mjs"));
	assert_false(FITS("Isolated Web Co", "firefox-esr", "/usr/lib/firefox-esr\0-contentproc"));
	assert_false(FITS("MainThread", "node", ""));
	/* A later argument is not what the process is called by. */
	assert_false(FITS("MainThread", "node", "node\0a\0b\0MainThread"));
	assert_false(FITS("Main", "node", "node\0MainThread.js"));
}

TEST(scripts_are_called_by_their_files)
{
	assert_true(FITS("run.sh", "dash", "/bin/sh\0./run.sh"));
	assert_true(FITS("run", "mawk", "/usr/bin/awk\0-f\0/opt/run\0x"));
	assert_true(FITS("a-script-with-a", "bash", "/bin/bash\0/tmp/a-script-with-a-long-name"));
	assert_false(FITS("MainThread", "dash", "/bin/sh\0./run.sh"));
}

TEST(titles_fit)
{
	assert_true(FITS("npm run build", "node", "npm run build"));
	assert_true(FITS("gunicorn: worke", "python3.11", "gunicorn: worker [app]"));
	assert_true(FITS("(sd-pam)", "systemd", "(sd-pam)"));
	assert_true(FITS("/srv/job", "python3.11", "/srv/job of user"));
	/* Without arguments of their own: the name begins with the program's. */
	assert_true(FITS("tmux: server", "tmux", "tmux\0new"));
	assert_false(FITS("tmuxinator: x", "tmux", "tmux\0new"));
}
