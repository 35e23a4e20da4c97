/* SPDX-License-Identifier: MIT */
/* Types of all kinds that a kernel may have, for BTF. */
#define TAG(text) __attribute__((btf_type_tag(text)))

typedef unsigned int u32;
typedef struct {
	int counter;
} atomic_t;

enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
};

enum wide {
	WIDE = 0x123456789aull,
};

struct cred;

struct pid {
	u32 level;
	struct {
		int nr;
		void *ns;
	} numbers[1];
};

struct task_struct {
	volatile long state;
	atomic_t usage;
	union {
		u32 flags;
		float share;
	};
	u32 in_execve : 1, brk_randomized : 1;
	const struct cred *cred;
	struct cred TAG("rcu") * real_cred;
	struct task_struct *parent;
	struct pid own;
	enum pid_type type;
	enum wide wide;
	char comm[16];
	int (*handler)(struct task_struct *task, int *restrict signal);
} __attribute__((btf_decl_tag("task")));

struct a {
	struct task_struct task;
};

static int call(struct a *a)
{
	return a->task.handler(&a->task, 0);
}

struct a all;
const int constant = 3;

int use(void)
{
	return call(&all) + constant;
}
