// SPDX-License-Identifier: MIT
// Prints the keys in the help of prof browse that pages do not have: node keys.mjs SCREEN.C
import { readFileSync } from 'node:fs';
import { KEYS } from '../../lib/format/page/ui/keys.mjs';

// Those of terminals: the end, both halves of a cell, live windows, ranges and options by keyboard.
const OTHERS = new Set('g G z d q : [ ] + -'.split(' '));
const [, help] = /help_lines\[\] = \{([^}]*)\}/.exec(readFileSync(process.argv[2], 'utf8'));
const known = new Set(KEYS.flatMap(([keys]) => keys.split(' ')));
const keys = [...help.matchAll(/(?:["]| {2})((?:[A-Za-z/!:?[\]+-] )+)/g)].flatMap(([, text]) => text.trim().split(' '));

console.log(keys.length > 20 ? keys.filter((key) => !known.has(key) && !OTHERS.has(key)).join(' ') : 'no help');
