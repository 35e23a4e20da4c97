/* SPDX-License-Identifier: MIT */
/* Parses a store's answer to an upload: the name of the stored profile. */
#pragma once

#include "lib/base/base.h"

#define STORE_TOKEN_MAX 128

/*
 * Parses the answer: a JSON web token with "profileToken", or the name itself. False if it is
 * neither. A name consists of letters, digits, "-" and "_".
 */
bool store_answer_read(const char *text, size_t size, char token[STORE_TOKEN_MAX + 1]);
/* True if the text is a valid name. */
bool store_token_is_valid(const char *token);
