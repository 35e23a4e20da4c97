/* SPDX-License-Identifier: MIT */
#include "cmd/run/window_send.h"

#include <errno.h>

#include "lib/base/cleanup.h"
#include "lib/base/infile.h"
#include "lib/base/text.h"
#include "lib/fleet/engine_kind.h"
#include "lib/format/format.h"

#define WINDOW_MAX ((size_t)256 << 20)
/* Halved as long as an engine refuses requests. */
#define REQUEST_BYTES ((size_t)2 << 20)
#define REQUEST_BYTES_MIN ((size_t)2 << 10)

enum { STATUS_OK = 200, STATUS_TIMEOUT = 408, STATUS_TOO_MANY = 429, STATUS_SERVER = 500 };

static uint64_t lost_of(const struct profile *p)
{
	const char *text = profile_fact(p, FACT_LOST_SAMPLES, NULL);
	uint64_t lost = 0;

	return text && text_to_u64(text, 10, &lost) ? lost : 0;
}

static enum window_fate judge(const struct engine *e, int ret, int status,
			      const struct fleet_pushed *pushed)
{
	if (!ret || ret == -ENODATA)
		return WINDOW_SENT;
	/* A collector took a part. */
	if (status == STATUS_OK && pushed->refused)
		return WINDOW_SENT;
	if (ret == -EINVAL || ret == -EMSGSIZE)
		return WINDOW_REFUSED;
	/* There is no answer, or one that makes no sense, or tables are missing. */
	if (status <= STATUS_OK || status == STATUS_TIMEOUT || status == STATUS_TOO_MANY)
		return WINDOW_LATER;
	if (engine_kind_is_collector(e->url->kind))
		return status >= 502 && status <= 504 ? WINDOW_LATER : WINDOW_REFUSED;
	return status >= STATUS_SERVER ? WINDOW_LATER : WINDOW_REFUSED;
}

static int push(struct window_send *s, const struct engine *e, const struct profile *p,
		const struct outbox_row *row, struct fleet_pushed *pushed, struct error *err)
{
	const struct fleet_origin origin = {
		.host = s->host,
		.service = *s->service ? s->service : NULL,
		.fallback = *s->fallback ? s->fallback : NULL,
		.max_series = s->max_series,
		.labels = s->labels,
		.lost = lost_of(p) + row->lost,
		.is_window = true,
		.request_bytes = s->request_bytes,
		.done = row->done,
	};

	return fleet_push(e, p, &origin, pushed, err);
}

enum window_fate window_send(struct window_send *s, const struct engine *e, int fd,
			     const struct outbox_row *row, const int *status,
			     struct fleet_pushed *pushed, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	const struct format *format;
	struct profile *p = NULL;
	size_t size;
	int ret = infile_read(fd, "a window", WINDOW_MAX, &text, &size, err);

	if (ret)
		return WINDOW_REFUSED;
	format = format_of_text(text, size);
	if (!format || !format->read || format->read(&p, text, size, NULL, err)) {
		error_text(err, -EBADMSG, "a window is damaged");
		return WINDOW_REFUSED;
	}
	/* Requests to collectors halve themselves. */
	while ((ret = push(s, e, p, row, pushed, err)) == -EMSGSIZE &&
	       !engine_kind_is_collector(e->url->kind)) {
		size_t bytes = s->request_bytes ? s->request_bytes : REQUEST_BYTES;

		if (bytes <= REQUEST_BYTES_MIN)
			break;
		s->request_bytes = bytes / 2;
	}
	profile_free(p);
	return judge(e, ret, *status, pushed);
}
