// SPDX-License-Identifier: MIT
/*
 * Calls functions in every way that crosses V8's own code, for so many milliseconds. `tree.js --tree`
 * prints who calls whom instead, for tests/node_truth.py: each function's name says which it is.
 *
 *     tree.js MILLISECONDS [WORKERS]
 */
'use strict';
const workers = require('worker_threads');

/* caller: its callees */
const CALLS = {
  main: ['scene', 'asyncOuter'],
  scene: ['usage', 'arrays', 'sorting', 'json', 'replacing', 'generating', 'recursing', 'evaluating',
    'classes', 'proxies', 'bound', 'iterating', 'throwing'],
  arrays: ['inMap', 'inEach', 'inReduce', 'inFilter', 'inFrom'],
  sorting: ['compare'],
  json: ['reviver', 'toJSON'],
  replacing: ['replacer'],
  generating: ['outerGenerator', 'yielded'],
  outerGenerator: ['innerGenerator', 'spin'],
  recursing: ['odd'],
  odd: ['even', 'spin'],
  even: ['odd', 'spin'],
  evaluating: ['evaluated', 'made', 'eval code'],
  'eval code': ['inEval'],
  classes: ['Derived', 'getValue', 'valueOf', 'statically', 'method'],
  Derived: ['Base', 'spin'],
  method: ['arrow'],
  proxies: ['trap'],
  bound: ['applied', 'called', 'boundTarget'],
  iterating: ['iterator', 'next'],
  iterator: [],
  throwing: ['thrower'],
  usage: [],
  asyncOuter: ['asyncInner', 'spin'],
};
/* All others call this one only. */
const LEAF = 'spin';
/* What the event loop calls, besides the outermost function of this file. */
const ROOTS = ['main', 'asyncOuter', 'asyncInner', 'inThen', 'inTimer'];
/* V8's own code, by a part of its symbol, and the only functions that it calls. */
const MARKS = {
  Builtins_ArrayMap: ['inMap'],
  ArrayForEach: ['inEach'],
  ArrayReduce: ['inReduce'],
  ArrayFilter: ['inFilter'],
  Builtins_ArrayFrom: ['inFrom'],
  SortCompareUserFn: ['compare'],
  JsonParse: ['reviver'],
  JsonStringify: ['toJSON'],
  RegExpReplace: ['replacer'],
  GeneratorPrototypeNext: ['outerGenerator', 'innerGenerator'],
  FunctionPrototypeApply: ['applied'],
  FunctionPrototypeCall: ['called'],
  ProxyGetProperty: ['trap'],
  AsyncFunctionAwait: ['main', 'asyncOuter', 'asyncInner'],
};

let sink = 0;

function spin(count) {
  let sum = 0;
  for (let i = 0; i < count; i++)
    sum += Math.imul(i, 2654435761) % 7;
  sink += sum;
  return sum;
}

function inMap(x) { return spin(300) + x; }
function inEach(x) { sink += spin(300) + x; }
function inReduce(a, b) { return a + b + spin(300); }
function inFilter(x) { return spin(300) >= 0 && x; }
function inFrom(x, i) { return spin(300) + i; }
function arrays() {
  const list = [1, 2, 3, 4, 5, 6];
  list.map(inMap);
  list.forEach(inEach);
  list.reduce(inReduce);
  list.filter(inFilter);
  Array.from(list, inFrom);
}

function compare(a, b) { spin(30); return a - b; }
function sorting() {
  const list = [];
  for (let i = 0; i < 60; i++)
    list.push((i * 7919) % 101);
  list.sort(compare);
}

function reviver(key, value) { spin(200); return value; }
function json() {
  const object = { toJSON() { spin(400); return [1, 2]; } };
  JSON.parse('[1,2,{"a":[3,4]},5]', reviver);
  for (let i = 0; i < 4; i++)
    JSON.stringify([object, { a: object }]);
}

function replacer(match) { spin(200); return match + '-'; }
function replacing() {
  'abcdefgh'.replace(/[a-z]/g, replacer);
}

function* innerGenerator(n) {
  for (let i = 0; i < n; i++) {
    spin(300);
    yield i;
  }
}
function* outerGenerator(n) {
  for (let i = 0; i < n; i++) {
    spin(200);
    yield* innerGenerator(3);
  }
}
function yielded() { spin(200); }
function generating() {
  const generator = outerGenerator(4);
  while (!generator.next().done)
    yielded();
}

function odd(n) { spin(60); return n ? even(n - 1) : false; }
function even(n) { spin(60); return n ? odd(n - 1) : true; }
function recursing() { odd(40); }

let serial = 0;
function evaluating() {
  const made = new Function('spin', 'return function made() { return spin(2000); }')(spin);
  const evaluated = eval('(function evaluated() { /* ' + serial++ + ' */ return spin(2000); })');
  made();
  evaluated();
  eval('function inEval() { return spin(2000); } inEval()');
}

class Base { constructor() { this.x = spin(800); } }
class Derived extends Base {
  constructor() { super(); spin(800); }
  get getValue() { return spin(800); }
  valueOf() { return spin(800); }
  static statically() { return spin(800); }
  method() { const arrow = () => spin(800); return arrow(); }
}
function classes() {
  const object = new Derived();
  sink += object.getValue + (object + 1) + Derived.statically() + object.method();
}

const proxy = new Proxy({}, { get: function trap() { return spin(600); } });
function proxies() {
  for (let i = 0; i < 6; i++)
    sink += proxy.anything;
}

function applied() { return spin(800); }
function called() { return spin(800); }
function boundTarget() { return spin(800); }
const isBound = boundTarget.bind(null, 1);
function bound() {
  Reflect.apply(applied, null, []);
  applied.apply(null, [1, 2]);
  called.call(null, 1);
  isBound();
}

const iterable = {
  [Symbol.iterator]: function iterator() {
    let i = 0;
    return { next: function next() { spin(500); return { done: i++ > 4, value: i }; } };
  },
};
function iterating() {
  for (const x of iterable)
    sink += x;
  sink += [...iterable].length;
}

function thrower() { spin(1500); throw new Error('expected'); }
function throwing() {
  try {
    thrower();
  } catch (error) {
    sink += error.stack.length;
  }
}

const SCENES = { arrays, sorting, json, replacing, generating, recursing, evaluating, classes,
  proxies, bound, iterating, throwing };
const times = {};

/* Microseconds of this thread, if node tells. */
function usage() {
  const used = process.threadCpuUsage ? process.threadCpuUsage() : process.cpuUsage();
  return used.user + used.system;
}

function scene(name, run) {
  const before = usage();
  const end = performance.now() + 20;
  while (performance.now() < end)
    run();
  times[name] = (times[name] || 0) + usage() - before;
}

async function asyncInner() {
  spin(3000);
  await null;
  spin(3000);
}
async function asyncOuter() {
  await null;
  spin(3000);
  await asyncInner();
  spin(3000);
}
function inThen() { spin(3000); }
function inTimer() { spin(3000); }

async function main(duration) {
  const end = performance.now() + duration;
  while (performance.now() < end) {
    for (const name of Object.keys(SCENES))
      scene(name, SCENES[name]);
    for (let i = 0; i < 200; i++) {
      await asyncOuter();
      await Promise.resolve().then(inThen);
    }
    await new Promise((resolve) => setTimeout(() => { inTimer(); resolve(); }, 1));
  }
}

if (process.argv[2] === '--tree') {
  console.log(JSON.stringify({ file: __filename, calls: CALLS, leaf: LEAF, roots: ROOTS,
    marks: MARKS }));
} else {
  const duration = workers.isMainThread ? +process.argv[2] : workers.workerData;
  if (workers.isMainThread) {
    for (let i = 0; i < +(process.argv[3] || 0); i++)
      new workers.Worker(__filename, { workerData: duration });
  }
  main(duration).then(() => {
    if (workers.isMainThread)
      console.log(JSON.stringify({ version: process.versions.v8, times }));
  });
}
