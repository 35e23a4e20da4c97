/* SPDX-License-Identifier: MIT */
/* TCP connections of recorded processes: sent by the BPF probe, turned into markers here. */
#include <arpa/inet.h>
#include <bpf/libbpf.h>
#include <netinet/in.h>

#include "lib/live/bpf/visitor.h"
#include "lib/live/instruments/marker_instrument.h"
#include "net.skel.h"

#define PEER_SIZE (INET6_ADDRSTRLEN + sizeof("[]:65535"))

struct net {
	struct marker_state base;
	struct net_bpf *skeleton;
};

static void prepare(struct net *n)
{
	bpf_program__set_autoattach(n->skeleton->progs.note_connections, false);
	bpf_program__set_autoattach(n->skeleton->progs.list_connections, false);
}

MARKER_OBJECT(net, MARKER_CONNECTION, prepare, programs_object_as_is)

/* "192.0.2.1:443", "[2001:db8::1]:443" */
static void print_peer(const struct rec_connection *c, char to[PEER_SIZE])
{
	bool is_ipv6 = c->rec.flags & CONNECTION_IPV6;
	const unsigned char *address = c->peer;
	char text[INET6_ADDRSTRLEN] = "";
	struct in6_addr ipv6;

	memcpy(&ipv6, c->peer, sizeof(ipv6));
	if (is_ipv6 && IN6_IS_ADDR_V4MAPPED(&ipv6)) {
		is_ipv6 = false;
		address += 12;
	}
	inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, address, text, sizeof(text));
	snprintf(to, PEER_SIZE, is_ipv6 ? "[%s]:%u" : "%s:%u", text, ntohs(c->peer_port));
}

static const char *origin_text(const struct rec_connection *c)
{
	if (c->rec.flags & CONNECTION_WAS_OPEN)
		return "open before";
	return c->rec.flags & CONNECTION_CAME_IN ? "accepted" : "connected";
}

/* Names the connection's state, or the state in which it was closed. */
static const char *state_text(const struct rec_connection *c)
{
	bool is_open = c->rec.flags & CONNECTION_IS_OPEN;

	switch (c->state) {
	case CONNECTION_CONNECTING:
		return is_open ? "connecting" : "failed";
	case CONNECTION_ESTABLISHED:
		return is_open ? "open" : "reset";
	case CONNECTION_CLOSE_WAIT:
		return is_open ? "closed by the peer" : "reset";
	case CONNECTION_LAST_ACK:
		return "closed by the peer";
	default:
		return "closed";
	}
}

static void take(void *state, const struct rec *rec)
{
	const struct rec_connection *c = (const struct rec_connection *)rec;
	const struct net *n = state;
	struct marker_record marker = marker_begin(
		n->base.schema, rec, rec->flags & CONNECTION_HAS_STACK ? &c->stack : NULL);
	char peer[PEER_SIZE];

	print_peer(c, peer);
	marker.start = c->start;
	marker_set_text(&marker, CONNECTION_PEER, marker_text(peer));
	marker_set_text(&marker, CONNECTION_STATE, marker_text(state_text(c)));
	marker_set_text(&marker, CONNECTION_ORIGIN, marker_text(origin_text(c)));
	if (c->local_port)
		marker_set_number(&marker, CONNECTION_PORT, FIELD_INTEGER, c->local_port);
	marker_set_number(&marker, CONNECTION_RETRANSMISSIONS, FIELD_INTEGER, c->retransmissions);
	if (c->established > c->start)
		marker_set_number(&marker, CONNECTION_TIME, FIELD_DURATION,
				  c->established - c->start);
	marker_send(n->base.live, &marker);
}

static void take_open(void *ctx, const void *row)
{
	struct net *n = ctx;

	n->base.added++;
	take(n, row);
}

static void skip(void *ctx, const void *row)
{
}

static int enable(void *state, bool enable, struct error *err)
{
	const struct net_bpf *skeleton;
	struct net *n = state;
	int code;

	skeleton = n->skeleton;
	marker_state_enable(n, enable, err);
	code = enable ? task_iterator_read(skeleton->progs.note_connections,
					   sizeof(struct rec_connection), skip, n)
		      : task_iterator_read(skeleton->progs.list_connections,
					   sizeof(struct rec_connection), take_open, n);
	if (code)
		log_warn("connections that are open when recording %s are left out: %s",
			 enable ? "begins" : "ends", strerror(-code));
	return 0;
}

static const struct instrument_option options[] = {
	{0, "net", NULL,
	 "mark each TCP connection: peer, state, time to connect, retransmissions, stack", "faults",
	 marker_want, .is_plain = true},
	{0},
};

const struct instrument instrument_net = {
	.options = options,
	.takes = INSTRUMENT_TAKES(REC_CONNECTION),
	.enable = enable,
	.pause = marker_state_pause,
	.take = take,
	MARKER_INSTRUMENT(net),
};
