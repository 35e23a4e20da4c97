// SPDX-License-Identifier: MIT
/* Works below so many functions: deep.js DEPTH TIMES FILE. Leaves its CPU time in the file. */
'use strict';

function work() {
  let total = 0;
  for (let i = 0; i < 40000; i++)
    total += i % 7;
  return total;
}

function down(left) {
  return left ? down(left - 1) + 1 : work();
}

const [depth, times, file] = process.argv.slice(2);
for (let i = 0; i < times; i++)
  down(depth - 3);
const { user, system } = process.cpuUsage();
require('fs').writeFileSync(file, String((user + system) / 1e6));
