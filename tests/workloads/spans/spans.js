// SPDX-License-Identifier: MIT
// Tells its phases in a marker file, if PROF_MARKERS is set; prints the file's path. Node cannot map
// a file: it writes the one that recorders look for in processes with generated code.
const fs = require('fs');

const now = () => process.hrtime.bigint();
let markers = null; // nobody listens

if (process.env.PROF_MARKERS) {
  const path = `/tmp/marker-${process.pid}.txt`;

  markers = fs.openSync(path, 'wx', 0o600);
  console.log(path);
}

function span(name, body) {
  const begin = markers === null ? 0 : now();

  try {
    return body();
  } finally {
    if (markers !== null) fs.writeSync(markers, `${begin} ${now()} ${name}\n`);
  }
}

function instant(name) {
  if (markers !== null) fs.writeSync(markers, `i ${now()} ${name}\n`);
}

function cpuMs() {
  const { user, system } = process.cpuUsage();

  return (user + system) / 1000;
}

// Takes that much CPU time, however busy the machine is.
function work(ms) {
  const end = cpuMs() + ms;

  while (cpuMs() < end);
}

for (let i = 0; i < 5; i++) {
  span('request', () => {
    work(10);
    span('parse input', () => work(20));
    instant(`half way #phases step=${i}`);
    work(10);
  });
  work(10);
}
