// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * TCP connections of recorded processes. An outgoing connection belongs to the connecting task, an
 * incoming one to the process that has its socket open when recording ends, or that closes it.
 */
/* Packets arrive in interrupts. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"

#define PROTOCOL_TCP 6
#define FAMILY_IPV6 10

struct in6_addr {
	__u8 bytes[16];
};

struct sock_common {
	__u32 skc_daddr;
	__u16 skc_dport, skc_num, skc_family;
	struct in6_addr skc_v6_daddr;
	__u8 skc_state;
} CORE;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
} CORE;

struct socket {
	struct sock *sk;
} CORE;

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
} CORE;

/* By the kernel's address of the socket. */
struct connections {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct rec_connection);
};

struct connections connections SEC(".maps");

/* A connection that is being opened. */
struct opening {
	__u64 key; /* key in `connections` */
	struct rec_connection row;
};

PER_CPU(struct opening, openings, own_opening)

static __always_inline struct rec_connection *find_connection(struct sock *sk)
{
	__u64 key = (__u64)sk;

	return bpf_map_lookup_elem(&connections, &key);
}

static __always_inline void keep(__u64 key, const struct rec_connection *row)
{
	if (bpf_map_update_elem(&connections, &key, row, BPF_ANY))
		count_marker(false);
}

static __always_inline void begin_connection(struct rec_connection *row, struct sock *sk,
					     __u64 time)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	__u32 peer;

	__builtin_memset(row, 0, sizeof(*row));
	rec_init(&row->rec, REC_CONNECTION, sizeof(*row), time);
	row->start = time;
	row->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	row->peer_port = BPF_CORE_READ(sk, __sk_common.skc_dport);
	if (family == FAMILY_IPV6) {
		row->rec.flags = CONNECTION_IPV6;
		BPF_CORE_READ_INTO(&row->peer, sk, __sk_common.skc_v6_daddr);
	} else {
		peer = BPF_CORE_READ(sk, __sk_common.skc_daddr);
		__builtin_memcpy(row->peer, &peer, sizeof(peer));
	}
}

/*
 * Keeps the connection that is being opened. `sample`: NULL if the ring had no room for its stack.
 */
static __always_inline void finish_opening(const struct rec_sample *sample)
{
	struct opening *new = own_opening();

	if (!new)
		return;
	if (sample) {
		new->row.rec.flags |= CONNECTION_HAS_STACK;
		set_marker_stack(&new->row.stack, sample);
	}
	keep(new->key, &new->row);
}

MARKER_END("raw_tp", end_opening, TIMED_TCP_STATE, finish_opening(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_opening}};

/* Records the start of a connection by the current task. */
static __always_inline void open_connection(void *ctx, struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct opening *new = own_opening();
	struct tracked_process *process;

	if (!new)
		return;
	new->key = (__u64)sk;
	begin_connection(&new->row, sk, bpf_ktime_get_ns());
	process = marker_owner(task, &new->row.rec);
	if (process)
		finish_opening(send_user_marker_stack(ctx, task, process, &new->row.rec, 0));
}

/* Also notes the port: it is set only now, and gone when the connection closes. */
static __always_inline void establish(struct rec_connection *row, struct sock *sk)
{
	row->established = bpf_ktime_get_ns();
	row->local_port = BPF_CORE_READ(sk, __sk_common.skc_num);
}

/* Notes an incoming connection, which is not accepted yet. */
static __always_inline void take_in(struct sock *sk)
{
	struct rec_connection row;

	begin_connection(&row, sk, bpf_ktime_get_ns());
	row.rec.flags |= CONNECTION_CAME_IN;
	row.established = row.start;
	keep((__u64)sk, &row);
}

/* Assigns a connection without an owner to the task, which has its socket open. */
static __always_inline void own_connection(struct rec_connection *row, struct task_struct *task)
{
	struct task_ids ids = copy_ids(task);
	struct rec head = {};

	if (row->rec.pid || !find_tracked(task, ids.tgid) || match_task(task, ids, &head))
		return;
	row->rec.pid = head.pid;
	row->rec.tid = head.tid;
}

static __always_inline void end_connection(struct sock *sk, __u8 state)
{
	struct rec_connection *found = find_connection(sk), row;
	__u64 key = (__u64)sk;

	if (!found)
		return;
	row = *found;
	bpf_map_delete_elem(&connections, &key);
	row.rec.time = bpf_ktime_get_ns();
	row.rec.cpu = bpf_get_smp_processor_id();
	row.state = state;
	if (row.rec.pid)
		count_marker(send_marker(&row.rec, sizeof(row), sizeof(row), false));
}

static __always_inline void change_state(void *ctx, struct sock *sk, int old_state, int state)
{
	struct rec_connection *found;

	if (!markers.since || BPF_CORE_READ(sk, sk_protocol) != PROTOCOL_TCP)
		return;
	if (state == CONNECTION_CONNECTING) {
		open_connection(ctx, sk);
	} else if (state == CONNECTION_ESTABLISHED && old_state == CONNECTION_RECEIVED) {
		take_in(sk);
	} else if (state == CONNECTION_CLOSED) {
		end_connection(sk, old_state);
	} else {
		found = find_connection(sk);
		if (found && state == CONNECTION_ESTABLISHED)
			establish(found, sk);
		/* The task shuts down the connection. */
		else if (found && (state == CONNECTION_FIN_WAIT_1 || state == CONNECTION_LAST_ACK))
			own_connection(found, bpf_get_current_task_btf());
	}
}

SEC("raw_tp/inet_sock_set_state")
int BPF_PROG(on_tcp_state, struct sock *sk, int old_state, int state)
{
	RUN_TIMED(TIMED_TCP_STATE, change_state(ctx, sk, old_state, state));
	return 0;
}

static __always_inline void count_retransmission(struct sock *sk)
{
	struct rec_connection *found = markers.since ? find_connection(sk) : NULL;

	if (found)
		__sync_fetch_and_add(&found->retransmissions, 1);
}

SEC("raw_tp/tcp_retransmit_skb")
int BPF_PROG(on_tcp_retransmit, struct sock *sk)
{
	RUN_TIMED(TIMED_TCP_RETRANSMIT, count_retransmission(sk));
	return 0;
}

/* Returns the socket of the file if it is a TCP socket, else NULL. */
static __always_inline struct sock *socket_of(struct file *file)
{
	struct socket *socket = file ? bpf_sock_from_file(file) : NULL;
	struct sock *sk = socket ? BPF_CORE_READ(socket, sk) : NULL;

	return sk && BPF_CORE_READ(sk, sk_protocol) == PROTOCOL_TCP ? sk : NULL;
}

/* Notes connections that existed before recording began. */
SEC("iter/task_file")
int note_connections(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sock *sk = socket_of(ctx->file);
	struct rec_connection row;
	__u8 state;

	if (!task || !sk || find_connection(sk))
		return 0;
	state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (state != CONNECTION_ESTABLISHED && state != CONNECTION_CLOSE_WAIT)
		return 0;
	begin_connection(&row, sk, markers.since);
	row.rec.flags |= CONNECTION_WAS_OPEN;
	own_connection(&row, task);
	if (row.rec.pid)
		keep((__u64)sk, &row);
	return 0;
}

/* Writes open connections, each once. */
SEC("iter/task_file")
int list_connections(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct sock *sk = socket_of(ctx->file);
	struct rec_connection *found = sk ? find_connection(sk) : NULL, row;
	__u64 key = (__u64)sk;

	if (!task || !found)
		return 0;
	own_connection(found, task);
	if (!found->rec.pid)
		return 0;
	row = *found;
	bpf_map_delete_elem(&connections, &key);
	row.state = BPF_CORE_READ(sk, __sk_common.skc_state);
	row.rec.flags |= CONNECTION_IS_OPEN;
	row.rec.time = bpf_ktime_get_ns();
	bpf_seq_write(ctx->meta->seq, &row, sizeof(row));
	return 0;
}
