/* SPDX-License-Identifier: MIT */
/*
 * Messages of OTLP profiles, v1development: a resource for each program of a service, in it a
 * profile for each event.
 */
#ifndef PROF_LIB_FLEET_OTLP_H
#define PROF_LIB_FLEET_OTLP_H

#include "lib/fleet/collector.h"

extern const struct collector_form otlp_form;

#endif
