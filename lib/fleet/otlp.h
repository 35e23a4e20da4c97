/* SPDX-License-Identifier: MIT */
/*
 * Messages of OTLP profiles, v1development: a resource for each program of a service, with a
 * profile for each event.
 */
#pragma once

#include "lib/fleet/collector.h"
#include "lib/fleet/fleet_url.h"

/* The collector named by OpenTelemetry's environment variables, OTEL_EXPORTER_OTLP_…. */

/* The address that stands for this collector. */
#define OTLP_ENVIRONMENT "otlp"
/* Path of requests to collectors. */
#define OTLP_PATH "v1development/profiles"

/*
 * Fills in the address. Variables specific to profiles, OTEL_EXPORTER_OTLP_PROFILES_…, take
 * precedence; the default is http://localhost:4318. Returns -EINVAL if the value of a variable is
 * invalid.
 */
int otlp_environment_read(struct fleet_url *url, struct error *err);

extern const struct collector_form otlp_form;
