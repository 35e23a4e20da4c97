/* SPDX-License-Identifier: MIT */
/*
 * Runs a command to which the kernel refuses system calls, to see how it takes that.
 *
 *	deny CALL[@INDEX:VALUE]=ERRNO... -- COMMAND [ARGUMENT]...
 *
 * CALL is one of `calls`, ERRNO one of `errors`; with @, only calls are refused whose argument
 * INDEX has that value in its lower half. Exit status: the command's, 126 if it could not be run.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RULES_MAX 32

static const struct name {
	const char *text;
	unsigned int value;
} calls[] = {
	{"bpf", SYS_bpf},
	{"capset", SYS_capset},
	{"clone3", SYS_clone3},
	{"epoll_create1", SYS_epoll_create1},
	{"epoll_ctl", SYS_epoll_ctl},
	{"eventfd2", SYS_eventfd2},
	{"fcntl", SYS_fcntl},
	{"getrandom", SYS_getrandom},
	{"ioctl", SYS_ioctl},
	{"linkat", SYS_linkat},
	{"memfd_create", SYS_memfd_create},
	{"mmap", SYS_mmap},
	{"openat2", SYS_openat2},
	{"perf_event_open", SYS_perf_event_open},
	{"pidfd_open", SYS_pidfd_open},
	{"readlinkat", SYS_readlinkat},
	{"renameat", SYS_renameat},
	{"setgroups", SYS_setgroups},
	{"setresuid", SYS_setresuid},
	{"setrlimit", SYS_prlimit64},
	{"setuid", SYS_setuid},
	{"signalfd4", SYS_signalfd4},
	{"socketpair", SYS_socketpair},
	{"statfs", SYS_fstatfs},
	{"statx", SYS_statx},
	{"timerfd_create", SYS_timerfd_create},
	{"timerfd_settime", SYS_timerfd_settime},
#ifdef SYS_readlink
	{"readlink", SYS_readlink},
#else
	{"readlink", SYS_readlinkat},
#endif
};

static const struct name errors[] = {
	{"EACCES", EACCES}, {"EAGAIN", EAGAIN}, {"EBUSY", EBUSY},	    {"EINVAL", EINVAL},
	{"EIO", EIO},	    {"EMFILE", EMFILE}, {"ENOENT", ENOENT},	    {"ENOMEM", ENOMEM},
	{"ENOSPC", ENOSPC}, {"ENOSYS", ENOSYS}, {"EOPNOTSUPP", EOPNOTSUPP}, {"EPERM", EPERM},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static unsigned int find(const struct name *names, size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i].text, text) == 0)
			return names[i].value;
	}
	fprintf(stderr, "deny: unknown: %s\n", text);
	exit(126);
}

/* Adds the instructions for one rule; they fall through where it does not apply. */
static size_t add_rule(struct sock_filter *code, char *rule)
{
	char *error = strchr(rule, '='), *at;
	size_t count = 0;
	unsigned int index = 0;
	unsigned long value = 0;

	if (!error) {
		fprintf(stderr, "deny: not CALL=ERRNO: %s\n", rule);
		exit(126);
	}
	*error++ = '\0';
	at = strchr(rule, '@');
	if (at) {
		*at++ = '\0';
		index = (unsigned int)strtoul(at, &at, 10);
		value = strtoul(at + 1, NULL, 0);
	}
	code[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						     offsetof(struct seccomp_data, nr));
	code[count++] = (struct sock_filter)BPF_JUMP(
		BPF_JMP | BPF_JEQ | BPF_K, find(calls, COUNT(calls), rule), 0, at ? 3 : 1);
	if (at) {
		unsigned int offset = offsetof(struct seccomp_data, args) + 8 * index;

		code[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset);
		code[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							     (unsigned int)value, 0, 1);
	}
	code[count++] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_ERRNO | find(errors, COUNT(errors), error));
	return count;
}

int main(int argc, char **argv)
{
	struct sock_filter code[RULES_MAX * 5 + 1];
	struct sock_fprog program = {.filter = code};
	int at = 1;

	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		if (at > RULES_MAX)
			return 126;
		program.len += (unsigned short)add_rule(code + program.len, argv[at]);
	}
	if (at + 1 >= argc) {
		fprintf(stderr, "deny: no command\n");
		return 126;
	}
	code[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	/* Root may do so without giving up that the command, or sudo, gains privileges. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) &&
	    (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))) {
		perror("deny: seccomp");
		return 126;
	}
	execvp(argv[at + 1], argv + at + 1);
	perror("deny: exec");
	return 126;
}
