/* SPDX-License-Identifier: MIT */
/* Versions of the Firefox Profiler's formats. */
#ifndef PROF_LIB_FORMAT_FIREFOX_VERSION_H
#define PROF_LIB_FORMAT_FIREFOX_VERSION_H

/* The processed format's that is written, and the newest that is read. */
#define FIREFOX_FORMAT_VERSION 70
/* Version of the format that processed profiles are made from; no reader uses it. */
#define FIREFOX_GECKO_VERSION 36

#endif
