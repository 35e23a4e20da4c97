// SPDX-License-Identifier: MIT
/*
 * Naps in known functions, for so many milliseconds, with V8's own code between some of them; then
 * waits in one for a pipe.
 *
 *     waits.js MILLISECONDS
 */
'use strict';
const fs = require('fs');
const cell = new Int32Array(new SharedArrayBuffer(4));

function nap() {
  Atomics.wait(cell, 0, 0, 2);
}

function napping() {
  [1, 2, 3].forEach(function each() { nap(); });
}

function read(file) {
  return fs.readSync(file, Buffer.alloc(1));
}

function main() {
  const end = Date.now() + +process.argv[2];
  while (Date.now() < end)
    napping();
  // A pipe into which somebody writes now and then: what is in it already is no wait.
  for (let waits = 0; waits < 40;) {
    const begin = performance.now();
    read(0);
    waits += performance.now() - begin > 1;
  }
}

main();
