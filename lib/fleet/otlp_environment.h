/* SPDX-License-Identifier: MIT */
/* The collector that OpenTelemetry's environment variables name, OTEL_EXPORTER_OTLP_…. */
#ifndef PROF_LIB_FLEET_OTLP_ENVIRONMENT_H
#define PROF_LIB_FLEET_OTLP_ENVIRONMENT_H

#include "lib/fleet/fleet_url.h"

/* The address that means it. */
#define OTLP_ENVIRONMENT "otlp"
/* Path of requests at collectors. */
#define OTLP_PATH "v1development/profiles"

/*
 * Fills the address. Variables of profiles alone, OTEL_EXPORTER_OTLP_PROFILES_…, come first;
 * without any it is http://localhost:4318. -EINVAL: one of them is wrong.
 */
int otlp_environment_read(struct fleet_url *url, struct error *err);

#endif
