/* SPDX-License-Identifier: MIT */
#include "lib/fleet/engine_kind.h"

#include "lib/fleet/collector.h"

const struct engine_kind engine_kinds[] = {
	{
		.scheme = "clickhouse+http",
		.port = 8123,
		.secure_port = 8443,
		.content_type = "application/octet-stream",
	},
	{
		.scheme = "otlp+http",
		.port = 4318,
		.secure_port = 4318,
		.form = &otlp_form,
		.path = OTLP_PATH,
		.content_type = "application/x-protobuf",
	},
	{
		.scheme = "otlp+grpc",
		.port = 4317,
		.secure_port = 4317,
		.form = &otlp_form,
		.path = "opentelemetry.proto.collector.profiles.v1development.ProfilesService/"
			"Export",
		.content_type = "application/grpc",
		.is_grpc = true,
	},
	{
		.scheme = "pyroscope+http",
		.port = 4040,
		.secure_port = 443,
		.form = &series_pyroscope,
		.query = &query_pyroscope,
		.path = "push.v1.PusherService/Push",
		.content_type = "application/proto",
	},
	{
		.scheme = "parca+http",
		.port = 7070,
		.secure_port = 443,
		.form = &series_parca,
		.query = &query_parca,
		.path = "parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
		.content_type = "application/grpc",
		.is_grpc = true,
	},
	{0},
};
