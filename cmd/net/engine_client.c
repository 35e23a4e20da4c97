/* SPDX-License-Identifier: MIT */
#include "cmd/net/engine_client.h"

#include "lib/fleet/engine.h"
#include "lib/fleet/grpc.h"

int engine_client_send(const struct client_request *request, struct strbuf *answer,
		       uint64_t *retry_after_s, struct error *err)
{
	struct client_request whole = *request;
	struct grpc_answer grpc = {0};
	uint64_t asked_s = 0;
	int ret;

	whole.method = "POST";
	whole.answer_max = ENGINE_ANSWER_MAX;
	whole.retry_after_s = &asked_s;
	if (request->is_http2) {
		whole.on_header = grpc_answer_take;
		whole.header_ctx = &grpc;
	}
	ret = client_send(&whole, answer, err);
	if (ret > 0 && request->is_http2)
		ret = grpc_answer_judge(&grpc, ret, answer, &asked_s, err);
	grpc_answer_release(&grpc);
	if (retry_after_s)
		*retry_after_s = asked_s;
	return ret;
}
