/* SPDX-License-Identifier: MIT */
/* Opens an address in the user's browser. */
#ifndef PROF_CMD_VIEW_BROWSER_H
#define PROF_CMD_VIEW_BROWSER_H

#include <stdbool.h>

struct browser {
	char *folder, *page; /* a page that leads to the address; owned */
};

/*
 * Command lines can be read by every user of the machine, so the browser gets the name of a page
 * that only this user can read. False: there is no browser, or no screen.
 */
bool browser_open(struct browser *b, const char *url);
/* Removes the page. */
void browser_release(struct browser *b);

#endif
