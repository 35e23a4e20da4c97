/* SPDX-License-Identifier: MIT */
#include "cmd/net/confine.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/base/vec.h"

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#endif

/*
 * Files are opened by names of hosts, certificates and the spool; threads are those of curl that
 * look up names. Nothing is executed, traced, mounted, or given rights.
 */
static const int allowed[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_lseek,
	SYS_close,
	SYS_openat,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_statfs,
	SYS_fstatfs,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_renameat,
	SYS_renameat2,
	SYS_unlinkat,
	SYS_ftruncate,
	SYS_fcntl,
	SYS_dup,
	SYS_dup3,
	SYS_pipe2,
	SYS_eventfd2,
	SYS_memfd_create,
	SYS_ioctl,
	SYS_getcwd,
	/* Memory and threads. */
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_madvise,
	SYS_brk,
	SYS_clone,
	SYS_clone3,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_rseq,
	SYS_futex,
	SYS_exit,
	SYS_exit_group,
	SYS_sched_yield,
	SYS_sched_getaffinity,
	SYS_getcpu,
	SYS_membarrier,
	/* The network. */
	SYS_socket,
	SYS_socketpair,
	SYS_connect,
	SYS_bind,
	SYS_getsockname,
	SYS_getpeername,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_sendto,
	SYS_recvfrom,
	SYS_sendmsg,
	SYS_recvmsg,
	SYS_sendmmsg,
	SYS_recvmmsg,
	SYS_shutdown,
	SYS_ppoll,
	SYS_pselect6,
	SYS_epoll_create1,
	SYS_epoll_ctl,
	SYS_epoll_pwait,
	/* Time, signals, who it is. */
	SYS_clock_gettime,
	SYS_clock_nanosleep,
	SYS_clock_getres,
	SYS_nanosleep,
	SYS_gettimeofday,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_sigaltstack,
	SYS_restart_syscall,
	SYS_tgkill,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_getrandom,
	SYS_getrusage,
	SYS_times,
	SYS_uname,
	SYS_sysinfo,
	SYS_prlimit64,
#ifdef SYS_poll
	SYS_open,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_poll,
	SYS_select,
	SYS_epoll_wait,
	SYS_pipe,
	SYS_dup2,
	SYS_rename,
	SYS_unlink,
	SYS_getdents,
	SYS_time,
	SYS_arch_prctl,
	SYS_eventfd,
#endif
};

#define COUNT (sizeof(allowed) / sizeof(*allowed))
#define REFUSE (SECCOMP_RET_ERRNO | ENOSYS)

int confine(struct error *err)
{
	VEC(struct sock_filter) rules = {0};
	struct sock_fprog program;
	int ret = 0;

	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, arch)));
	vec_push(&rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0));
	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						      offsetof(struct seccomp_data, nr)));
	for (size_t i = 0; i < COUNT; i++) {
		vec_push(&rules, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							      (unsigned int)allowed[i], 0, 1));
		vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	}
	vec_push(&rules, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, REFUSE));
	program = (struct sock_fprog){.len = (unsigned short)rules.count, .filter = rules.items};
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		ret = error_set(err, errno == EINVAL ? -ENOSYS : -errno, "confine the process");
	vec_release(&rules);
	return ret;
}
