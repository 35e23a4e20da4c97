/* SPDX-License-Identifier: MIT */
#include "lib/fleet/engine_kind.h"

#include "lib/fleet/otlp.h"
#include "lib/fleet/otlp_environment.h"

const struct engine_kind engine_kinds[] = {
	{
		.scheme = "clickhouse+http",
		.port = 8123,
		.secure_port = 8443,
		.content_type = "application/octet-stream",
		.push = rows_push,
	},
	{
		.scheme = "otlp+http",
		.port = 4318,
		.secure_port = 4318,
		.path = OTLP_PATH,
		.content_type = "application/x-protobuf",
		.push = otlp_push,
	},
	{
		.scheme = "otlp+grpc",
		.port = 4317,
		.secure_port = 4317,
		.path = "opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
			"Export",
		.content_type = "application/grpc",
		.is_grpc = true,
		.push = otlp_push,
	},
	{0},
};
